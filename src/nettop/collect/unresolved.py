"""Neighbours that do not answer ARP or neighbour discovery: RTM_GETNEIGH (net/core/neighbour.c).

An entry that is used while nobody answers is INCOMPLETE during three requests and FAILED after
them, and the next packet begins again. An entry that no packet has used for a while has no meaning
for this host's traffic and is not listed. The table of a large network is not parsed.
"""

import struct
from collections.abc import Sequence
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import route
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, parsed
from .neighbour_states import entries

TABLE: Final = Table(every=2.0, optional=True)

_TIMES: Final = struct.Struct("=IIII")  # nda_cacheinfo: confirmed, used, updated (ticks ago), users
_TICKS: Final = 100  # a second, USER_HZ
_ABSENT: Final = 0x01 | 0x20  # NUD_INCOMPLETE, NUD_FAILED
_RECENT: Final = 5  # seconds since a packet asked for it


@dataclass(frozen=True, slots=True)
class Row:
    """One neighbour that packets wait for."""

    interface: str = label("interface name")
    address: str = label("IP address of the neighbour")
    family: int = gauge("4 or 6")


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every such neighbour; OSError without netlink, ValueError for a table that is too large."""
    answers = route.neighbours(source), route.names(source)
    return parsed(memory, "unresolved", answers, lambda both: parse(*both))


def parse(reply: bytes, names: dict[int, str]) -> list[Row]:
    """The rows of an answer to RTM_GETNEIGH; ValueError if it is cut off or too large."""
    rows = []
    for interface, family, values in entries(reply, names, _ABSENT):
        times = values.get("cache", b"")
        if len(times) >= _TIMES.size and _TIMES.unpack_from(times)[1] <= _RECENT * _TICKS:
            rows.append(Row(interface, route.ip(values["address"]), family))
    return rows
