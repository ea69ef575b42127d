"""Print the manual page, made from the commands' own help: `nettop man | man -l -`.

The package installs it as nettop.1, so `man nettop` shows it too.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._manual import Command, Option

HELP = "print the manual page"
EXITS = (
    ("0", "clean, or done"),
    ("1", "findings at or above --fail-on, or a verdict other than better"),
    ("2", "usage, or a name there is not"),
    ("3", "could not look, or what was printed is lost: the disk is full"),
    ("4", "not done: refused, in conflict, not permitted"),
    ("5", "done, and reverted because nobody confirmed it"),
    ("130", "interrupted"),
    ("141", "nobody reads what is printed"),
)
FILES = (
    (
        "/etc/nettop/config.toml, ~/.config/nettop/config.toml",
        "theme, units, interval, columns, thresholds",
    ),
    ("/etc/nettop/rules/, ~/.config/nettop/rules/", "rules of your own"),
    ("~/.config/nettop/muted", "findings that are not shown"),
    ("/var/lib/nettop/", "root's journal of changes; another user's is in ~/.local/state/nettop"),
    ("~/.local/state/nettop/results/", "what tests and experiments said"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""
    del parser


def run(args: argparse.Namespace) -> int:
    """Print it as roff."""
    del args
    print(page(), end="")
    return 0


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    from .. import __version__
    from . import _manual as manual

    every = {command.name: command for command in manual.every()}
    yield f'.TH NETTOP 1 "" "nettop {__version__}" "User Commands"'
    yield ".SH NAME"
    yield r"nettop \- why a Linux host does not move the packets it should"
    yield ".SH SYNOPSIS"
    yield from (".B nettop", _plain("[OPTION …]"), ".br", ".B nettop", _plain("COMMAND [OPTION …]"))
    yield ".SH DESCRIPTION"
    yield from _prose(every["top"].page)
    yield ".SH OPTIONS"
    yield from _options(every["top"].options)
    yield ".SH COMMANDS"
    for name, command in every.items():
        if name != "top":
            yield from _command(command)
    yield ".SH KEYS"
    yield from _keys()
    yield ".SH EXIT STATUS"
    for code, meaning in EXITS:
        yield from _entry(code, meaning)
    yield ".SH FILES"
    for path, meaning in FILES:
        yield from _entry(path, meaning)


def _command(command: Command) -> Iterator[str]:
    words = " ".join(one.value for one in command.arguments)
    yield f".SS {_plain(f'nettop {command.name} {words}'.strip())}"
    yield from _prose(command.page)
    yield from _options((*command.arguments, *command.options))


def _options(options: tuple[Option, ...]) -> Iterator[str]:
    for option in options:
        if option.help:  # an argument without help is told by the text before
            yield from _entry(option.shown, option.help)


def _keys() -> Iterator[str]:
    from ..tui.keys import KEYS, shown_as

    for key in KEYS:
        yield from _entry(shown_as(key), key.help)


def _entry(term: str, meaning: str) -> Iterator[str]:
    yield ".TP"
    yield rf"\fB{_plain(term, start=False)}\fR"
    yield _plain(meaning) or r"\&"


def _prose(text: str) -> Iterator[str]:
    """Paragraphs are filled; indented lines and examples stay as they are."""
    for block in text.split("\n\n"):
        rows = block.split("\n")
        example = all(row.startswith((" ", "nettop ")) for row in rows if row)
        yield from (".PP", ".nf") if example else (".PP",)
        yield from (_plain(row if example else row.strip()) for row in rows)
        if example:
            yield ".fi"


def _plain(text: str, *, start: bool = True) -> str:
    """Text that roff takes literally; a leading control character is guarded."""
    safe = text.replace("\\", r"\e").replace("-", r"\-").replace("`", r"\(ga").replace("'", r"\(aq")
    return rf"\&{safe}" if start and safe.startswith(".") else safe
