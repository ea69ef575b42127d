"""Unix sockets whose data waits for its reader, by sock_diag: net/unix/diag.c (Linux 3.3).

A writer is charged for what the reader has not taken (net/unix/af_unix.c, unix_dgram_sendmsg(),
unix_stream_sendmsg()). It waits when its send buffer is full, and with datagrams also when the
queue of the reader has more than net.unix.max_dgram_qlen of them. Of a writer of datagrams that has
not connected its socket only the reader is told. Names are not read. `threads` looks at the readers
that are behind.
"""

import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.netlink import diag
from ..host.netlink.codec import Request, attributes
from ..host.netlink.diag import BY_FAMILY
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, recall

# `threads` looks at the programs that are behind
# the module unix_diag is not everywhere
TABLE: Final = Table(every=2.0, optional=True, may_rest=True, memory="sockets")

_AF_UNIX: Final = 1
_SHOW: Final = 0x4 | 0x10 | 0x20  # UDIAG_SHOW_PEER, _RQLEN, _MEMINFO
_REQUEST: Final = Request(
    "sock_diag", BY_FAMILY,
    struct.pack("=BBHIIIII", _AF_UNIX, 0, 0, 0xFFFFFFFF, 0, _SHOW, 0xFFFFFFFF, 0xFFFFFFFF),
    "sock_diag/unix", dump=True,
)  # fmt: skip
_PEER, _RQLEN, _MEMINFO = 2, 4, 5  # UNIX_DIAG_…
_SNDBUF: Final = 3  # SK_MEMINFO_SNDBUF
_LISTEN: Final = 10
_DGRAM: Final = 2
SMALLEST: Final = 512  # bytes: no datagram takes less memory (struct sk_buff and its data)
FULL: Final = 0.8  # of the send buffer: the next write waits
_LEAST: Final = 10 * SMALLEST  # bytes: max_dgram_qlen is 10, or more
_TYPES: Final = {1: "stream", 2: "dgram", 5: "seqpacket"}


@dataclass(frozen=True, slots=True)
class Row:
    """A writer whose data was not taken, a reader of datagrams, or a listener."""

    inode: int = label("socket inode")
    type: str = gauge("stream, dgram, seqpacket or listen", default="")
    peer: int | None = maybe("inode of the reader's socket")
    waiting: int = gauge(
        "memory of the data that waits; listening: connections not yet accepted", "bytes", default=0
    )
    room: int | None = maybe("send buffer; listening: backlog", "bytes")
    unread: int = gauge("length of the next datagram to be read", "bytes", default=0)


@dataclass
class Known:
    """The sockets whose readers are behind, for `threads`."""

    behind: frozenset[int] = frozenset()
    unread: frozenset[int] = frozenset()  # with a datagram at the last reading


def update(source: Source, memory: Memory) -> list[Row]:
    """Those of this namespace; OSError, or ValueError for a damaged answer."""
    rows, last = decode(source.netlink(_REQUEST)), recall(memory, Known)
    waits = Counter[int]()
    for row in rows:
        if row.peer and row.type == "dgram":
            waits[row.peer] += row.waiting
    unread = frozenset(row.inode for row in rows if row.unread)
    last.behind = (last.unread & unread).union(
        (inode for inode, size in waits.items() if size > _LEAST),
        (row.peer for row in rows if row.peer and full(row)),
    )
    last.unread = unread
    return rows


def full(row: Row) -> bool:
    """Whether the send buffer of a writer is full."""
    return bool(row.room) and row.waiting >= FULL * (row.room or 0)


def peers(source: Source) -> Mapping[int, int]:
    """The inode at the other end of each connected socket; errors as `read`."""
    every = _answers(source.netlink(_REQUEST))
    return {head[3]: words[_PEER][0] for head, words in every if words.get(_PEER)}


def _answers(reply: bytes) -> Iterator[tuple[tuple[int, ...], Mapping[int, tuple[int, ...]]]]:
    """The family, type, state and inode of each socket, and its attributes."""
    for start, end in diag.sockets(reply, "unix_diag"):
        yield (
            diag.HEADER.unpack_from(reply, start),
            {
                what: struct.unpack_from(f"={(e - a) // 4}I", reply, a)
                for what, a, e in attributes(reply, start + diag.HEADER.size, end)
            },
        )


def decode(reply: bytes) -> list[Row]:
    """The rows of an answer of unix_diag; ValueError if it is cut off."""
    rows = []
    for (_family, type_, state, inode), words in _answers(reply):
        received, sent = (*words.get(_RQLEN, ()), 0, 0)[:2]
        if state & 0xFF == _LISTEN:
            rows.append(Row(inode, "listen", None, received, sent))
        elif sent or (received and type_ == _DGRAM):
            memory = words.get(_MEMINFO, ())
            room = memory[_SNDBUF] if len(memory) > _SNDBUF else None
            peer = next(iter(words.get(_PEER, ())), None)
            unread = received if type_ == _DGRAM else 0
            rows.append(Row(inode, _TYPES.get(type_, ""), peer, sent, room, unread))
    return rows
