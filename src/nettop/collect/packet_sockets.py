"""Packet sockets (capture): interface, ring, fanout, drops; by sock_diag, else /proc/net/packet.

include/uapi/linux/packet_diag.h, net/packet/diag.c. The kernel tells losses of a socket's queue
(sk_drops); those of a ring (PACKET_RX_RING) only to its owner, so they are unknown here.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final

from ..files.bounds import count
from ..frame.fields import counter, gauge, label
from ..host.netlink.codec import attributes, messages
from ..host.request import Request
from ..host.source import Source

MAY_REST = True

EVERY: Final = 1.0

_AF_PACKET: Final = 17
_BY_FAMILY: Final = 20  # SOCK_DIAG_BY_FAMILY
_SHOW: Final = 0x1 | 0x4 | 0x8 | 0x10  # info, rings, fanout, memory
_REQUEST: Final = Request(
    "sock_diag",
    _BY_FAMILY,
    struct.pack("=BBHIIII", _AF_PACKET, 0, 0, 0, _SHOW, 0xFFFFFFFF, 0xFFFFFFFF),
    "sock_diag/packet",
    dump=True,
)
_MESSAGE: Final = struct.Struct("=BBHI")  # family, type, protocol, inode; then a cookie
_TYPES: Final = {2: "dgram", 3: "raw", 10: "packet"}
_FANOUTS: Final = ("hash", "lb", "cpu", "rollover", "rnd", "qm", "cbpf", "ebpf")


@dataclass(frozen=True, slots=True)
class Row:
    """One socket. None: not told."""

    inode: int = label("socket inode")
    index: int | None = gauge("interface index; None: all")
    type: str | None = gauge("raw or dgram", default=None)
    protocol: int | None = gauge("Ethernet protocol; 3: all", default=None)
    ring_version: int | None = gauge("TPACKET version 1 to 3; None: no ring", default=None)
    ring_bytes: int | None = gauge("receive ring; None: no ring", "bytes", default=None)
    send_ring_bytes: int | None = gauge("transmit ring; None: no ring", "bytes", default=None)
    rcvbuf: int | None = gauge("receive buffer", "bytes", default=None)
    queued: int | None = gauge("queued bytes", "bytes", default=None)
    drops: int | None = counter("packets dropped at the socket queue", "packets", default=None)
    fanout: int | None = gauge("fanout group; None: no group", default=None)
    fanout_type: str | None = gauge("fanout mode", default=None)


def read(source: Source) -> list[Row]:
    """Each packet socket of this namespace; OSError or ValueError when neither way tells."""
    try:
        return decode(source.netlink(_REQUEST))
    except OSError:
        return parse(source.text("/proc/net/packet"))


def decode(reply: bytes) -> list[Row]:
    """The answer of packet_diag; ValueError when it is none."""
    rows = []
    for kind, start, end in messages(reply):
        if kind != _BY_FAMILY:
            continue
        if end - start < 16:
            raise ValueError("a packet_diag message is cut off")
        _family, type_, protocol, inode = _MESSAGE.unpack_from(reply, start)
        told: dict[str, Any] = {}
        for what, a, e in attributes(reply, start + 16, end):
            _take(what, reply[a:e], told)
        if told.get("ring_bytes") is None:
            told["ring_version"] = None
        else:
            told["drops"] = None
        index = told.pop("index", None)
        rows.append(Row(inode, index, _TYPES.get(type_), protocol, **told))
    return rows


def _take(what: int, payload: bytes, told: dict[str, Any]) -> None:
    """One attribute (PACKET_DIAG_INFO, RX_RING, TX_RING, FANOUT, MEMINFO)."""
    count = len(payload) // 4
    words = struct.unpack_from(f"={count}I", payload)
    if what == 0 and count >= 2:
        told["index"] = words[0] or None
        told["ring_version"] = words[1] + 1
    elif what in (2, 3) and count >= 2:
        told["ring_bytes" if what == 2 else "send_ring_bytes"] = words[0] * words[1] or None
    elif what == 4 and count >= 1:
        told["fanout"] = words[0] & 0xFFFF
        way = words[0] >> 16 & 0xFF
        told["fanout_type"] = _FANOUTS[way] if way < len(_FANOUTS) else None
    elif what == 6 and count >= 9:
        told["queued"], told["rcvbuf"], told["drops"] = words[0], words[1], words[8]


def parse(text: str) -> list[Row]:
    """The lines of /proc/net/packet (net/packet/af_packet.c, packet_seq_show())."""
    rows = []
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) < 9:
            raise ValueError(f"/proc/net/packet has a short line: {line[:60]!r}")
        rows.append(
            Row(
                count(words[8]),
                count(words[4]) or None,
                _TYPES.get(count(words[2])),
                count(words[3], 16),
                queued=count(words[6]),
            )
        )
    return rows
