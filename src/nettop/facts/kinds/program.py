"""What holds a program: its state where data or connections wait for it, and what helps.

Whenever a socket's queue stands, the state of its owner decides, not the size of the queue. From
`program_states`, the calls in which its threads sleep (`waits`), their CPU time (`threads`) and the
calls that fail (`failed_calls`). Of several states the first is told (rules/program-states.toml);
of the processes that have one listening socket, that of the process in the first of these states.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from ...collect import program_states
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ...terms.text import few
from .. import Facts
from ..kind import Kind
from ..standing import Standing, programs, standing, unanswered
from .nic import Nic

MOST: Final = 3  # ports that are named
EVENTS: Final = "events"  # it waits for data or connections
PARKED: Final = "parked"  # as the first process of a server, whose workers serve


@dataclass(frozen=True, slots=True)
class Program:
    """One process that moves data or lets it wait, or that listens."""

    pid: int = label("process")
    name: str = gauge("name of the process", default="")
    state: str = gauge("kind of hold; empty: nothing seen", default="")
    does: str = gauge("what holds it", default="")
    cure: str = gauge("what shows it, and what helps", default="")
    listens: str | None = maybe("TCP ports at which it listens")
    ports: tuple[int, ...] = gauge("all of these", default=())
    held: bool = gauge("it goes on only when someone acts", default=False)
    halted: bool = gauge("its threads may not run: who connects gets no answer", default=False)
    connections: int = gauge("connections that wait for it", "connections", default=0)
    unread: int = gauge("data that waits for it", "bytes", default=0)
    moved: float = gauge("data that its connections move", "bytes/s", default=0.0)
    refused: int = gauge("processes and threads that it could not start", "calls", default=0)
    nic: str | None = maybe("TUN or TAP interface whose packets it reads")
    taken: float | None = maybe("packets of that interface that it took", "packets/s")
    dropped: float | None = maybe(
        "packets of that interface that were dropped, its queue full", "packets/s"
    )
    behind: int | None = maybe("process of this host for which it waits")


def build(frame: Frame, facts: Facts) -> tuple[Program, ...]:
    """One fact for each process of `program_states`."""
    if not frame.tables.get("program_states"):
        return ()
    known, words = programs(frame, facts), program_states.states()
    states = {pid: standing(pid, known) for pid in known.states}
    waiting: dict[int, int] = {}
    holders: dict[int, list[int]] = {}
    listeners = [one for one in facts.more.get("listener", ()) if one.waiting]
    doors = {one.inode: one.waiting for one in listeners}
    beyond = {one.inode: one for one in frame.rows("netns_tcp") if one.state == "listen"}
    doors |= {inode: one.recv_q for inode, one in beyond.items()}
    for row in frame.rows("socket_owners") if doors else ():
        if row.inode in doors and row.pid is not None:
            holders.setdefault(row.inode, []).append(row.pid)
    for inode, pids in holders.items():
        for pid in pids:
            waiting[pid] = waiting.get(pid, 0) + doors[inode]
        first = next((one.pid for one in listeners if one.inode == inode), pids[0])
        if first in states:
            told = [states[pid] for pid in (first, *pids) if pid in states]
            states[first] = min(told, key=lambda one: (
                one[0] == PARKED, not one[0], [*words, ""].index(one[0])))  # fmt: skip
    ports = _doors(facts)
    for door, pid in ((one, pid) for one in beyond.values() for pid in holders.get(one.inode, ())):
        ports.setdefault(pid, []).append(door.local_port)
    for pid in states:
        waiting[pid] = waiting.get(pid, 0) + unanswered(pid, known)
    unread = {one.pid: one.udp_unread or 0 for one in facts.processes}
    if any(state for state, *_ in states.values()):
        for flow in facts.flows:
            if flow.pid in states:
                unread[flow.pid] = unread.get(flow.pid, 0) + (flow.recv_q or 0)
    moved = _moved(facts) | (_moved_beyond(frame) if beyond else {})
    behind = {row.pid: row.interface for row in frame.rows("tun_readers")}
    nics = {one.name: one for one in facts.nics if one.driver == "tun"} if behind else {}
    nic = {pid: nics[name] for pid, name in behind.items() if name in nics}
    reads = _reads(frame)
    states |= {
        pid: Standing() for pid in reads  # what waits for it is data, and it takes that
        if pid in states and states[pid].state == EVENTS and not waiting.get(pid)
    }  # fmt: skip
    return tuple(
        Program(
            pid, row.name, state, does, cure, _ports(ports.get(pid, ())),
            tuple(sorted(set(ports.get(pid, ())))),
            state in words and words[state].held, state in words and words[state].halted,
            waiting.get(pid, 0), unread.get(pid, 0), moved.get(pid, 0.0),
            known.forks.get(pid, ("", 0))[1],
            *_queue(nic.get(pid)), waits_for,
        )
        for pid, row in known.states.items() for state, does, cure, waits_for in (states[pid],)
    )  # fmt: skip


def _reads(frame: Frame) -> set[int]:
    """The processes that read a datagram socket which drops: its queue is empty, or it changed.

    What nobody reads stays as it is once it is full.
    """
    moved = {
        entry.now.inode for entry in frame.tables.get("sockets_udp", ())
        if entry.rate("drops")
        and (not entry.now.recv_q or (entry.past and entry.past.recv_q != entry.now.recv_q))
    }  # fmt: skip
    rows = frame.rows("socket_owners") if moved else ()
    return {row.pid for row in rows if row.inode in moved and row.pid is not None}


def _doors(facts: Facts) -> dict[int | None, list[int]]:
    """The ports at which each process listens."""
    ports: dict[int | None, list[int]] = {}
    for one in facts.more.get("listener", ()):
        ports.setdefault(one.pid, []).append(one.port)
    return ports


def _moved(facts: Facts) -> dict[int | None, float]:
    """Bytes/s of the connections of each process, both directions."""
    moved: dict[int | None, float] = {}
    for flow in facts.flows:
        rate = (flow.rx_per_s or 0.0) + (flow.tx_per_s or 0.0)
        moved[flow.pid] = moved.get(flow.pid, 0.0) + rate
    return moved


def _moved_beyond(frame: Frame) -> dict[int | None, float]:
    """The same of processes of other namespaces."""
    holders = {row.inode: row.pid for row in frame.rows("socket_owners")}
    moved: dict[int | None, float] = {}
    for entry in frame.tables.get("netns_tcp", ()):
        rate = (entry.rate("bytes_received") or 0.0) + (entry.rate("bytes_acked") or 0.0)
        pid = holders.get(entry.now.inode)
        moved[pid] = moved.get(pid, 0.0) + rate
    return moved


def _ports(ports: Iterable[int]) -> str | None:
    """The ports in words."""
    return few((f"port {port}" for port in sorted(set(ports))), MOST) or None


def _queue(nic: Nic | None) -> tuple[str | None, float | None, float | None]:
    """The interface of a program, and what it took and lost of its packets."""
    if nic is None:
        return None, None, None
    return nic.name, nic.per_s.tx_packets, nic.per_s.tx_dropped


KIND = Kind(
    Program, "programs",
    needs=("program_states", "waits", "threads", "socket_owners", "sockets_tcp", "sockets_udp",
           "tun_readers", "netns_tcp"),
    build=build,
    target=lambda program: f"{program.name}[{program.pid}]", owner=attrgetter("name"),
    parents={"process": attrgetter("pid"), "nic": attrgetter("nic")},
    names={"program": "program.name"}, example={"pid": 3391, "name": "app"},
)  # fmt: skip
