"""Which sockets listen at a port of this host, and which packets they take.

net/ipv4/inet_hashtables.c, compute_score(); net/ipv6/af_inet6.c, ipv6_rcv_saddr_equal().
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from .flow_words import EVERYWHERE, end, owners

if TYPE_CHECKING:
    from ..frame.rates import Frame


def at(frame: Frame, protocol: str, port: int) -> Sequence[Any]:
    """The rows of the sockets that listen at the port."""
    return [
        row
        for row in frame.rows(f"sockets_{protocol}")
        if row.local_port == port
        and (row.state == "listen" if protocol == "tcp" else not row.remote_port)
    ]


def takes(frame: Frame, row: Any, family: int, to: str = "", interface: str = "") -> bool:
    """Whether a socket takes packets of a family, to an address, from an interface; empty: any."""
    if interface and getattr(row, "interface", None) not in (None, interface):
        return False
    if row.local in EVERYWHERE:
        only = row.local == "::" and any(one.inode == row.inode for one in frame.rows("ipv6_only"))
        return family == 6 if only else row.local == "::" or family == 4
    local = ip_address(row.local.removeprefix("::ffff:") if "." in row.local else row.local)
    if local.is_loopback and interface not in ("", "lo"):
        return False
    return local.version == family and (not to or local == ip_address(to))


def words(frame: Frame, row: Any) -> str:
    """What a socket takes, in words: `nginx[7] listens at [::]:80, for IPv6 only`."""
    who = owners(frame).get(row.inode, "a process")
    only = any(one.inode == row.inode for one in frame.rows("ipv6_only"))
    device = getattr(row, "interface", None)
    return (
        f"{who} listens at {end(row.local, row.local_port)}"
        f"{', for IPv6 only' if only and row.local == '::' else ''}"
        f"{f', on {device} only' if device else ''}"
    )
