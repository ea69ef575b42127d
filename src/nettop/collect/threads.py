"""Threads of the processes that move network data: /proc/PID/task/TID/stat and schedstat.

schedstat (Documentation/scheduler/sched-stats.rst) has nanoseconds: the time a thread ran and the
time it waited on a run queue. Only processes whose TCP sockets moved or hold data, or whose UDP
sockets hold or dropped data or may send much, that let connections wait, or take too slowly what
comes by a Unix socket, are read, for some readings after that: those of other network namespaces
too, and programs that feed or drain them, though no single sample sees them at it: a thread that
waits for a CPU does not wait at its pipe. After them those that owe a client an answer, or wait for
one. The collectors of sockets, `socket_owners` and `waits` store these processes in the shared
memory.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Final, NamedTuple

from ..frame.fields import counter, gauge, label, light, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import (
    _sysfs,
    _udp_senders,
    netns_tcp,
    netns_udp,
    processes,
    socket_owners,
    sockets_tcp,
    sockets_udp,
    sockets_unix,
)
from ._table import Memory, Table, recall
from ._tcp_row import PackedRow

TABLE: Final = Table(every=0.45, optional=True, memory="sockets")

PROCESSES: Final = 32  # processes that are read
THREADS: Final = 256  # threads that are read, of all processes together
MOVED: Final = 2_000  # bytes that a socket moves between two readings: less is no traffic
LATE: Final = 300  # ms without an answer to a client: a person notices it
_POLICY: Final = 38  # its place in a stat line, counted from the state
_IDLE: Final = b"5"  # SCHED_IDLE
_ROUNDS: Final = 30  # readings for which a process is read after it moved data
# readings for which a process is read after it owed an answer, or was seen to feed or drain another
LATER: Final = 6  # it may soon again: without the reading before, the next one has no rate


Sockets = Mapping[bytes, sockets_tcp.Seen]
"""The sockets of one namespace at one reading, by cookie."""


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One thread of a process that moves data; a process of one thread has one row."""

    pid: int = label("process")
    tid: int = label("thread")
    started: int = label("start time in clock ticks after boot: identifies a reused number")
    name: str = gauge("thread name")
    state: str = gauge("R running, S sleeping, D waiting for a device, T stopped …")
    ran: float | None = counter("time on a CPU", "s", default=None)
    waited: float | None = counter("time waiting for a CPU", "s", default=None)
    cpu: int | None = maybe("CPU it last ran on")
    cgroup: str | None = maybe("cgroup of the CPU controller")
    memory_cgroup: str | None = maybe("cgroup of the memory controller")
    threads: int = gauge("threads of its process", "threads", default=1)
    runs: int | None = counter("times that it was put on a CPU", "runs", default=None)
    lowly: str = gauge("why the scheduler lets others go first; empty: it does not", default="")


class _Part(NamedTuple):
    """The TCP sockets of a namespace at their last reading, as far as their processes are known."""

    seen: Sockets  # the same object until they are read again
    waiting: tuple[int, ...]  # processes with data that waits in one of them
    owing: tuple[int, ...] = ()  # processes that left the last question of a client unanswered


@dataclass
class Moving:
    """The processes that moved data, and their cgroups, for `throttling` and `socket_memory`."""

    rounds: dict[int, int] = field(default_factory=dict)  # readings left, by process
    parts: dict[int, _Part] = field(default_factory=dict)  # by namespace; 0: this one
    others: dict[int, int] = field(default_factory=dict)  # feed or drain these (`waits`): the same
    readers: tuple[int, ...] = ()  # programs behind TUN and TAP interfaces, by `tun_readers`
    asking: tuple[int, ...] = ()  # programs that wait for an answer, by `tcp_questions`
    drops: dict[int, int] = field(default_factory=dict)  # datagrams, by inode
    cgroups: frozenset[str] = frozenset()
    memory_cgroups: frozenset[str] = frozenset()
    changes: int = -1  # of `socket_owners`, and the process of each inode at that time
    holders: dict[int, int] = field(default_factory=dict)
    doors: dict[int, list[int]] = field(default_factory=dict)  # all processes of what listens


def update(source: Source, memory: Memory) -> list[Row]:
    """The threads of each process that moves data; a process that ended has none.

    OSError when there is no /proc: then it is not known which those are.
    """
    if not recall(memory, socket_owners.Known).held:
        source.listing("/proc")
    rows: list[Row] = []
    for pid in dict.fromkeys((*_moving(memory, source.now()), *recall(memory, Moving).others)):
        groups = _sysfs.word(source, f"/proc/{pid}/cgroup") or ""
        group, memory_group = cgroup(groups, "cpu"), cgroup(groups, "memory")
        tids = _sysfs.names(source, f"/proc/{pid}/task")
        for tid in tids[: max(0, THREADS - len(rows))]:
            folder = f"/proc/{pid}/task/{tid}"
            try:
                line = source.data(f"{folder}/stat")
                stat = processes.parse(line, pid)
            except (OSError, ValueError):
                continue  # it ended meanwhile
            ran, waited, runs = times(_sysfs.word(source, f"{folder}/schedstat"))
            rows.append(
                Row(
                    pid, stat.tid, stat.started, stat.name, stat.state,
                    ran if ran is not None else stat.user + stat.system,
                    waited, stat.cpu, group, memory_group, len(tids), runs, _lowly(line, stat.nice),
                )
            )  # fmt: skip
    known = recall(memory, Moving)
    known.cgroups = frozenset(row.cgroup for row in rows if row.cgroup)
    known.memory_cgroups = frozenset(row.memory_cgroup for row in rows if row.memory_cgroup)
    return rows


def _lowly(line: bytes, nice: int | None) -> str:
    """Its class or nice value (sched(7)), of a stat line whose policy is field 41 of proc(5)."""
    words = line[line.rfind(b")") + 1 :].split()
    if words[_POLICY : _POLICY + 1] == [_IDLE]:
        return "SCHED_IDLE"
    return f"nice {nice}" if nice is not None and nice > 0 else ""


def _moving(memory: Memory, now: float) -> list[int]:
    """The processes that moved data in one of the last readings, the last to move first."""
    known = recall(memory, Moving)
    owners = recall(memory, socket_owners.Known)
    held = owners.held
    sockets, others = recall(memory, sockets_tcp.Known), recall(memory, netns_tcp.Known)
    renewed = known.changes != owners.changes
    if renewed:
        known.changes = owners.changes
        known.holders = {
            inode: number
            for number, process in ((int(pid), process) for pid, process in held.items())
            for inode in process.inodes.values()
        }
        known.doors = {}
        for pid, process in held.items():
            for inode in sockets.listening.intersection(process.inodes.values()):
                known.doors.setdefault(inode, []).append(int(pid))
    holders = known.holders
    left = {pid: rounds - 1 for pid, rounds in known.rounds.items() if rounds > 1}
    parts: dict[int, _Part] = {}
    for space, seen in ({0: sockets.seen} | others.seen).items():
        part = known.parts.get(space)
        if renewed or part is None or part.seen is not seen:
            past = part.seen if part is not None else {}
            part, moved = _part(seen, past, holders, known.doors)
            left |= dict.fromkeys(moved, _ROUNDS)
        left |= dict.fromkeys(part.waiting, _ROUNDS)
        parts[space] = part
    known.parts = parts
    left |= {pid: _ROUNDS for inode in sockets.queued for pid in known.doors.get(inode, ())}
    behind = recall(memory, sockets_unix.Known).behind | others.queued
    left |= {holders[inode]: _ROUNDS for inode in behind if inode in holders}
    drops = known.drops
    datagrams: list[sockets_udp.Row | netns_udp.Row] = [*recall(memory, sockets_udp.Known).rows]
    datagrams += recall(memory, netns_udp.Known).rows
    for udp in datagrams:
        if udp.inode in holders and (udp.recv_q or udp.drops > drops.get(udp.inode, udp.drops)):
            left[holders[udp.inode]] = _ROUNDS
    known.drops = {udp.inode: udp.drops for udp in datagrams}
    owing = (pid for part in parts.values() for pid in part.owing)
    left = dict.fromkeys(_udp_senders.candidates(memory, now, holders), LATER) | left
    left = dict.fromkeys((*known.readers, *known.asking), 1) | dict.fromkeys(owing, LATER) | left
    chosen = sorted((pid for pid in left if str(pid) in held), key=lambda pid: -left[pid])
    known.rounds = {pid: left[pid] for pid in chosen[:PROCESSES]}
    return list(known.rounds)


def _part(
    seen: Sockets, past: Sockets, holders: Mapping[int, int], opened: Mapping[int, list[int]]
) -> tuple[_Part, list[int]]:  # fmt: skip
    """The sockets after a reading, and the processes that moved data since the one before.

    A connection that is younger than the list of descriptors is held by who listens at its port.
    """
    waiting: dict[int, None] = {}
    owing: dict[int, None] = {}
    doors = {row.local_port: row.inode for *_, row in seen.values() if row.state == "listen"}
    moved = []
    for cookie, (*_, row) in seen.items():
        before = past.get(cookie)
        same = before is not None and before[2] is row
        if isinstance(row, PackedRow) and before is not None and _calm(row, before[2]):
            continue  # most sockets of a large host
        holder = holders.get(row.inode)
        if row.state == "listen":
            continue
        if not isinstance(row, PackedRow) and row.local_port in doors and _owes(row):
            found = opened.get(doors[row.local_port], ()) if holder is None else (holder,)
            owing |= dict.fromkeys(found)
        if holder is None:
            continue
        if row.notsent or row.recv_q:
            waiting[holder] = None
        if before is not None and not same and _amount(row) - _amount(before[2]) >= MOVED:
            moved.append(holder)
    return _Part(seen, tuple(waiting), tuple(owing)), moved


def _owes(row: sockets_tcp.Row) -> bool:
    """Whether the other end sent last, so long ago that an answer is late (struct tcp_info)."""
    sent, received = row.last_sent or 0, row.last_received or 0
    return (
        bool(row.bytes_received) and received >= LATE and (not row.bytes_acked or received < sent)
    )


def _calm(row: PackedRow, before: sockets_tcp.Row | PackedRow) -> bool:
    """Whether the socket moved little, and nothing waits in it."""
    if before is row:
        return row.idle
    return isinstance(before, PackedRow) and row.little(before, MOVED) is not None


def _amount(row: sockets_tcp.Row | PackedRow) -> int:
    """The bytes that a socket has moved."""
    return (row.bytes_acked or 0) + (row.bytes_received or 0)


def times(schedstat: str | None) -> tuple[float | None, float | None, int | None]:
    """Seconds on a CPU, seconds waiting for one, and how often it was put on one.

    None where the kernel does not count them.
    """
    ran, waited, runs = (_sysfs.whole(word) for word in ((schedstat or "").split() + [""] * 3)[:3])
    return (
        None if ran is None else ran / 1e9, None if waited is None else waited / 1e9, runs,
    )  # fmt: skip


def cgroup(text: str, controller: str) -> str | None:
    """The process's cgroup that this controller may limit: `cpu:PATH` (v1), or `PATH` (v2).

    cgroups(7): lines `ID:CONTROLLERS:PATH`; v2 has the identifier 0 and no controllers.
    """
    unified = None
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller in controllers.split(","):
            return f"{controllers}:{path}"
        if number == "0" and not controllers:
            unified = path
    return unified
