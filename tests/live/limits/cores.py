"""Staged limits of threads and cores: quotas, pauses by signals, neighbours, work for each byte.

The programs of work-… spend a fixed CPU time on each byte, as one that encrypts, compresses or
parses, so that the rate once the first limit is lifted depends neither on the machine nor on
batches: the thread is about two thirds full, then full. Both programs run before other work
(SCHED_FIFO), which would take time from the thread.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from live.limits.case import Case
from live.limits.commands import OPEN, tbf
from live.limits.stage import LOCAL, SLOW, Stage


def quota(cpus: float, *, reader: bool = False) -> Callable[[Stage], None]:
    """A CPU quota for the writer or the reader; OSError where no cgroup can be made."""

    def more(stage: Stage) -> None:
        process = stage.far if reader else stage.near
        if process is None or not stage.quota(process, cpus):
            raise OSError("no cgroup with a CPU quota can be made here")

    return more


def _duty(run: float, stop: float, *, reader: bool = False) -> Callable[[Stage], None]:
    def more(stage: Stage) -> None:
        process = stage.far if reader else stage.near
        if process is not None:
            stage.duty(process, run, stop)

    return more


def _neighbours(stage: Stage) -> None:
    for _ in range(3):
        stage.neighbour(1)


def _steer(stage: Stage) -> None:
    """All packets that arrive are taken by CPU 0 (RPS), each of one segment."""
    for space in (stage.here, stage.there):
        stage.run(space, "ethtool -K eth0 tso off gso off gro off")
    stage.run(stage.there, "echo 1 > /sys/class/net/eth0/queues/rx-0/rps_cpus")


CORES: Final = (
    *(Case(f"quota-{share}", "thread", more=quota(share), quiet=True)
      for share in (0.03, 0.1, 0.2)),
    *(Case(f"quota-reader-{share}", "peer", "thread", more=quota(share, reader=True), quiet=True)
      for share in (0.03, 0.1)),
    Case("duty-350ms", "thread", more=_duty(0.05, 0.3), quiet=True),
    Case("duty-120ms", "thread", more=_duty(0.02, 0.1), quiet=True),
    Case("duty-reader", "peer", "thread", more=_duty(0.05, 0.3, reader=True), quiet=True),
    Case("neighbour", "thread", more=_neighbours, cpus=(1, 0), quiet=True),
    Case("neighbour-reader", "peer", "thread", more=_neighbours, cpus=(0, 1), quiet=True),
    Case("interrupt-core", receives="core thread", more=_steer, cpus=(1, 1), quiet=True),
    Case("loopback", "thread", to=LOCAL, quiet=True),
    Case("loopback-one-core", "thread", to=LOCAL, cpus=(1, 1), quiet=True),
)  # fmt: skip

# 8 Mb/s over the cost of a megabyte: what the thread carries
WORK: Final = tuple(
    replace(case, writer=f"first=1 {case.writer}", reader=f"first=1 {case.reader}", quiet=True)
    for case in (
        Case("work-tbf", "qdisc", "peer", writer="cost=0.04", tc=tbf("140mbit"), lift=OPEN),
        Case("work-pace", "pacing", writer="cost=0.02 pace=32000000", lift="writer"),
        Case("work-sleep", "application", writer="cost=0.04 size=100000 sleep=0.002",
             lift="writer"),
        Case("work-sndbuf", "sndbuf", to=SLOW, link="0.01 first=1", lift="writer",
             writer="cost=0.18 size=8192 sndbuf=32768"),
        Case("work-tbf-reader", "qdisc", "peer", reader="cost=0.04", tc=tbf("130mbit"),
             lift=OPEN),
        Case("work-pace-reader", "pacing", "peer", reader="cost=0.08", writer="pace=8000000",
             lift="writer"),
        Case("work-sleep-reader", "application", "peer", reader="cost=0.04",
             writer="size=20000 sleep=0.0011", lift="writer"),
        Case("work-loopback-tbf", "qdisc", to=LOCAL, writer="cost=0.01",
             tc=tbf("520mbit", "lo", "burst 256k latency 50ms"),
             lift="here: qdisc del dev lo root"),
    )
)  # fmt: skip
