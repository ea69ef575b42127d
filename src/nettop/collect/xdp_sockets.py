"""AF_XDP sockets and their drops by sock_diag: include/uapi/linux/xdp_diag.h (Linux 5.1).

A kernel without CONFIG_XDP_SOCKETS_DIAG answers ENOENT.
"""

import struct
from typing import Final

from ..frame.fields import counter, label, maybe
from ..host.netlink import diag
from ..host.netlink.codec import attributes
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Table

TABLE: Final = Table(every=2.0, optional=True)  # few kernels have the module xsk_diag

_AF_XDP: Final = 44
_SHOW: Final = 0x1 | 0x10  # XDP_SHOW_INFO, XDP_SHOW_STATS
_REQUEST: Final = diag.of_family(_AF_XDP, _SHOW, "xdp")
_STATS: Final = struct.Struct("=6Q")


@dataclass(frozen=True, slots=True)
class Row:
    """One socket. None: not bound, or not reported (statistics since Linux 5.9)."""

    inode: int = label("socket inode")
    index: int | None = maybe("interface index")
    queue: int | None = maybe("queue of the binding")
    drops: int | None = counter("packets dropped", "packets", default=None)
    ring_full: int | None = counter("packets dropped, receive ring full", "packets", default=None)
    fill_empty: int | None = counter("times the fill ring was empty", "events", default=None)


def read(source: Source) -> list[Row]:
    """Each AF_XDP socket of this namespace; OSError, or ValueError for a damaged answer."""
    return decode(source.netlink(_REQUEST))


def decode(reply: bytes) -> list[Row]:
    """The rows of an answer of xdp_diag; ValueError if it is cut off."""
    rows = []
    for start, end in diag.sockets(reply, "xdp_diag"):
        values: dict[str, int] = {}
        for what, a, e in attributes(reply, start + diag.HEADER.size, end):
            if what == 1 and e - a >= 8:
                index, queue = struct.unpack_from("=II", reply, a)
                values.update(index=index, queue=queue)
            elif what == 9 and e - a >= _STATS.size:
                drops, _invalid, full, empty, _tx, _tx_empty = _STATS.unpack_from(reply, a)
                values.update(drops=drops, ring_full=full, fill_empty=empty)
        rows.append(Row(diag.HEADER.unpack_from(reply, start)[3], **values))
    return rows
