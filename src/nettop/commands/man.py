"""Print a manual page.

nettop man | man -l -                nettop(1): commands, options, keys, examples
nettop man concepts | man -l -       nettop(7): what limits a flow, findings, changes, proof

The package installs both, for `man nettop` and `man 7 nettop`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._manual import CommandHelp, Option

HELP = "print a manual page"
PAGES = ("commands", "concepts")
CONCEPT = """\
nettop shows what limits the network performance of this host, changes settings safely, and measures
the effect. Without a command it opens the screen: the path of packets from the wire to the
processes, with losses, queues, cores and findings.

nettop reads counters and settings of the kernel and computes rates. Rules compare them with
published measurements. A rule that holds on a target (an interface, a queue, a flow, a process, the
host) is a finding, written RULE@TARGET. A finding names its figures, its sources and the settings
to change. A setting is written KIND.NAME@TARGET, for example ring.rx@eth0.

Every change is written to a journal before it is written to the host, and read back afterwards.
`nettop undo` reverts it. A change that may interrupt the link reverts automatically unless it is
confirmed. `nettop prove` measures with and without a change in turn, and keeps it only if it is
better.

Reading needs no root; changing settings does. Commands that only read also accept another host
where nothing is installed (--host "ssh web1"), a recording (--replay), a copy of /proc and /sys
(--root) or a network namespace (--netns). The other host needs Python 3.6; nothing is written
there. With --install, nettop is put there first, so that changes work; --forget removes it."""
MORE_EXAMPLES = (
    ("nettop explain rx-ring-overrun eth0", "explain a rule and its result for eth0"),
    ("sudo nettop set ring.rx@eth0 4096 --dry-run", "show a change without making it"),
    ("nettop journal", "list the changes that nettop made"),
    ("sudo nettop undo 3", "revert change 3 of the journal"),
    ('nettop test bulk --to 10.0.0.2 --peer "ssh host2"', "measure TCP throughput to host2"),
    ("nettop record web1.host.gz", "record this host; names and addresses are replaced"),
    ("nettop replay web1.host.gz", "show the recording on any host"),
    ("nettop advise --json --fail-on warning", "check this host from a script"),
    ("nettop advise --baseline before.json", "list what is new since an earlier `advise --json`"),
    ("nettop advise --format nagios", "check this host from Nagios or Icinga"),
)
EXITS = (
    ("0", "no finding, or done"),
    ("1", "findings at or above --fail-on, or a verdict other than better"),
    ("2", "usage error, or unknown name"),
    ("3", "the host could not be read or judged, or a write to stdout failed"),
    ("4", "not done: refused, conflict or not permitted"),
    ("5", "reverted, because the change was not confirmed"),
    ("130", "interrupted"),
    ("141", "the reader of stdout closed the pipe"),
)
FILES = (
    (
        "/etc/nettop/config.toml, ~/.config/nettop/config.toml",
        "theme, units, interval, columns, thresholds",
    ),
    ("/etc/nettop/rules/, ~/.config/nettop/rules/", "your own rules"),
    ("~/.config/nettop/muted", "muted findings"),
    ("/var/lib/nettop/", "the journal of root; other users have theirs in ~/.local/state/nettop"),
    ("~/.local/state/nettop/results/", "results of tests and experiments"),
)


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
    from .. import __version__
    from ..facts.limits.stages import declared
    from . import _concepts as text

    yield f'.TH NETTOP 7 "" "nettop {__version__}" "Concepts of nettop"'
    yield ".SH NAME"
    yield r"nettop \- what limits a flow, findings, changes and proof"
    yield ".SH DESCRIPTION"
    yield from _prose("This page explains the words of nettop(1), and how nettop decides.")
    yield ".SH WHAT LIMITS A FLOW"
    yield from _prose(text.LIMIT)
    yield ".SH STAGES"
    for stage in declared().values():
        yield from _entry(stage.name, stage.meaning)
    yield ".SH FINDINGS AND RULES"
    yield from _prose(text.FINDINGS)
    yield ".SH PROFILES"
    yield from _prose(
        "The advice depends on the workload, which is detected, or chosen (--profile)."
    )
    for name, meaning in text.PROFILES:
        yield from _entry(name, meaning)
    yield ".SH CHANGES"
    yield from _prose(text.CHANGES)
    yield ".SH PROOF"
    yield from _prose(text.PROOF)
    yield ".SH TIME"
    yield from _prose(text.TIME)
    yield ".SH SEE ALSO"
    yield from _prose("nettop(1), ethtool(8), ss(8), tc(8), sysctl(8)")


def _lines() -> Iterator[str]:
    from .. import __version__
    from . import _manual as manual

    every = {command.name: command for command in manual.every()}
    yield f'.TH NETTOP 1 "" "nettop {__version__}" "User Commands"'
    yield ".SH NAME"
    yield r"nettop \- find, fix and prove what limits the network performance of a Linux host"
    yield ".SH SYNOPSIS"
    yield from (".B nettop", _plain("[OPTION …]"), ".br", ".B nettop", _plain("COMMAND [OPTION …]"))
    yield ".SH DESCRIPTION"
    yield from _prose(CONCEPT)
    yield ".SH OPTIONS"
    yield from _options(every["top"].options)
    yield ".SH COMMANDS"
    for name, command in every.items():
        if name != "top":
            yield from _command(command)
    yield ".SH KEYS"
    yield from _keys()
    yield ".SH EXAMPLES"
    for typed, meaning in (*manual.EXAMPLES, *MORE_EXAMPLES):
        yield from _entry(typed, meaning)
    yield ".SH EXIT STATUS"
    for code, meaning in EXITS:
        yield from _entry(code, meaning)
    yield ".SH FILES"
    for path, meaning in FILES:
        yield from _entry(path, meaning)
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


def _entry(term: str, meaning: str) -> Iterator[str]:
    yield ".TP"
    yield rf"\fB{_plain(term, start=False)}\fR"
    yield _plain(meaning) or r"\&"


def _prose(text: str) -> Iterator[str]:
    """Fill paragraphs; keep indented lines and examples as they are."""
    for block in text.split("\n\n"):
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
