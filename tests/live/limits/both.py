"""Limits whose cause is known by construction, seen by `nettop why --peer`.

Each case says where its cause is for the writer's side: `here` the writer's host, `there` the
reader's, `between` the network. Seen from the reader's host here and there change places.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from live.limits.case import Case, named
from live.limits.stage import Stage
from live.limits.table import CASES
from warm import shared

_TURNED: Final[Mapping[str, str]] = {"here": "there", "there": "here", "between": "between"}


@dataclass(frozen=True, slots=True)
class BothCase:
    """A staged case, the right stages and the host of the cause."""

    case: Case
    stages: str
    end: str

    def right(self, stage: str, end: str, *, sending: bool) -> bool:
        """Whether that is the cause, seen from the host that sends or from the other."""
        return named(self.stages, stage) and end == (self.end if sending else _TURNED[self.end])


LIMITS: Final = {
    "reader-sleeps": BothCase(CASES["reader-sleeps"], "application", "there"),
    "reader-sleeps-long": BothCase(CASES["reader-sleeps-long"], "application", "there"),
    "reader-small-buffer": BothCase(CASES["reader-small-buffer"], "application", "there"),
    "quota-reader": BothCase(CASES["quota-reader-0.1"], "thread", "there"),
    "rcvbuf-32768": BothCase(CASES["rcvbuf-32768"], "rcvbuf rwnd", "there"),
    "rmem-65536": BothCase(CASES["rmem-65536"], "rcvbuf rwnd", "there"),
    "writer-sleeps": BothCase(CASES["writer-sleeps-often"], "application", "here"),
    "quota-writer": BothCase(CASES["quota-0.1"], "thread", "here"),
    "sndbuf-32768": BothCase(CASES["sndbuf-32768"], "sndbuf", "here"),
    "pace-50mbit": BothCase(CASES["pace-50mbit"], "pacing", "here"),
    "tbf-20mbit": BothCase(CASES["tbf-20mbit"], "qdisc", "here"),
    "loss-100": BothCase(CASES["loss-100"], "path cwnd", "between"),
    "acks-tbf": BothCase(CASES["acks-tbf"], "qdisc", "there"),
}


def both(stage: Stage, *words: str, sending: bool = True, seconds: float = 3.0) -> dict[str, Any]:
    """What `nettop why --peer --json` prints on one of the hosts."""
    here, there = (stage.here, stage.there) if sending else (stage.there, stage.here)
    words = ("why", *words, "--json", "--seconds", f"{seconds}", "--peer", f"ip netns exec {there}")
    done = shared().run(words, netns=here, sysfs=False)  # as Stage.inside: nsenter --net
    assert done.returncode == 0, (done.returncode, done.stderr)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


__all__ = ["LIMITS", "BothCase", "both"]
