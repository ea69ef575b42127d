"""64-bit counters of every interface: RTM_GETSTATS (net/core/rtnetlink.c, Linux 4.7).

/proc/net/dev folds several of these into one; here each stands alone. The kernel gives the
interface by its number: names are read when an unknown one shows up, and now and then because
one may be renamed.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..frame.fields import counter, gauge, label, light
from ..host.netlink import route
from ..host.netlink.codec import attributes, messages
from ..host.source import Source

ELSE = "netdev"

_RENAMED: Final = 10.0  # seconds a name is believed
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


def update(source: Source, memory: dict[str, Any]) -> Sequence[Row]:
    """Counters of every interface; one that counted nothing keeps its row."""
    reply = route.counters(source)
    now = source.now()
    if not memory or not 0 <= now - memory["named"] < _RENAMED:
        memory.update(named=now, names=route.names(source))
    try:
        rows, known = parse(reply, memory["names"], memory.get("known", {}))
    except KeyError:
        memory.update(named=now, names=route.names(source))
        rows, known = parse(reply, dict(memory["names"]) | _gone(reply, memory["names"]), {})
    memory["known"] = known
    return rows


def _gone(reply: bytes, names: Mapping[int, str]) -> dict[int, str]:
    """Interfaces that vanished between the two questions get no row."""
    return {index: "" for index, _start, _end in _places(reply) if index not in names}


def _places(reply: bytes) -> list[tuple[int, int, int]]:
    """Each message's interface index, and where its attributes begin and end."""
    out = []
    for kind, start, end in messages(reply):
        if kind == route.NEWSTATS:
            if end - start < 12:
                raise ValueError("an interface's counters are cut off")
            out.append((struct.unpack_from("=I", reply, start + 4)[0], start + 12, end))
    return out


Known = dict[int, tuple[bytes, Row]]


def parse(reply: bytes, names: Mapping[int, str], before: Known) -> tuple[list[Row], Known]:
    """Rows, and what to remember; KeyError for an index without a name, ValueError when cut off."""
    rows = []
    known: Known = {}
    for index, start, end in _places(reply):
        name = names[index]
        counted = reply[start:end]
        old = before.get(index)
        if old is not None and old[0] == counted and old[1].interface == name:
            row = old[1]
        else:
            row = Row(name, index, *_counters(counted))
        known[index] = counted, row
        if name:
            rows.append(row)
    return rows, known


def _counters(data: bytes) -> tuple[Any, ...]:
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
