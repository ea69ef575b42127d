"""Packets, bytes and losses of each queue: from the driver's statistics, else from the kernel's.

`ethtool -S` (ETHTOOL_GSTATS) through the driver table; missing counts come from
NETDEV_CMD_QSTATS_GET (net/core/netdev-genl.c, Linux 6.10), which more and more drivers support.
"""

import errno
from collections.abc import Mapping, Sequence
from dataclasses import field
from math import inf
from typing import Final

from ..frame.fields import counter, label
from ..host.netlink import netdev, route
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._driver_statistics import DriverStatistics, readings, with_unread
from ._drivers import QUEUE_COUNTS
from ._table import Memory, Table, recall

TABLE: Final = Table(every=0.2, may_rest=True, memory="statistics")

_ABSENT: Final = frozenset({errno.ENOENT, errno.EOPNOTSUPP, errno.EPERM, errno.EACCES})
_LATER: Final = 10.0  # seconds until a request that timed out is sent again


@dataclass(frozen=True, slots=True)
class Row:
    """One queue; a combined pair is two rows. None: neither has this counter."""

    interface: str = label("interface name")
    queue: str = label("rx-N or tx-N")
    packets: int | None = counter("packets", "packets", default=None)
    bytes: int | None = counter("bytes", "bytes", default=None)
    drops: int | None = counter("packets dropped, ring of this queue", "packets", default=None)


@dataclass
class _Kernel:
    """The state of requests for the kernel's queue statistics."""

    again: float = -inf  # when to ask again, in seconds of the source's clock
    names: Mapping[int, str] = field(default_factory=dict)  # interfaces by index


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every queue of every interface with counters by queue. OSError without netlink."""
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
    return with_unread(rows, memory)


def _kernel(source: Source, memory: Memory) -> dict[str, dict[str, dict[str, int]]]:
    """The kernel's queue statistics by interface and queue; empty on a kernel without them."""
    known = recall(memory, _Kernel)
    if source.now() < known.again:
        return {}
    try:
        found = netdev.queue_statistics(source)
    except OSError as error:  # after a timeout it is asked again
        known.again = inf if error.errno in _ABSENT else source.now() + _LATER
        return {}
    if not found.keys() <= known.names.keys():
        known.names = route.names(source)
    return {known.names[index]: by for index, by in found.items() if index in known.names}


def own_counts(reading: DriverStatistics) -> dict[str, dict[str, int]]:
    """The driver's counts by queue (`rx-0`), then by name of `QUEUE_COUNTS`."""
    return {
        queue: {what: sum(reading.values[place] for place in sums[what]) for what in sums}
        for queue, sums in reading.plan.queues.items()
    }


def row(interface: str, queue: str, own: Mapping[str, int], also: Mapping[str, int]) -> Row:
    """One queue from the driver's counts (`own`), else from the kernel's (`also`).

    `also` has the attributes of NETDEV_A_QSTATS_* by name.
    """
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
