"""Other ends for whose answers programs wait that owe an answer to their own clients.

Such a program is a proxy, a web server with a database, or a gateway. Its question to the other end
is younger than the last data that came from there, and its client's question is older and has no
answer yet (tcpi_last_data_sent and tcpi_last_data_recv of struct tcp_info, net/ipv4/tcp.c,
tcp_get_info()). Connections that are opened for one question count, and those that are kept if an
answer came since the last reading: who never answers is `Request`, and who is only told things, as
a log, is not awaited. Where a connection is younger than the list of descriptors, its question
follows that of the client at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

from ...collect import tcp_questions
from ...collect._tcp_row import PackedRow
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ...terms.text import few
from .. import Facts
from ..flow_words import end, owners
from ..kind import Kind
from ..peers import far
from ..way.flow import Host

SHOWN: Final = 16  # ends: those with most questions
PROGRAMS: Final = 2  # that are named
AT_ONCE: Final = 0.05  # seconds from the question of a client to that of the program


@dataclass(frozen=True, slots=True)
class Awaited:
    """One other end that programs of this host ask, which serve clients themselves."""

    id: str = label("remote address:port")
    talks: int = gauge(
        "connections to it, opened or answered since the last reading", "connections", default=0
    )
    asks: int = gauge("of these, those that wait for an answer", "connections", default=0)
    clients: int = gauge(
        "of these, those whose program owes a client an answer since before", "connections",
        default=0,
    )  # fmt: skip
    longest: float | None = maybe("longest of these waits, less its round trip", "s")
    who: str = gauge("the programs that wait", default="a program of this host")
    served: str = gauge("the program of this host that answers; empty: another host", default="")
    peers: tuple[str, ...] = gauge("it, as `facts.peers` names it", default=())


class _Wait(NamedTuple):
    """A question: who holds its socket, as name[pid], and how long ago it was asked, in seconds."""

    holder: str | None
    since: float
    trip: float = 0.0
    door: str | None = None  # of a client: who listens there


def build(frame: Frame, facts: Facts) -> tuple[Awaited, ...]:  # noqa: ARG001
    """The ends with such connections, those with most questions first; none without a listener."""
    entries = [one for one in frame.tables.get("sockets_tcp", ())
               if not isinstance(one.now, PackedRow)]  # fmt: skip
    doors = {one.now.local_port: one.now.inode for one in entries if one.now.state == "listen"}
    if not doors:
        return ()
    names = owners(frame)
    owed: list[_Wait] = []
    talks: dict[tuple[str, int], list[_Wait | None]] = defaultdict(list)
    for entry in entries:
        row = entry.now
        if row.state != "established" or not row.inode:
            continue
        if row.local_port in doors:
            sent, received = row.last_sent, row.last_received
            known = row.bytes_received and sent is not None and received is not None
            if known and (not row.bytes_acked or received < sent):
                door = names.get(doors[row.local_port])
                owed.append(_Wait(names.get(row.inode), received / 1e3, door=door))
        elif not entry.rated or entry.rate("bytes_received"):
            waits = tcp_questions.waits(row)
            talks[row.remote, row.remote_port].append(
                None if waits is None
                else _Wait(names.get(row.inode), waits, (row.min_rtt or row.rtt or 0) / 1e6)
            )  # fmt: skip
    host, found = Host.of(frame) if talks else None, list[Awaited]()
    for (remote, port), every in talks.items():
        asks = [one for one in every if one is not None]
        behind = [
            (one, client)
            for one in asks
            if (client := next((it for it in owed if _follows(one, it)), None)) is not None
        ]
        served = names.get(doors.get(port, 0), "") if host and host.local(remote) else ""
        found.append(
            Awaited(
                end(remote, port), len(every), len(asks), len(behind),
                max((one.since - one.trip for one, _ in behind), default=None),
                _programs(behind),
                served, (far(host, "tcp", remote, port),) if host else (),
            )
        )  # fmt: skip
    return tuple(sorted(found, key=lambda one: (-one.asks, one.id))[:SHOWN])


def _programs(pairs: Iterable[tuple[_Wait, _Wait]]) -> str:
    """The names of those that wait; a server may have a process for each client."""
    known = (one.holder or client.holder or client.door for one, client in pairs)
    names = {who.rpartition("[")[0] for who in known if who}
    return few(sorted(names), PROGRAMS) or "a program of this host"


def _follows(one: _Wait, client: _Wait) -> bool:
    """Whether the program asked after its client had, and, if it is not known to, at once."""
    before = client.since - one.since
    same = one.holder is not None and one.holder == client.holder
    unknown = one.holder is None or client.holder is None
    return before >= 0 and (same or (unknown and before <= AT_ONCE))


KIND: Final = Kind(
    Awaited, "awaited_ends", needs=("sockets_tcp", "socket_owners"), build=build, lasts=True,
    example={"id": "192.0.2.7:8080", "who": "proxy"},
)  # fmt: skip
