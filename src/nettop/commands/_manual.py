"""Commands and their options as data, read from their argument parsers.

The manual page and the completion of every shell are made from it, so they cannot say anything that
the program does not know.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from .. import commands


@dataclass(frozen=True, slots=True)
class Option:
    """One option or argument. `value` is empty for a switch; arguments have no `names`."""

    names: tuple[str, ...]
    value: str
    help: str
    choices: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """`--seconds S`."""
        return " ".join(part for part in (", ".join(self.names), self.value) if part)


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its line of help, its page, its options and arguments."""

    name: str
    help: str
    page: str
    options: tuple[Option, ...]
    arguments: tuple[Option, ...]


def every() -> tuple[Command, ...]:
    """All commands, `top` (the screen) among them."""
    return tuple(_command(name) for name in commands.names())


def _command(name: str) -> Command:
    module = commands.command(name)
    parser = argparse.ArgumentParser(prog=f"nettop {name}", add_help=False)
    module.arguments(parser)
    found = tuple(_options(parser))
    page = (module.__doc__ or "").strip()
    named = tuple(option for option in found if option.names)
    return Command(name, module.HELP, page, named, tuple(o for o in found if not o.names))


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        if action.help == argparse.SUPPRESS:
            continue
        choices = tuple(str(choice) for choice in action.choices or ())
        switch = bool(action.option_strings) and action.nargs == 0
        metavar = action.metavar or action.dest.upper().replace("_", "-")
        value = "" if switch else "|".join(choices) or str(metavar)
        yield Option(tuple(action.option_strings), value, action.help or "", choices)
