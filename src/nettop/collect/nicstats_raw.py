"""All statistics of the drivers under their own names, as `ethtool -S` prints them.

ETHTOOL_GSTRINGS and ETHTOOL_GSTATS (net/ethtool/ioctl.c).
A few of them are not counters (`peer_ifindex` of veth, a temperature); the driver table lists them.
"""

from collections.abc import Sequence
from typing import Final

from ..frame.fields import counter, label, light, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._driver_statistics import readings, with_unread
from ._table import Memory, Table

TABLE: Final = Table(every=0.9, memory="statistics")


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One statistic. A driver may repeat a name for each queue; `place` tells them apart."""

    interface: str = label("interface name")
    place: int = label("index in the driver's list")
    name: str = label("name given by the driver")
    value: int | None = counter("value of a counter; None: not a counter")
    level: int | None = maybe("present value, if it is not a counter")


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every statistic of every interface. OSError without netlink."""
    rows = [
        Row(reading.interface, place, name, None, value)
        if place in reading.plan.levels
        else Row(reading.interface, place, name, value)
        for reading in readings(source, memory)
        for place, (name, value) in enumerate(zip(reading.names, reading.values, strict=True))
    ]
    return with_unread(rows, memory)
