"""Name servers that programs of this host ask, and answers of servers that no socket takes.

Collectors `udp_questions` and `udp_connected`: datagrams for ports from which this host asked a
server. A connected socket takes datagrams of its server's address and port only (net/ipv4/udp.c,
compute_score()). While it is open, a datagram without a socket comes from elsewhere; later, it may
be an answer that came too late.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from ...collect.drop_reasons import Row as DropReasonRow
from ...collect.udp_questions import PORT
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ...terms.text import few
from .. import Facts
from ..flow_words import end
from ..kind import Kind
from ..peers import LED, far
from ..way.flow import Host


@dataclass(frozen=True, slots=True)
class Resolver:
    """One name server that was asked while nettop looked."""

    id: str = label("address:port of the name server")
    waiting: int = gauge("sockets that wait for its answer", "sockets", default=0)
    late: float | None = maybe("questions that waited two seconds or more", "questions/s")
    unheard: float | None = maybe(
        "questions that a reading saw wait, and that are closed", "questions/s"
    )
    processes: tuple[str, ...] = gauge("processes that asked, as name[pid]", default=())
    asked: int = gauge(
        "questions that readings of the last ten seconds saw wait", "questions", default=0
    )
    held: float | None = maybe("of these readings, those that saw a question wait", "ratio")
    alone: bool = gauge("no question waits for another name server", default=False)
    peers: tuple[str, ...] = gauge("it, as `facts.peers` names it", default=())


def build(frame: Frame, facts: Facts) -> tuple[Resolver, ...]:  # noqa: ARG001
    """The name servers of this namespace, those with most sockets first."""
    rows, host = frame.rows("udp_questions"), Host.of(frame)
    found = (
        Resolver(end(entry.now.server, PORT), entry.now.waiting, entry.rate("late"),
                 entry.rate("unheard"), entry.now.processes,
                 entry.now.asked, entry.now.held,
                 not any(one.asked for one in rows if one.server != entry.now.server),
                 (far(host, "udp", entry.now.server, PORT),))
        for entry in frame.tables.get("udp_questions", ())
    )  # fmt: skip
    return tuple(sorted(found, key=lambda one: (-one.waiting, one.id)))


KIND = Kind(
    Resolver, "resolvers", needs=("udp_questions", "sockets_udp", "socket_owners", "threads"),
    build=build, example={"id": "192.0.2.53:53"},
)  # fmt: skip


_REASON: Final = "NO_SOCKET"
_SHARE: Final = 0.5  # of the ports from which it was asked: of fewer, answers came late by chance


@dataclass(frozen=True, slots=True)
class Astray:
    """One server, and what became of the answers to connected datagram sockets."""

    id: str = label("address:port of the server")
    asked: int = gauge("sockets that asked it", "sockets", default=0)
    missed: int = gauge(
        "of these, those for whose port a datagram found no socket", "sockets", default=0
    )
    how: str = gauge("why they find none", default="")
    peers: tuple[str, ...] = gauge("it, as `facts.peers` names it", default=())


def astray(frame: Frame, facts: Facts) -> tuple[Astray, ...]:  # noqa: ARG001
    """The servers of which most answers are missed, most first."""
    lost = {
        row.port: row for row in frame.rows("drop_reasons")
        if (row.where, row.reason, row.protocol) == ("here", _REASON, "udp")
    }  # fmt: skip
    host, found = Host.of(frame), []
    for row in frame.rows("udp_connected") if lost else ():
        missed = [lost[str(port)] for port in row.asked if str(port) in lost]
        if len(missed) > _SHARE * len(row.asked):
            server = end(row.server, row.port)
            found.append(Astray(
                server, len(row.asked), len(missed), _how(server, missed),
                (far(host, "udp", row.server, row.port),),
            ))  # fmt: skip
    return tuple(sorted(found, key=lambda one: (-one.missed, one.id)))


def _how(server: str, missed: Sequence[DropReasonRow]) -> str:
    """From where the answers come, as far as it is known."""
    known = {end(row.source, row.source_port) for row in missed if row.source and row.source_port}
    if not known:
        return "they come from another address, or too late"
    others = sorted(known - {server})
    return f"they come from {few(others, 1)}" if others else "they come too late"


ASTRAY = Kind(
    Astray, "astrays", needs=("udp_connected",), build=astray,
    names={"server": "astray.id"}, example={"id": "192.0.2.7:123"},
)  # fmt: skip


_NAMED: Final = 4  # processes


@dataclass(frozen=True, slots=True)
class Repeated:
    """One name server that connections do not reach; an answer too long for a datagram needs one.

    Such an answer has the bit TC, and the resolver asks again by TCP (RFC 7766; resolv.conf(5),
    use-vc), without a counter.
    """

    id: str = label("address:port of the name server")
    failed: int = gauge("connections to it that failed, or wait", "connections", default=0)
    errors: tuple[str, ...] = gauge("their errors; those that wait have none", default=())
    processes: tuple[str, ...] = gauge("processes that ask, as name[pid]", default=())


def repeated(frame: Frame, facts: Facts) -> tuple[Repeated, ...]:
    """The name servers that connections of this host do not reach, most first."""
    failed, errors = Counter[str](), defaultdict[str, set[str]](set)
    names = defaultdict[str, set[str]](set)
    for row in frame.rows("failed_calls"):
        if (row.where, row.call, row.port) == ("here", "connection", str(PORT)):
            server = end(row.address.removeprefix("::ffff:"), PORT)
            if row.error in LED:
                failed[server] += row.events
                errors[server].add(row.error)
                names[server].add(f"{row.process}[{row.pid}]")
    for one in facts.more.get("attempt", ()):
        if one.id.endswith(f":{PORT}"):
            server = one.id.replace("::ffff:", "")
            failed[server] += one.sockets
            names[server].update(one.processes)
    return tuple(
        Repeated(
            server, count, tuple(sorted(errors[server])), tuple(sorted(names[server])[:_NAMED])
        )
        for server, count in failed.most_common()
    )


REPEATED = Kind(
    Repeated, "repeated_lookups", build=repeated, name="repeated",
    parents={"way": attrgetter("id")}, tables={"": "failed_calls"},
    example={"id": "192.0.2.53:53"},
)  # fmt: skip
