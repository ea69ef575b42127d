"""Print a manual page.

nettop man | man -l -                nettop(1): commands, options, keys, examples
nettop man concepts | man -l -       nettop(7): what limits a flow, findings, changes, proof

The package installs both, for `man nettop` and `man 7 nettop`.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__

if TYPE_CHECKING:
    from ._manual import CommandHelp, Option


HELP = "print a manual page"
PAGES = ("commands", "concepts")


@cache
def texts() -> Mapping[str, Any]:
    """The texts of both pages, by part."""
    return tomllib.loads(Path(__file__).with_name("manual.toml").read_text("utf-8"))


def arguments(parser: argparse.ArgumentParser) -> None:
    """The page."""
    parser.add_argument("page", nargs="?", choices=PAGES, default=PAGES[0], help="which page")


def run(args: argparse.Namespace) -> int:
    """Print the page as roff."""
    print(concepts() if args.page == "concepts" else page(), end="")
    return 0


def page() -> str:
    """The complete page of the commands, nettop(1)."""
    return "\n".join(_lines()) + "\n"


def concepts() -> str:
    """The complete page of the concepts, nettop(7)."""
    return "\n".join(_concepts()) + "\n"


def _concepts() -> Iterator[str]:
    from ..facts.limits.stages import declared

    yield f'.TH NETTOP 7 "" "nettop {__version__}" "Concepts of nettop"'
    yield ".SH NAME"
    yield r"nettop \- what limits a flow, findings, changes and proof"
    yield ".SH DESCRIPTION"
    yield from _prose("This page explains the words of nettop(1), and how nettop decides.")
    yield ".SH WHAT LIMITS A FLOW"
    yield from _prose(texts()["limit"])
    yield ".SH STAGES"
    for stage in declared().values():
        yield from _entry(stage.name, stage.meaning)
    yield ".SH FINDINGS AND RULES"
    yield from _prose(texts()["findings"])
    yield ".SH PROFILES"
    yield from _prose(
        "The advice depends on the workload, which is detected, or chosen (--profile)."
    )
    yield from _entries("profiles")
    yield ".SH CHANGES"
    yield from _prose(texts()["changes"])
    yield ".SH PROOF"
    yield from _prose(texts()["proof"])
    yield ".SH TIME"
    yield from _prose(texts()["time"])
    yield ".SH SEE ALSO"
    yield from _prose("nettop(1), ethtool(8), ss(8), tc(8), sysctl(8)")


def _lines() -> Iterator[str]:
    from . import _manual as manual

    every = {command.name: command for command in manual.every()}
    yield f'.TH NETTOP 1 "" "nettop {__version__}" "User Commands"'
    yield ".SH NAME"
    yield r"nettop \- find, fix and prove what limits the network performance of a Linux host"
    yield ".SH SYNOPSIS"
    yield from (".B nettop", _plain("[OPTION …]"), ".br", ".B nettop", _plain("COMMAND [OPTION …]"))
    yield ".SH DESCRIPTION"
    yield from _prose(texts()["concept"])
    yield ".SH OPTIONS"
    yield from _options(every["top"].options)
    yield ".SH COMMANDS"
    for name, command in every.items():
        if name != "top":
            yield from _command(command)
    yield ".SH KEYS"
    yield from _keys()
    yield ".SH EXAMPLES"
    for typed, meaning in manual.EXAMPLES:
        yield from _entry(typed, meaning)
    yield from _entries("examples")
    yield ".SH EXIT STATUS"
    yield from _entries("exits")
    yield ".SH FILES"
    yield from _entries("files")
    yield ".SH SEE ALSO"
    yield from _prose("nettop(7) explains what limits a flow, findings, changes and proof.")


def _command(command: CommandHelp) -> Iterator[str]:
    words = " ".join(one.value for one in command.arguments)
    yield f".SS {_plain(f'nettop {command.name} {words}'.strip())}"
    yield from _prose(command.page)
    yield from _options((*command.arguments, *command.options))


def _options(options: tuple[Option, ...]) -> Iterator[str]:
    for option in options:
        if option.help:  # the page text describes arguments without help
            yield from _entry(option.shown, option.help)


def _keys() -> Iterator[str]:
    from ..tui.keys import KEYS, shown_as

    for key in KEYS:
        yield from _entry(shown_as(key), key.help)


def _entries(part: str) -> Iterator[str]:
    for term, meaning in texts()[part].items():
        yield from _entry(term, meaning)


def _entry(term: str, meaning: str) -> Iterator[str]:
    yield ".TP"
    yield rf"\fB{_plain(term, start=False)}\fR"
    yield _plain(meaning) or r"\&"


def _prose(text: str) -> Iterator[str]:
    """Fill paragraphs; keep indented lines and examples as they are."""
    for block in text.rstrip("\n").split("\n\n"):
        rows = block.split("\n")
        example = all(row.startswith((" ", "nettop ")) for row in rows if row)
        yield from (".PP", ".nf") if example else (".PP",)
        yield from (_plain(row if example else row.strip()) for row in rows)
        if example:
            yield ".fi"


def _plain(text: str, *, start: bool = True) -> str:
    """Escape text for roff, including a leading control character."""
    safe = text.replace("\\", r"\e").replace("-", r"\-").replace("`", r"\(ga").replace("'", r"\(aq")
    return rf"\&{safe}" if start and safe.startswith(".") else safe
