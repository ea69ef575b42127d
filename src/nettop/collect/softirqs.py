"""Soft interrupts of each CPU: /proc/softirqs.

fs/proc/softirqs.c: a column per *possible* CPU (a guest with two CPUs may have 128), a line per
kind. The header has the CPU numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..files.bounds import counts
from ..frame.fields import counter, label, light
from ..host.source import Source
from ..terms import cpulist

KEEP_OPEN = ("/proc/softirqs",)
MAY_REST = True

_KINDS: Final = ("NET_RX", "NET_TX", "TASKLET", "TIMER", "SCHED", "RCU")


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One possible CPU, with the kinds that matter for networking."""

    cpu: int = label("CPU number")
    net_rx: int | None = counter("receive", "softirqs", default=None)
    net_tx: int | None = counter("transmit completion", "softirqs", default=None)
    tasklet: int | None = counter("tasklets", "softirqs", default=None)
    timer: int | None = counter("timers", "softirqs", default=None)
    sched: int | None = counter("scheduler balancing", "softirqs", default=None)
    rcu: int | None = counter("RCU callbacks", "softirqs", default=None)


def read(source: Source) -> list[Row]:
    """Every possible CPU; OSError without the file, ValueError for another format."""
    return parse(source.text("/proc/softirqs"))


def parse(text: str) -> list[Row]:
    """The rows of the text: one per column."""
    lines = text.splitlines()
    header = lines[0].split() if lines else []
    if not header or not all(word.startswith("CPU") for word in header):
        raise ValueError("/proc/softirqs has no header")
    cpus = [cpulist.one(word[3:]) for word in header]
    found: dict[str, list[int]] = {}
    for line in lines[1:]:
        kind, _, rest = line.partition(":")
        kind = kind.strip()
        if kind in _KINDS:
            numbers = counts(rest.split())
            if len(numbers) != len(cpus):
                raise ValueError(
                    f"/proc/softirqs: {kind} has {len(numbers)} of {len(cpus)} columns"
                )
            found[kind] = numbers
    unknown: list[int | None] = [None] * len(cpus)
    return [Row(*row) for row in zip(cpus, *(found.get(k, unknown) for k in _KINDS), strict=True)]
