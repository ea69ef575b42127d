"""MPTCP sockets: what waits before the subflows and behind them (net/mptcp/mptcp_diag.c).

A program reads and writes an MPTCP socket. Its subflows are TCP sockets with the same inode; unread
data, and data that the window of the whole connection stops, is in the MPTCP socket only. The
kernel is asked while `sockets_tcp` or `netns_tcp` has a subflow.
"""

import errno
import struct
from collections.abc import Iterator
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import diag
from ..host.netlink.codec import attributes, of_kind
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import namespaces, netns_tcp, sockets_tcp
from ._table import Memory, Table, recall

TABLE: Final = Table(optional=True, may_rest=True, memory="sockets")

_COOKIE_AT, _INODE_AT, _SIZE = 44, 68, 72  # struct inet_diag_msg
_MEMORY: Final = struct.Struct("=6I")  # SK_MEMINFO, the first six
# struct mptcp_info: subflows, token, write_seq, snd_una
_INFO: Final = struct.Struct("=B11xIQQ")


@dataclass(frozen=True, slots=True)
class Row:
    """One MPTCP socket that is connected."""

    cookie: int = label("socket cookie of the kernel, unique since boot")
    namespace: int = label("inode of its network namespace; 0: this one")
    inode: int = gauge("socket inode, also that of its subflows")
    token: int = gauge("token of the connection at this end")
    subflows: int = gauge("subflows besides the first one", "subflows")
    unread: int = gauge("receive memory in use", "bytes")
    rcvbuf: int = gauge("receive buffer", "bytes")
    sndbuf: int = gauge("send buffer", "bytes")
    wmem_queued: int = gauge("send memory in use", "bytes")
    unacked: int = gauge("bytes written that the peer has not acknowledged", "bytes")


def update(source: Source, memory: Memory) -> list[Row]:
    """Every connected MPTCP socket of this and other namespaces; OSError, ValueError."""
    rows: list[Row] = []
    tcp, with_subflows = recall(memory, sockets_tcp.Known), recall(memory, netns_tcp.Known).subflows
    if not tcp.reading and not with_subflows:
        raise OSError(errno.ENODATA, "the TCP sockets could not be read")
    if tcp.subflows:
        rows += parse(diag.mptcp(source))
    for space in namespaces.known_of(memory).spaces if with_subflows else ():
        if space.inode not in with_subflows:
            continue
        try:
            rows += parse(diag.mptcp(source, space), space.inode)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended
    return rows


def parse(reply: bytes, namespace: int = 0) -> Iterator[Row]:
    """The rows of one answer; ValueError if it is cut off."""
    for start, end in of_kind(reply, diag.BY_FAMILY, _SIZE, "a socket"):
        found = {number: (a, e) for number, a, e in attributes(reply, start + _SIZE, end)}
        memory, info = (found.get(name, (0, 0)) for name in (diag.SKMEMINFO, diag.INFO))
        if info[1] - info[0] < _INFO.size or memory[1] - memory[0] < _MEMORY.size:
            continue
        (cookie,) = struct.unpack_from("=Q", reply, start + _COOKIE_AT)
        (inode,) = struct.unpack_from("=I", reply, start + _INODE_AT)
        unread, rcvbuf, _, sndbuf, _, queued = _MEMORY.unpack_from(reply, memory[0])
        subflows, token, written, acknowledged = _INFO.unpack_from(reply, info[0])
        yield Row(cookie, namespace, inode, token, subflows, unread, rcvbuf, sndbuf, queued,
                  max(0, written - acknowledged))  # fmt: skip
