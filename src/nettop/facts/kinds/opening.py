"""Connections that this host opens again and again to one address and port.

A connection that was not there at the last look is fresh. Where nearly all are, at each look, each
of them carries little before it is closed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Final

from ...collect.sockets_tcp import Row as TcpRow
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ..flow_words import end, owners
from ..kind import Kind

MOST: Final = 16  # destinations: those with most fresh connections
LEAST: Final = 2  # fresh connections: fewer are not listed


@dataclass(frozen=True, slots=True)
class Opening:
    """One remote address and port to which this host opens connections."""

    id: str = label("remote address:port")
    fresh: int = gauge("connections that were not there at the last look", "connections", default=0)
    sockets: int = gauge("connections, with those being opened or closed", "sockets", default=0)
    rtt: float | None = maybe("shortest round trip of these", "s")
    processes: tuple[str, ...] = gauge("processes, as name[pid]", default=())


def build(frame: Frame, facts: object) -> tuple[Opening, ...]:  # noqa: ARG001
    """The destinations with several fresh connections, those with most first."""
    entries = frame.tables.get("sockets_tcp", ())
    fresh = [entry.now for entry in entries if not entry.rated]
    counted = Counter([(row.remote, row.remote_port) for row in fresh])
    counts = {place: count for place, count in counted.items() if count >= LEAST}
    if not counts:
        return ()
    rows = [entry.now for entry in entries]
    served = {row.local_port for row in rows if row.state == "listen"}
    opened: dict[tuple[str, int], list[TcpRow]] = defaultdict(list)
    for row in rows:
        if (place := (row.remote, row.remote_port)) in counts and row.local_port not in served:
            opened[place].append(row)
    inodes = owners(frame)
    found = []
    for (remote, port), there in opened.items():
        trips = [trip for row in there if (trip := row.min_rtt or row.rtt)]
        found.append(
            Opening(
                end(remote, port),
                counts[remote, port],
                len(there),
                min(trips) / 1e6 if trips else None,
                tuple(sorted({inodes[row.inode] for row in there if row.inode in inodes})),
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.fresh, one.id))[:MOST])


KIND = Kind(
    Opening, "openings", needs=("sockets_tcp", "socket_owners"), build=build, lasts=True,
    example={"id": "192.0.2.7:443"},
)  # fmt: skip
