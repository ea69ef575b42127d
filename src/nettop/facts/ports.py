"""Who holds a local port that a service cannot bind, and what frees it.

A connection that this host opened holds its local port as a listener does: bind() of another
program fails with EADDRINUSE (net/ipv4/inet_connection_sock.c, inet_csk_get_port()). Ports of
net.ipv4.ip_local_reserved_ports are not chosen for connections.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..frame.rates import Frame
from .flow_words import EVERYWHERE, end, owners


class Holder(NamedTuple):
    """Who holds the port, and the change."""

    saw: str
    change: str


def holder(frame: Frame, protocol: str, port: int, address: str = "") -> Holder | None:
    """Of a port that is in use here; None if no socket of this namespace has it at that address."""
    rows = [
        row for row in frame.rows(f"sockets_{protocol}")
        if row.local_port == port and not getattr(row, "namespace", 0) and _meets(row, address)
    ]  # fmt: skip
    if not rows:
        return None
    listens = [row for row in rows if getattr(row, "state", "") == "listen" or not row.remote_port]
    row = (listens or rows)[0]
    who = owners(frame).get(row.inode, "a process")
    if listens:
        return Holder(
            f"{who} has bound {end(row.local, port)}",
            f"end {who} if it is left of an earlier start, or give one of the two another port; "
            f"by SO_REUSEPORT only sockets of one user share it ({who}: user {row.uid})",
        )
    return Holder(
        f"{who} holds port {port} with its connection to {end(row.remote, row.remote_port)}",
        f"restart {who}, or end its connection (`ss -K sport = :{port}`), and start the service "
        f"first at boot. `sysctl -w net.ipv4.ip_local_reserved_ports={port}`, with the ports "
        "that are there already, keeps outgoing connections from it; a program that binds the "
        "port itself must choose another",
    )


def _meets(row: Any, address: str) -> bool:
    """Whether a socket keeps others from binding an address; of IPv6 `::` is that of IPv4 too."""
    own, asked = row.local, address.removeprefix("::ffff:")
    if not asked or own == asked:
        return True
    if (":" in own) != (":" in asked):
        return asked == "::" or (own == "::" and getattr(row, "v6only", None) is not True)
    return own in EVERYWHERE or asked in EVERYWHERE
