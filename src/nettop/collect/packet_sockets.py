"""Packet sockets (capture): interface, ring, fanout, drops; by sock_diag, else /proc/net/packet.

include/uapi/linux/packet_diag.h, net/packet/diag.c. The kernel reports the losses of a socket's
queue (sk_drops). It reports those of a ring (PACKET_RX_RING) only to its owner, so they are unknown
here.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Final

from ..files.bounds import count
from ..frame.fields import counter, gauge, label, maybe
from ..host.netlink import diag
from ..host.netlink.codec import attributes
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _lines
from ._table import Table

TABLE: Final = Table(every=1.0, may_rest=True)


_AF_PACKET: Final = 17
_SHOW: Final = 0x1 | 0x4 | 0x8 | 0x10  # info, rings, fanout, memory
_REQUEST: Final = diag.of_family(_AF_PACKET, _SHOW, "packet")
_INFO, _RX_RING, _TX_RING, _FANOUT, _MEMINFO = 0, 2, 3, 4, 6  # PACKET_DIAG_…
_TYPES: Final = {2: "dgram", 3: "raw", 10: "packet"}
_FANOUTS: Final = ("hash", "lb", "cpu", "rollover", "rnd", "qm", "cbpf", "ebpf")


@dataclass(frozen=True, slots=True)
class Row:
    """One socket. None: not reported."""

    inode: int = label("socket inode")
    index: int | None = gauge("interface index; None: all")
    type: str | None = maybe("raw or dgram")
    protocol: int | None = maybe("Ethernet protocol; 3: all")
    ring_version: int | None = maybe("TPACKET version 1 to 3; None: no ring")
    ring_bytes: int | None = maybe("receive ring; None: no ring", "bytes")
    send_ring_bytes: int | None = maybe("transmit ring; None: no ring", "bytes")
    rcvbuf: int | None = maybe("receive buffer", "bytes")
    queued: int | None = maybe("queued bytes", "bytes")
    drops: int | None = counter("packets dropped at the socket queue", "packets", default=None)
    fanout: int | None = maybe("fanout group; None: no group")
    fanout_type: str | None = maybe("fanout mode")


def read(source: Source) -> Sequence[Row]:
    """Every packet socket of this namespace; OSError or ValueError if both ways fail."""
    try:
        return decode(source.netlink(_REQUEST))
    except OSError:
        return parse(source.text("/proc/net/packet"))


def decode(reply: bytes) -> list[Row]:
    """The rows of an answer of packet_diag; ValueError if it is cut off."""
    rows = []
    for start, end in diag.sockets(reply, "packet_diag"):
        _family, type_, protocol, inode = diag.HEADER.unpack_from(reply, start)
        words = {
            what: struct.unpack_from(f"={(e - a) // 4}I", reply, a)
            for what, a, e in attributes(reply, start + diag.HEADER.size, end)
        }
        rows.append(_row(inode, _TYPES.get(type_), protocol, words))
    return rows


def _row(inode: int, kind: str | None, protocol: int, words: Mapping[int, tuple[int, ...]]) -> Row:
    """One socket; `words` are the 32-bit words of each attribute, fewer on old kernels."""
    index, version = _first(words.get(_INFO), 2)
    block, blocks = _first(words.get(_RX_RING), 2)
    send_block, send_blocks = _first(words.get(_TX_RING), 2)
    (fanout,) = _first(words.get(_FANOUT), 1)
    queued, rcvbuf, *_, drops = _first(words.get(_MEMINFO), 9)
    ring = (block or 0) * (blocks or 0) or None
    mode = (fanout or 0) >> 16 & 0xFF
    return Row(
        inode,
        index or None,
        kind,
        protocol,
        ring_version=version + 1 if ring and version is not None else None,
        ring_bytes=ring,
        send_ring_bytes=(send_block or 0) * (send_blocks or 0) or None,
        rcvbuf=rcvbuf,
        queued=queued,
        drops=None if ring else drops,
        fanout=fanout & 0xFFFF if fanout is not None else None,
        fanout_type=_FANOUTS[mode] if fanout is not None and mode < len(_FANOUTS) else None,
    )


def _first(words: tuple[int, ...] | None, count: int) -> tuple[int | None, ...]:
    """The first `count` words; None for each if the attribute is absent or shorter."""
    return (None,) * count if words is None or len(words) < count else words[:count]


def parse(text: str) -> Sequence[Row]:
    """The lines of /proc/net/packet (net/packet/af_packet.c, packet_seq_show())."""
    return _lines.rows(text.splitlines()[1:], _line, "/proc/net/packet")


def _line(line: str) -> Row:
    words = line.split()
    if len(words) < 9:
        raise ValueError(f"a short line: {line[:60]!r}")
    return Row(
        count(words[8]),
        count(words[4]) or None,
        _TYPES.get(count(words[2])),
        count(words[3], 16),
        queued=count(words[6]),
    )
