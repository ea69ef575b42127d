"""Staged limits behind which a thread comes next: it is about two thirds full, then full.

The program spends a fixed CPU time on each byte, as one that encrypts, compresses or parses, so
that its rate once the first limit is lifted depends neither on the machine nor on batches. Both
programs run before other work (SCHED_FIFO), which would take time from the thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from live.limits.case import Case
from live.limits.more import shaped
from live.limits.stage import LOCAL, SLOW, Stage


def quota(cpus: float, *, reader: bool = False) -> Callable[[Stage], None]:
    """A CPU quota for the writer or the reader; OSError where no cgroup can be made."""

    def more(stage: Stage) -> None:
        process = stage.far if reader else stage.near
        if process is None or not stage.quota(process, cpus):
            raise OSError("no cgroup with a CPU quota can be made here")

    return more


_OPEN = "here: qdisc del dev eth0 root"

# 8 Mb/s over the cost of a megabyte: what the thread carries
CPU: Final = tuple(
    replace(case, writer=f"first=1 {case.writer}", reader=f"first=1 {case.reader}", quiet=True)
    for case in (
        Case("work-tbf", "qdisc", "peer", writer="cost=0.04", tc=shaped("140mbit"), lift=_OPEN),
        Case("work-pace", "pacing", writer="cost=0.02 pace=32000000", lift="writer"),
        Case("work-sleep", "application", writer="cost=0.04 size=100000 sleep=0.002",
             lift="writer"),
        Case("work-sndbuf", "sndbuf", to=SLOW, link="0.01 first=1", lift="writer",
             writer="cost=0.18 size=8192 sndbuf=32768"),
        Case("work-tbf-reader", "qdisc", "peer", reader="cost=0.04", tc=shaped("130mbit"),
             lift=_OPEN),
        Case("work-pace-reader", "pacing", "peer", reader="cost=0.08", writer="pace=8000000",
             lift="writer"),
        Case("work-sleep-reader", "application", "peer", reader="cost=0.04",
             writer="size=20000 sleep=0.0011", lift="writer"),
        Case("work-loopback-tbf", "qdisc", to=LOCAL, writer="cost=0.01",
             tc=("here: qdisc add dev lo root tbf rate 520mbit burst 256k latency 50ms",),
             lift="here: qdisc del dev lo root"),
    )
)  # fmt: skip
