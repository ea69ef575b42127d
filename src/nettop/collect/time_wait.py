"""Local ports that TCP connections in TIME_WAIT hold, by server: sock_diag (net/ipv4/inet_diag.c).

The kernel lists only sockets whose local port is of net.ipv4.ip_local_port_range. Connections that
a server accepted have its own port there, which is below the range on most hosts; where it is not,
each of them is a group of one and has no row.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from struct import Struct
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import diag, route
from ..host.netlink.codec import messages
from ..host.source import Source

EVERY: Final = 10.0
OPTIONAL = True

LEAST: Final = 100  # sockets of one server: fewer are not listed
_RANGE: Final = "/proc/sys/net/ipv4/ip_local_port_range"
_SOCKETS: Final = "/proc/net/sockstat"
_SERVER: Final = Struct(">H16s16s")  # remote port, local address, remote address
_SERVER_AT: Final = 6  # in struct inet_diag_msg
_CUT: Final = 72  # its size


@dataclass(frozen=True, slots=True)
class Row:
    """Many connections in TIME_WAIT from one local address to one remote address and port."""

    local: str = label("local address")
    remote: str = label("remote address")
    remote_port: int = label("remote port")
    ports: int = gauge("local ports held in TIME_WAIT", "ports")


def read(source: Source) -> list[Row]:
    """The servers with many such connections, the most first; OSError, ValueError.

    Nothing is asked while the host has too few sockets in TIME_WAIT for a row.
    """
    if waiting(source.text(_SOCKETS)) < LEAST:
        return []
    low, high = map(int, source.text(_RANGE).split())
    return parse(diag.time_wait(source, low, high))


def waiting(sockstat: str) -> int:
    """The sockets in TIME_WAIT: `tw` of the line TCP; ValueError if it is not there."""
    for line in sockstat.splitlines():
        if line.startswith("TCP:"):
            words = line.split()
            return int(words[words.index("tw") + 1])
    raise ValueError(f"no line TCP: in {_SOCKETS}")


def parse(reply: bytes) -> list[Row]:
    """The rows of an answer; ValueError if it is cut off."""
    groups: Counter[tuple[int, bytes]] = Counter()
    for kind, start, end in messages(reply):
        if kind in (diag.BY_FAMILY, diag.EVERY_FAMILY):
            if end - start < _CUT:
                raise ValueError("a socket is cut off")
            at = start + _SERVER_AT
            groups[reply[start], reply[at : at + _SERVER.size]] += 1
    rows = []
    for (family, server), count in groups.most_common():
        if count < LEAST:
            break
        port, local, remote = _SERVER.unpack(server)
        size = 4 if family == diag.IPV4 else 16
        rows.append(Row(route.ip(local[:size]), route.ip(remote[:size]), port, count))
    return rows
