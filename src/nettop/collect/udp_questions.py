"""Questions to name servers that wait for an answer, and those that waited for long.

A resolver opens a connected datagram socket for each question, and closes it with the answer or
after a timeout (resolv.conf(5): five seconds, then the next name server). An answer takes
milliseconds, so a socket that stays without data has asked in vain. The sockets are those of
`sockets_udp`. A socket that is there from the first reading may be that of a forwarder, which keeps
its sockets: it counts only if it is closed. A timeout may be shorter (`options timeout:1`), so
those that a reading saw waiting, and that were closed then, are counted as well: of questions with
an answer there are few.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

from ..frame.fields import counter, gauge, label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import socket_owners, sockets_udp, threads
from ._table import Memory, Table, recall

TABLE: Final = Table(every=1.0, optional=True, memory="sockets")

PORT: Final = 53
LOOK: Final = 10.0  # seconds: as rules judge losses
READINGS: Final = 5  # at the least, for a share of them
LATE: Final = 2.0  # seconds: a question whose socket is seen for so long got no answer


@dataclass(frozen=True, slots=True)
class Row:
    """One name server that was asked while nettop looked."""

    server: str = label("address of the name server")
    waiting: int = gauge("sockets that wait for its answer", "sockets", default=0)
    late: int = counter("questions that waited two seconds or more", "questions", default=0)
    unheard: int = counter("questions that a reading saw wait, and that are closed", "questions",
                           default=0)  # fmt: skip
    processes: tuple[str, ...] = gauge("processes that asked, as name[pid]", default=())
    asked: int = gauge("questions that readings of the last ten seconds saw wait", "questions",
                       default=0)  # fmt: skip
    held: float | None = maybe(
        "of these readings, those that saw a question wait; None: too few", "ratio"
    )
    waiters: tuple[int, ...] = gauge("processes that wait for its answer", default=())


@dataclass
class _Question:
    """A socket that waits."""

    server: str
    since: float  # seconds of the source's clock: first seen, or answered last
    seen: float  # the same, last
    old: bool  # it may have been there for long
    counted: bool = False
    heard: bool = False  # an answer came


@dataclass
class Known:
    """The questions of the last reading."""

    at: float | None = None  # of the sockets: None: not read yet
    asked: dict[int, _Question] = field(default_factory=dict)  # by inode
    late: Counter[str] = field(default_factory=Counter)
    unheard: Counter[str] = field(default_factory=Counter)
    # of each server the processes that asked, by name
    who: dict[str, dict[str, int]] = field(default_factory=dict)
    # of the last `LOOK` seconds: when the sockets were read, and what waited then, by inode
    seen: dict[float, dict[int, str]] = field(default_factory=dict)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """The name servers of this namespace. OSError where the sockets cannot be read."""
    known, sockets = recall(memory, Known), recall(memory, sockets_udp.Known)
    if sockets.at is None:
        source.text(sockets_udp.TABLE.keep_open[0])
    elif sockets.at != known.at:
        _follow(known, sockets.rows, sockets.at)
    holders, held = recall(memory, threads.Moving).holders, recall(memory, socket_owners.Known).held
    waiters: dict[str, set[int | None]] = {}
    for inode, question in known.asked.items():
        pid = holders.get(inode)
        waiters.setdefault(question.server, set()).add(pid)
        if pid is not None and str(pid) in held:
            known.who.setdefault(question.server, {})[f"{held[str(pid)].name}[{pid}]"] = pid
    waiting = Counter(one.server for one in known.asked.values())
    return [
        Row(one, waiting[one], known.late[one], known.unheard[one], tuple(known.who.get(one, ())),
            *_held(known, one), _waiters(waiters.get(one, set()), known.who.get(one, {})))
        for one in sorted({*waiting, *known.late, *known.unheard})
    ]  # fmt: skip


def _waiters(known: set[int | None], asked: Mapping[str, int]) -> tuple[int, ...]:
    """The processes whose questions wait; a socket of an unknown one is that of who alone asked."""
    alone = {*asked.values()} if None in known and len(asked) == 1 else set[int]()
    return tuple(sorted({pid for pid in known if pid is not None} | alone))


def _held(known: Known, server: str) -> tuple[int, float | None]:
    """The questions to a server of the last seconds, and in which share of them one waited."""
    waits = [[one for one, to in row.items() if to == server] for row in known.seen.values()]
    share = sum(map(bool, waits)) / len(waits) if len(waits) >= READINGS else None
    return len({one for row in waits for one in row}), share


def _follow(known: Known, rows: Sequence[sockets_udp.Row], at: float) -> None:
    """The questions after a reading of the sockets."""
    first, known.at = known.at is None, at
    asked = {row.inode: row for row in rows if row.remote_port == PORT and row.inode}
    for inode in [inode for inode in known.asked if inode not in asked]:
        gone = known.asked.pop(inode)
        known.unheard[gone.server] += not gone.old and not gone.heard
        if not gone.counted and gone.seen - gone.since >= LATE:
            known.late[gone.server] += 1
    for inode, row in asked.items():
        one = known.asked.setdefault(inode, _Question(row.remote, at, at, first))
        one.seen = at
        if row.recv_q:
            one.since, one.heard = at, True
        elif not one.old and not one.counted and at - one.since >= LATE:
            one.counted = True
            known.late[one.server] += 1
    known.seen = {then: row for then, row in known.seen.items() if at - then < LOOK}
    known.seen[at] = {inode: one.server for inode, one in known.asked.items()}
