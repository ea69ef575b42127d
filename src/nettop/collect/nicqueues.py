"""Packets, bytes and losses of each queue: from the driver's statistics, else from the kernel's.

`ethtool -S` (ETHTOOL_GSTATS) through the driver table; what is not there comes from
NETDEV_CMD_QSTATS_GET (net/core/netdev-genl.c, Linux 6.10), to which drivers are moving.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from ..frame.fields import counter, label
from ..host.netlink import netdev, route
from ..host.source import Source
from ._driver_statistics import Reading, readings, told
from ._drivers import QUEUE_COUNTS

MAY_REST = True

EVERY = 0.2
MEMORY = "statistics"
_ABSENT: Final = frozenset({errno.ENOENT, errno.EOPNOTSUPP, errno.EPERM, errno.EACCES})
_LATER: Final = 10.0  # seconds until a question that timed out is asked again


@dataclass(frozen=True, slots=True)
class Row:
    """One queue; a combined pair is two rows. None: neither counts that by queue."""

    interface: str = label("interface name")
    queue: str = label("rx-N or tx-N")
    packets: int | None = counter("packets", "packets", default=None)
    bytes: int | None = counter("bytes", "bytes", default=None)
    drops: int | None = counter("packets dropped, ring of this queue", "packets", default=None)


def update(source: Source, memory: dict[str, Any]) -> Sequence[Row]:
    """Every queue of every interface that is counted by queue."""
    drivers = {reading.interface: reading for reading in readings(source, memory)}
    kernel = _kernel(source, memory)
    rows = []
    for interface in {**drivers, **kernel}:
        own = own_counts(drivers[interface]) if interface in drivers else {}
        also = kernel.get(interface, {})
        rows += [
            row(interface, queue, own.get(queue, {}), also.get(queue, {}))
            for queue in {**own, **also}
        ]
    return told(rows, memory)


def _kernel(source: Source, memory: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """The kernel's queue statistics by interface; none on a kernel that has no such question."""
    if source.now() < memory.get("again", -inf):
        return {}
    try:
        found = netdev.queue_statistics(source)
    except OSError as error:  # a timeout is no reason to never ask again
        memory["again"] = inf if error.errno in _ABSENT else source.now() + _LATER
        return {}
    if not found.keys() <= memory.get("names", {}).keys():
        memory["names"] = route.names(source)
    names = memory.get("names", {})
    return {names[index]: queues for index, queues in found.items() if index in names}


def own_counts(reading: Reading) -> dict[str, dict[str, int]]:
    """What the driver's statistics say of each queue."""
    return {
        queue: {what: sum(reading.values[place] for place in sums[what]) for what in sums}
        for queue, sums in reading.plan.queues.items()
    }


def row(interface: str, queue: str, own: Mapping[str, int], also: Mapping[str, int]) -> Row:
    """One queue; the driver's own count is preferred, so that a rate is of one counter."""
    way = queue[:2]
    packets, octets, drops = (own.get(what) for what in QUEUE_COUNTS)
    if drops is None and way == "rx":  # rx_hw_drops also counts filtered and damaged packets
        drops = also.get("rx_hw_drop_overruns")
    return Row(
        interface,
        queue,
        also.get(f"{way}_packets") if packets is None else packets,
        also.get(f"{way}_bytes") if octets is None else octets,
        drops,
    )
