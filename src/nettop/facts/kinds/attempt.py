"""Connections that this host opens: to an end that does not answer, or again and again to one.

The kernel sends a SYN again after a second, six times by default (net.ipv4.tcp_syn_retries), counts
each in `total_retrans` of the socket, and closes it after the last (net/ipv4/tcp_timer.c,
tcp_retransmit_timer()). A refused connection is closed at once and is not listed.

A connection that was not there at the last look is fresh. Where nearly all are, at each look, each
of them carries little before it is closed.

Where the other end takes what is sent and its program answers nothing: collector `tcp_questions`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ...collect.routes import Row as RouteRow
from ...collect.sockets_tcp import Row as TcpRow
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ...terms.text import few
from .. import Facts
from ..connections import openers
from ..flow_words import end, owners
from ..kind import Kind
from ..peers import far, through
from ..way.flow import Host
from .metric import Network, main_routes, route

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


MOST: Final = 16  # destinations: those with most sockets
SHOWN_NAMES: Final = 2  # programs that are named


@dataclass(frozen=True, slots=True)
class Attempt:
    """One remote address and port, and the sockets that wait for its first answer."""

    id: str = label("remote address:port")
    sockets: int = gauge("sockets whose SYN was sent again", "sockets", default=0)
    retries: int = gauge("largest number of SYNs sent again by one socket", "segments", default=0)
    open: int = gauge("open connections to the same address and port", "sockets", default=0)
    processes: tuple[str, ...] = gauge("processes, as name[pid]", default=())
    leaves: str | None = maybe("interface by which they leave, where this host translates them")
    peers: tuple[str, ...] = gauge("the same and the way out, as `facts.peers`", default=())
    neighbour: str | None = maybe(
        "next hop that does not answer ARP or neighbour discovery, as address@interface"
    )


def build(frame: Frame, facts: Facts) -> tuple[Attempt, ...]:  # noqa: ARG001
    """The destinations without an answer, those with most sockets first."""
    entries = frame.tables.get("sockets_tcp", ())
    waits = defaultdict(list)
    for entry in entries:
        row = entry.now
        if row.state == "syn-sent" and row.total_retrans:
            waits[row.remote, row.remote_port].append(row)
    if not waits:
        return ()
    inodes, host = owners(frame), Host.of(frame)
    answered: dict[tuple[str, int], int] = defaultdict(int)
    for entry in entries:
        if (place := (entry.now.remote, entry.now.remote_port)) in waits:
            answered[place] += entry.now.state == "established"
    absent = {f"{row.address}@{row.interface}" for row in frame.rows("unresolved")}
    sent = {(row.to, row.port): row.sent_to for row in frame.rows("translated") if row.moved}
    networks = main_routes(frame) if absent or sent else ()
    found = [
        Attempt(
            end(remote, port),
            len(rows),
            max(row.total_retrans or 0 for row in rows),
            answered[remote, port],
            tuple(sorted({inodes[row.inode] for row in rows if row.inode in inodes})),
            _leaves(sent.get((remote.removeprefix("::ffff:"), port)), networks),
            (far(host, "tcp", remote, port), *through(frame, [remote])),
            _neighbour(sent.get((remote.removeprefix("::ffff:"), port), remote), networks, absent),
        )
        for (remote, port), rows in waits.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.sockets, one.id))[:MOST])


def _leaves(sent_to: str | None, networks: Sequence[tuple[Network, RouteRow]]) -> str | None:
    way = route(sent_to, networks) if sent_to else None
    return None if way is None else way.interface


def _neighbour(
    remote: str, networks: Sequence[tuple[Network, RouteRow]], absent: Collection[str]
) -> str | None:
    """The gateway of the route to that address, or the address itself, if it does not answer."""
    way = route(remote, networks)
    if way is None:
        return None
    hop = f"{way.gateway or remote.removeprefix('::ffff:')}@{way.interface}"
    return hop if hop in absent else None


KIND = Kind(
    Attempt, "attempts", needs=("sockets_tcp", "socket_owners"), build=build, lasts=True,
    parents={"way": attrgetter("id")}, example={"id": "192.0.2.7:443"},
)  # fmt: skip


SHOWN: Final = 16  # destinations: those with most fresh connections


@dataclass(frozen=True, slots=True)
class Opening:
    """One remote address and port to which this host opens connections."""

    id: str = label("remote address:port")
    fresh: int = gauge("connections that were not there at the last look", "connections", default=0)
    sockets: int = gauge("connections, with those being opened or closed", "sockets", default=0)
    rtt: float | None = maybe("shortest round trip of these", "s")
    processes: tuple[str, ...] = gauge("processes, as name[pid]", default=())
    received: int | None = maybe("most that came on one of these", "bytes")


def openings(frame: Frame, facts: object) -> tuple[Opening, ...]:  # noqa: ARG001
    """The destinations with fresh connections, those with most first."""
    entries = frame.tables.get("sockets_tcp", ())
    fresh = [entry.now for entry in entries if not entry.rated]
    counts = Counter([(row.remote, row.remote_port) for row in fresh])
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
                max((row.bytes_received for row in there if row.bytes_received), default=None),
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.fresh, one.id))[:SHOWN])


OPENING = Kind(
    Opening, "openings", needs=("sockets_tcp", "socket_owners"), build=openings, lasts=True,
    example={"id": "192.0.2.7:443"},
)  # fmt: skip


_LOOPS: Final = ("epoll", "io_")  # calls of an event loop, which waits for other things too


@dataclass(frozen=True, slots=True)
class Request:
    """One remote address and port that takes what is sent to it, and answers nothing."""

    id: str = label("remote address:port")
    waiting: int = gauge(
        "connections on which nothing ever came, two seconds or more after data was sent",
        "connections", default=0,
    )  # fmt: skip
    fresh: int = gauge(
        "of these, those opened in the last minute on which all was sent at once", "connections",
        default=0,
    )  # fmt: skip
    reading: int = gauge(
        "of these, those of programs of which a thread waits for data", "connections", default=0
    )
    longest: float | None = maybe("longest of these waits", "s")
    given_up: int = gauge(
        "requests given up in the last ten seconds without an answer", "connections", default=0
    )
    asked: int = gauge(
        "requests of about a minute without an answer, those that wait with them", "connections",
        default=0,
    )  # fmt: skip
    answered: bool = gauge("data came from it in the last ten seconds", default=False)
    who: str = gauge("the programs that ask", default="a program of this host")
    served: str = gauge("the program of this host that does not answer; empty: another host",
                        default="")  # fmt: skip
    peers: tuple[str, ...] = gauge("it, as `facts.peers` names it", default=())


def requests(frame: Frame, facts: Facts) -> tuple[Request, ...]:  # noqa: ARG001
    """The ends that leave requests unanswered, those with most first."""
    rows, found = frame.rows("tcp_questions"), list[Request]()
    if not rows:
        return ()
    names, called, host = owners(frame), openers(frame), Host.of(frame)
    holders = {row.inode: row.pid for row in frame.rows("socket_owners") if row.pid}
    processes = {row.pid: f"{row.name}[{row.pid}]" for row in frame.rows("socket_owners")}
    doors = {row.local_port: names.get(row.inode, "a program") for row in frame.rows("sockets_tcp")
             if row.state == "listen"}  # fmt: skip
    waits = [row for row in frame.rows("waits") if row.state != "R"]
    reads = {row.object for row in waits if row.kind == "input"}
    polls = {row.pid for row in waits
             if row.kind == "events" and row.ends and not row.call.startswith(_LOOPS)}  # fmt: skip
    for row in rows:
        opener = called.get((row.server, row.port))
        who = {names.get(one) or processes.get(opener) for one in row.inodes or (0,)}
        reading = (f"socket:[{one}]" in reads or holders.get(one, opener) in polls
                   for one in row.inodes)  # fmt: skip
        asked = max(row.waiting + row.left, row.waiting + row.given_up)
        here = host.local(row.server)
        found.append(
            Request(
                end(row.server, row.port), row.waiting, row.fresh, sum(reading), row.longest,
                row.given_up, asked, row.answered,
                few(sorted(filter(None, who)), SHOWN_NAMES) or "a program of this host",
                doors.get(row.port, "") if here else "",
                (far(host, "tcp", row.server, row.port),),
            )
        )  # fmt: skip
    return tuple(sorted(found, key=lambda one: (-one.asked, one.id))[:MOST])


REQUEST: Final = Kind(
    Request, "requests", needs=("tcp_questions", "sockets_tcp", "socket_owners", "waits"),
    build=requests, example={"id": "192.0.2.7:443"},
)  # fmt: skip
