"""Print a manual page.

nettop man | man -l -                nettop(1): commands, options, keys, examples
nettop man concepts | man -l -       nettop(7): what limits a flow, findings, changes, proof

The package installs both, for `man nettop` and `man 7 nettop`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from .. import __version__

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
    from ..facts.limits.stages import declared

    yield f'.TH NETTOP 7 "" "nettop {__version__}" "Concepts of nettop"'
    yield ".SH NAME"
    yield r"nettop \- what limits a flow, findings, changes and proof"
    yield ".SH DESCRIPTION"
    yield from _prose("This page explains the words of nettop(1), and how nettop decides.")
    yield ".SH WHAT LIMITS A FLOW"
    yield from _prose(LIMIT)
    yield ".SH STAGES"
    for stage in declared().values():
        yield from _entry(stage.name, stage.meaning)
    yield ".SH FINDINGS AND RULES"
    yield from _prose(FINDINGS)
    yield ".SH PROFILES"
    yield from _prose(
        "The advice depends on the workload, which is detected, or chosen (--profile)."
    )
    for name, meaning in PROFILES:
        yield from _entry(name, meaning)
    yield ".SH CHANGES"
    yield from _prose(CHANGES)
    yield ".SH PROOF"
    yield from _prose(PROOF)
    yield ".SH TIME"
    yield from _prose(TIME)
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


# The text of nettop(7). A test compares the profiles with those of the code.
PROFILES: Final = (  # and the workload of each
    ("bulk-lan", "large transfers over short paths: throughput counts"),
    ("bulk-wan", "large transfers over long paths: windows and losses count"),
    ("latency", "small packets: the time of each counts"),
    ("capture", "packets are recorded: none may be lost"),
    ("server", "many connections of all kinds"),
)
LIMIT: Final = """\
Data passes stages in order, for example program, send buffer, queueing discipline, transmit ring,
link. A stage limits a flow if work waits before it, and not behind it, for at least half of the
time. A flow has one limit at a time. To relieve another stage does not make the flow faster.

The capacity of a stage is the rate at which it would be full, other things equal. It is an
interval, because it is an estimate. The stage with the next larger capacity is the next limit: no
fix of the present limit gives more than that. A limit marked `there` is beyond this host.

The evidence is `reported` (a counter of the kernel says so), `measured` (from times or queues),
`computed` (from speeds and sizes), or `inferred` (no other stage explains the rate)."""
FINDINGS: Final = """\
A rule is a condition on figures of the host, with the published measurement behind it. A rule that
holds on a target is a finding, written RULE@TARGET, for example rx-ring-overrun@eth0. A rule that
lacks a figure reports nothing, and `nettop explain` names the figure: an unknown value is never
zero.

The severities are `critical` (packets are lost, or something fails now), `warning` (costs
performance now), `advice` (could be better) and `info` (worth knowing). Findings of one
severity are listed by the gain that is predicted. The condition has to hold for a time that the
rule sets, so that a finding does not flicker.

Published advice conflicts. A finding shows contrary sources with the reason why they do not apply
here. What remains undecided is offered as an experiment."""
CHANGES: Final = """\
A setting is written KIND.NAME@TARGET, for example ring.rx@eth0. A change goes through a plan, the
journal on disk, the write, and a read of the value that is in effect. `nettop undo` writes the old
value back if nobody else has changed the setting since.

A change that may interrupt the link, or the SSH session of its user, reverts by itself unless it is
confirmed. A separate process, the guard, does that, also if nettop is killed or the connection is
lost. A change lasts until the next boot, unless it is made persistent (--keep, key s)."""
PROOF: Final = """\
The rate of a network varies by more than most settings change it. Two measurements, one before and
one after, prove nothing. `nettop prove` therefore tests without and with the change in turn, at
least five times each, and computes the confidence interval of the median difference. The verdict is
`better` only if the interval excludes zero, the gain exceeds 3 %, and drops and retransmits do not
increase, or by little beside the gain. Otherwise the change is reverted."""
TIME: Final = """\
Counters of the kernel are read once per interval; a rate is the difference of two samples, divided
by the time between them. The screen keeps the moments that it has seen, and shows them again (keys
← and →). The black box (`nettop watch --box`) keeps them on disk; an incident is a recording of the
minutes around the beginning of a finding."""
