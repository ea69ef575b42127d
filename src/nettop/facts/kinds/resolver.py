"""Name servers that programs of this host ask, and the questions that wait for an answer.

A resolver opens a connected datagram socket for each question, and closes it with the answer or
after a timeout (resolv.conf(5): five seconds, then the next name server). An answer takes
milliseconds, so at most moments no such socket exists.
"""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ...frame.fields import gauge, label
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ..flow_words import end, owners
from ..kind import Kind

if TYPE_CHECKING:
    from .. import Facts

PORT: Final = 53


@dataclass(frozen=True, slots=True)
class Resolver:
    """One name server with questions that wait."""

    id: str = label("address:port of the name server")
    waiting: int = gauge("sockets that wait for its answer", "sockets", default=0)
    begun: int = gauge("sockets of those that were not there a moment ago", "sockets", default=0)
    processes: tuple[str, ...] = gauge("processes that wait, as name[pid]", default=())


def build(frame: Frame, facts: Facts) -> tuple[Resolver, ...]:  # noqa: ARG001
    """The name servers to which a socket without unread data is connected, most sockets first."""
    asked = defaultdict(list)
    for entry in frame.tables.get("sockets_udp", ()):
        if entry.now.remote_port == PORT and not entry.now.recv_q:
            asked[entry.now.remote].append(entry)
    if not asked:
        return ()
    names = owners(frame)
    found = []
    for remote, entries in asked.items():
        waits = {names[one.now.inode] for one in entries if one.now.inode in names}
        begun = sum(one.per_s is None and not one.still for one in entries)
        found.append(Resolver(end(remote, PORT), len(entries), begun, tuple(sorted(waits))))
    return tuple(sorted(found, key=lambda one: (-one.waiting, one.id)))


KIND = Kind(
    name="resolver", type=Resolver, plural="resolvers", key=attrgetter("id"),
    target=attrgetter("id"), names={"resolver": "resolver.id"},
    example={"id": "192.0.2.53:53"}, tables={"": "sockets_udp"},
    needs=("sockets_udp", "socket_owners"), build=build,
)  # fmt: skip
