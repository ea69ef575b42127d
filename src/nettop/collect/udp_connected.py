"""The local ports from which this host asked each server by connected datagram sockets.

A program that asks opens a socket, connects it and closes it soon, so one reading shows few of
them: the ports of the last readings are kept. The sockets are those of `sockets_udp`, /proc/net/udp
(net/ipv4/udp.c, udp4_format_sock()).
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from ..frame.fields import gauge, label
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import sockets_udp
from ._table import Memory, Table, recall

TABLE: Final = Table(every=1.0, optional=True, memory="sockets")

SERVERS: Final = 64
PORTS: Final = 256  # of a server, the last that were seen
MANY: Final = 4_000  # sockets: a host with more serves datagrams, and asks nobody


@dataclass(frozen=True, slots=True)
class Row:
    """One server."""

    server: str = label("address of the server")
    port: int = label("port of the server")
    asked: tuple[int, ...] = gauge("local ports from which it was asked", default=())


@dataclass
class Known:
    """The ports of the last readings."""

    asked: dict[tuple[str, int], dict[int, None]] = field(default_factory=dict)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """The servers of this namespace. OSError where the sockets cannot be read."""
    known, sockets = recall(memory, Known), recall(memory, sockets_udp.Known)
    if sockets.at is None:
        source.text(sockets_udp.TABLE.keep_open[0])
    now: dict[tuple[str, int], list[int]] = {}
    for row in sockets.rows if len(sockets.rows) <= MANY else ():
        if row.remote_port and row.inode:
            now.setdefault((row.remote, row.remote_port), []).append(row.local_port)
    for server, ports in now.items():
        if server in known.asked or len(known.asked) < SERVERS:
            old = known.asked.get(server, {})
            kept = dict.fromkeys([*(one for one in old if one not in ports), *ports][-PORTS:])
            known.asked[server] = kept
    return [Row(*server, tuple(ports)) for server, ports in known.asked.items()]
