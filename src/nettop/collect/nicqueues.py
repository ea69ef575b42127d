"""Packets, bytes and losses of each queue, where the driver tells them (`ethtool -S`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..drivers import QUEUE_COUNTS
from ..frame import counter, label
from ..source import Source
from ._driver_statistics import Reading, readings

EVERY = 0.2


@dataclass(frozen=True, slots=True)
class Row:
    """One queue; a combined pair is two rows. None: the driver does not count that by queue."""

    interface: str = label("interface name")
    queue: str = label("rx-N or tx-N")
    packets: int | None = counter("packets", "packets", default=None)
    bytes: int | None = counter("bytes", "bytes", default=None)
    drops: int | None = counter("lost in this queue's ring", "packets", default=None)


def read(source: Source) -> Sequence[Row]:
    """Every queue of every interface whose driver counts by queue."""
    return [row for reading in readings(source) for row in rows(reading)]


def rows(reading: Reading) -> list[Row]:
    """The queues of one interface in the driver's order."""
    values = reading.values
    return [
        Row(
            reading.interface,
            queue,
            *(sum(values[at] for at in sums[w]) if w in sums else None for w in QUEUE_COUNTS),
        )
        for queue, sums in reading.plan.queues.items()
    ]
