"""Commands and their options as data, taken from their argument parsers.

The help overview, manual page, shell completions and docs/commands.md are generated from it.
"""

import argparse
from collections.abc import Iterator
from typing import Final

from .. import commands
from ..terms.dataclass import dataclass

GROUPS: Final = ("look", "change", "prove", "data", "more")
EXAMPLES: Final = (
    ("nettop", "open the screen of this host"),
    ("nettop advise", "list what is wrong, why, and the exact change"),
    ('nettop --host "ssh web1"', "the same of a host where nothing is installed"),
    ("sudo nettop apply rx-ring-overrun@eth0", "apply a finding; `nettop undo ID` reverts it"),
    (
        'sudo nettop prove rx-ring-overrun@eth0 --to 10.0.0.2 --peer "ssh host2"',
        "keep the change only if measurements improve",
    ),
)


@dataclass(frozen=True, slots=True)
class Option:
    """One option or positional argument. A switch has no `value`; an argument has no `names`."""

    names: tuple[str, ...]
    value: str
    help: str
    choices: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """`--seconds S`."""
        return " ".join(part for part in (", ".join(self.names), self.value) if part)


@dataclass(frozen=True, slots=True)
class CommandHelp:
    """One command: its group, one line of help, its page, its options and arguments."""

    name: str
    group: str
    help: str
    page: str
    options: tuple[Option, ...]
    arguments: tuple[Option, ...]


def every() -> tuple[CommandHelp, ...]:
    """All commands, including `top` (the screen)."""
    return tuple(_command(name) for name in commands.names())


def _command(name: str) -> CommandHelp:
    module = commands.command(name)
    parser = argparse.ArgumentParser(prog=f"nettop {name}", add_help=False)
    module.arguments(parser)
    every = tuple(_options(parser))
    page = (module.__doc__ or "").strip()
    options = tuple(option for option in every if option.names)
    group = getattr(module, "GROUP", GROUPS[-1])
    arguments = tuple(option for option in every if not option.names)
    return CommandHelp(name, group, module.HELP, page, options, arguments)


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        if action.help == argparse.SUPPRESS:
            continue
        choices = tuple(str(choice) for choice in action.choices or ())
        switch = bool(action.option_strings) and action.nargs == 0
        metavar = action.metavar or action.dest.upper().replace("_", "-")
        value = "" if switch else "|".join(choices) or str(metavar)
        yield Option(tuple(action.option_strings), value, action.help or "", choices)
