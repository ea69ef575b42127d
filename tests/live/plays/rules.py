"""Rules across ends: the finding is of the host where its fix belongs (`advise --peer`)."""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from live.limits.case import FAR
from live.limits.stage import Stage
from live.limits.table import CASES
from live.play import RIGHT, WRONG, Outcome, Play, Truth, answer, worst
from live.plays.ends import files, pair

_CLOCK: Final = Path(__file__).parents[2] / "support/other_clock.py"
_SWITCHES: Final = ("tcp_timestamps", "tcp_sack", "tcp_window_scaling", "tcp_ecn")
_REFUSED: Final = frozenset({
    "timestamps-refused-by-this-end", "sack-refused-by-this-end",
    "window-scaling-refused-by-this-end", "ecn-refused-by-this-end",
    "mtu-differs-between-ends",
})  # fmt: skip
Found = frozenset[tuple[str, bool]]


def _refusing(made: Stage) -> None:
    for name in _SWITCHES:
        made.sysctl(made.there, f"net.ipv4.{name}", "0")
    made.sysctl(made.here, "net.ipv4.tcp_ecn", "1")
    made.run(made.here, "ip link set eth0 mtu 9000")
    made.reader()
    made.writer()


def _narrow(made: Stage) -> None:
    made.chain()
    made.run(made.middle, "ip link set right mtu 1400")
    made.reader("congestion=reno")
    made.writer(to=FAR)


@dataclass(frozen=True, slots=True)
class Look:
    """One recording: from which end, how far the other clock is ahead, and what is found.

    A finding is a rule, and whether it is of the other host. `all`: nothing else is found.
    """

    sending: bool
    found: Found
    clock: float = 0.0
    all: bool = True


@dataclass(frozen=True, slots=True)
class Rules:
    """A staged pair of hosts and its looks."""

    name: str
    make: Callable[[Stage], None]
    looks: tuple[Look, ...]


CASES_OF_RULES: Final = (
    Rules("rules-refused", _refusing, (
        Look(True, frozenset((rule, True) for rule in _REFUSED)),
        Look(False, frozenset((rule, False) for rule in _REFUSED)))),
    Rules("rules-path", _narrow, (
        Look(True, frozenset({("path-mtu-below-both-ends", False),
                              ("congestion-controls-differ", False)})),)),
    Rules("rules-window", CASES["rmem-65536"].make, (
        Look(True, frozenset({("window-held-down-by-this-end", True)}), all=False),)),
    Rules("rules-clocks", CASES["pace-delay"].make, (
        Look(True, frozenset({("clocks-differ-between-ends", False),
                              ("far-apart-in-one-network", False)}), clock=300.0, all=False),
        Look(True, frozenset({("clocks-differ-between-ends", True),
                              ("far-apart-in-one-network", False)}), clock=-300.0, all=False))),
)  # fmt: skip


def stage(case: Rules, folder: Path) -> Truth:
    """Make the pair of hosts and record it from the named ends."""
    with Stage("rules") as made:
        case.make(made)
        time.sleep(1.5)
        for number, look in enumerate(case.looks):
            clock = f"{sys.executable} {_CLOCK} {look.clock:g}"
            pair(folder, f"{case.name}-{number}", made, sending=look.sending, far=clock)
    return {}


def judge(case: Rules, folder: Path, truth: Truth) -> Outcome:
    """The findings about joined flows, and the host of each."""

    def outcomes() -> Iterator[Outcome]:
        for number, look in enumerate(case.looks):
            path = str(folder / f"{case.name}-{number}.host.gz")
            document = answer("advise", "--fail-on", "never", "--replay", path)
            found = {
                (one["rule"], one["host"] != document["host"])
                for one in document["findings"] if ">" in one["target"]
            }  # fmt: skip
            good = found == look.found if look.all else look.found <= found
            yield Outcome(RIGHT if good else WRONG, ", ".join(map(str, sorted(found))) or "nothing")

    return worst(outcomes())


PLAYS: Final = tuple(
    Play(one.name, partial(stage, one), partial(judge, one),
         files(*(f"{one.name}-{number}" for number in range(len(one.looks)))), quick=True)
    for one in CASES_OF_RULES
)  # fmt: skip
