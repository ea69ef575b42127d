"""64-bit counters of every interface: RTM_GETSTATS (net/core/rtnetlink.c, Linux 4.7).

/proc/net/dev adds up several of these; here each is separate. The answer has interface indexes
only: the names are read when an unknown index appears, and at intervals because of renames.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import field
from math import inf
from typing import Final

from ..frame.fields import counter, gauge, label, light
from ..host.netlink import route
from ..host.netlink.codec import attributes, messages
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, recall

TABLE: Final = Table(
    needed="the counters of the interfaces", instead="netdev", prompt=True, beside="snmp"
)

_RENAMED: Final = 10.0  # seconds until the names are read again
_BASE: Final = 23  # rtnl_link_stats64 of the first kernels; 4.6 added a 24th word, 5.19 a 25th
_WORDS: Final = struct.Struct("=25Q")


@light
@dataclass(frozen=True, slots=True)
class Row:
    """Counters of one interface since it was made."""

    interface: str = label("interface name")
    index: int = gauge("interface index")
    rx_packets: int = counter("packets received", "packets")
    tx_packets: int = counter("packets sent", "packets")
    rx_bytes: int = counter("bytes received", "bytes")
    tx_bytes: int = counter("bytes sent", "bytes")
    rx_errors: int = counter("receive errors", "packets")
    tx_errors: int = counter("transmit errors", "packets")
    rx_dropped: int = counter("packets dropped by the stack or driver on receive", "packets")
    tx_dropped: int = counter("packets dropped on transmit", "packets")
    multicast: int = counter("multicast packets received", "packets")
    collisions: int = counter("collisions", "events")
    rx_length_errors: int = counter("frames with length errors", "frames")
    rx_over_errors: int = counter("receiver overflow events", "events")
    rx_crc_errors: int = counter("frames with a wrong checksum", "frames")
    rx_frame_errors: int = counter("misaligned frames", "frames")
    rx_fifo_errors: int = counter("receiver FIFO errors", "events")
    rx_missed_errors: int = counter("packets missed by the NIC, no buffer", "packets")
    tx_aborted_errors: int = counter("aborted transmissions", "packets")
    tx_carrier_errors: int = counter("transmissions lost, no carrier", "packets")
    tx_fifo_errors: int = counter("transmissions lost, FIFO error", "packets")
    tx_heartbeat_errors: int = counter("heartbeat errors", "events")
    tx_window_errors: int = counter("late collisions", "packets")
    rx_compressed: int = counter("compressed packets received", "packets")
    tx_compressed: int = counter("compressed packets sent", "packets")
    rx_nohandler: int | None = counter(
        "packets received without a protocol handler", "packets", default=None
    )
    rx_otherhost_dropped: int | None = counter(
        "packets dropped, addressed to another host", "packets", default=None
    )


Known = dict[int, tuple[bytes, Row]]
"""Attributes and row of each interface at the last reading, by interface index."""


@dataclass
class _Last:
    named: float = -inf  # when the names were read, in seconds of the source's clock
    names: Mapping[int, str] = field(default_factory=dict)
    known: Known = field(default_factory=dict)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Counters of every interface; one whose counters did not change keeps its row. OSError."""
    reply = route.counters(source)
    now = source.now()
    last = recall(memory, _Last)
    if not 0 <= now - last.named < _RENAMED:
        last.named, last.names = now, route.names(source)
    try:
        rows, last.known = parse(reply, last.names, last.known)
    except KeyError:  # a new interface
        last.named, last.names = now, route.names(source)
        rows, last.known = parse(reply, known_names(reply, last.names), {})
    return rows


def known_names(reply: bytes, names: Mapping[int, str]) -> dict[int, str]:
    """The names, empty for an interface that vanished between the two requests: it has no row."""
    return {index: names.get(index, "") for index, _start, _end in _places(reply)}


def _places(reply: bytes) -> list[tuple[int, int, int]]:
    """Interface index, and start and end of the attributes, of each message."""
    out = []
    for kind, start, end in messages(reply):
        if kind == route.NEWSTATS:
            if end - start < 12:
                raise ValueError("an interface's counters are cut off")
            out.append((struct.unpack_from("=I", reply, start + 4)[0], start + 12, end))
    return out


def parse(reply: bytes, names: Mapping[int, str], before: Known) -> tuple[list[Row], Known]:
    """The rows of an answer, and `before` for the next call.

    KeyError for an index without a name, ValueError if the answer is cut off.
    """
    rows = []
    known: Known = {}
    for index, start, end in _places(reply):
        name = names[index]
        counted = reply[start:end]
        old = before.get(index)
        if old is not None and old[0] == counted and old[1].interface == name:
            row = old[1]
        else:
            row = Row(name, index, *_counters(counted))  # type: ignore[arg-type]
        known[index] = counted, row
        if name:
            rows.append(row)
    return rows, known


def _counters(data: bytes) -> tuple[int | None, ...]:
    for number, start, end in attributes(data, 0, len(data)):
        if number != 1:  # IFLA_STATS_LINK_64
            continue
        if end - start >= _WORDS.size:
            return _WORDS.unpack_from(data, start)
        count = (end - start) // 8
        if count < _BASE:
            break
        return struct.unpack_from(f"={count}Q", data, start) + (None,) * (25 - count)
    raise ValueError("an interface's counters are cut off")
