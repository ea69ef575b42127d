"""UDP services that answer from another address than the one that was asked.

A socket that is bound to all addresses sends from the first address of the route, unless the
program sets the source (IP_PKTINFO in ip(7)): net/ipv4/devinet.c, inet_select_addr().
"""

from __future__ import annotations

from ipaddress import ip_interface
from typing import TYPE_CHECKING

from .flow_words import EVERYWHERE

if TYPE_CHECKING:
    from ..frame.rates import Frame


def from_another(frame: Frame) -> tuple[str, ...]:
    """`PORT at ADDRESS@INTERFACE` for each such port and second address of a network of IPv4."""
    seen: set[tuple[str, object]] = set()
    second = []
    for row in frame.rows("addresses"):
        if row.family == 4 and row.scope == "global":
            place = row.interface, ip_interface(f"{row.address}/{row.prefix}").network
            second += [f"{row.address}@{row.interface}"] if place in seen else []
            seen.add(place)
    if not second:
        return ()
    ports = sorted(
        {row.local_port for row in frame.rows("sockets_udp")
         if row.local in EVERYWHERE and not row.remote_port}
    )  # fmt: skip
    return tuple(f"{port} at {address}" for port in ports for address in second)
