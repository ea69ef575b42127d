"""UDP sockets that are bound to an interface, or take IPv6 alone: net/ipv4/udp_diag.c.

/proc/net/udp has neither; the module udp_diag is not everywhere.
"""

import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.netlink import diag, route
from ..host.netlink.codec import Request, attributes, of_kind
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table

TABLE: Final = Table(every=2.0, asked=True, optional=True)

_UDP: Final = 17  # IPPROTO_UDP
_UNCONNECTED: Final = 1 << diag.STATES.index("close")
# struct inet_diag_msg: family, state, …, interface, cookie, …, inode
_SOCKET: Final = struct.Struct("=B3x36xI8x16xI")


@dataclass(frozen=True, slots=True)
class Row:
    """One such socket."""

    inode: int = label("socket inode")
    interface: str | None = maybe("interface to which it is bound (SO_BINDTODEVICE)")
    v6only: bool = gauge("takes no IPv4 (IPV6_V6ONLY)", default=False)


def update(source: Source, memory: Memory) -> Sequence[Row]:  # noqa: ARG001
    """Both families; OSError without udp_diag, ValueError for a damaged answer."""
    found = _sockets(source, diag.IPV4)
    with suppress(OSError):  # a kernel without IPv6
        found += _sockets(source, diag.IPV6)
    names = route.names(source) if any(index for _, index, _ in found) else {}
    return [Row(inode, names.get(index, str(index)) if index else None, only)
            for inode, index, only in found if index or only]  # fmt: skip


def _sockets(source: Source, family: int) -> list[tuple[int, int, bool]]:
    """Inode, index of the interface, and whether it takes IPv6 alone."""
    body = struct.pack("=BBBxI48x", family, _UDP, 0, _UNCONNECTED)
    name = "sock_diag/udp4" if family == diag.IPV4 else "sock_diag/udp6"
    reply = source.netlink(Request("sock_diag", diag.BY_FAMILY, body, name, dump=True))
    found = []
    for start, end in of_kind(reply, diag.BY_FAMILY, _SOCKET.size, "a socket"):
        _, index, inode = _SOCKET.unpack_from(reply, start)
        more = attributes(reply, start + _SOCKET.size, end)
        only = any(number == diag.SKV6ONLY and reply[at] == 1 for number, at, _ in more)
        found.append((inode, index, only))
    return found
