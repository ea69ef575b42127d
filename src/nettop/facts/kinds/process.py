"""A process that uses the network, and the CPUs on which its threads run."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import chain
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

from ...collect.processes import Row as ProcessRow
from ...frame.fields import gauge, label, light, maybe
from ...frame.rates import Entry
from ...terms.dataclass import dataclass
from .. import place
from ..kind import Kind

BUSIEST: Final = 24  # processes without sockets that are listed for their CPU time
SITS: Final = 1.0  # percent of a CPU; a process with more is listed at the core
NAMED: Final = 4  # processes named at a core


@light
@dataclass(frozen=True, slots=True)
class Process:
    """One process; `cpu` is the CPU on which its busiest thread ran last."""

    pid: int = label("process")
    name: str = gauge("command name")
    started: int = gauge("start time in clock ticks after boot: identifies a reused pid", default=0)
    user: float | None = maybe("user time", "%")
    system: float | None = maybe("kernel time", "%")
    cpu: int | None = maybe("CPU it last ran on")
    node: int | None = maybe("NUMA node of its CPU")
    allowed: tuple[int, ...] = gauge("allowed CPUs", default=())
    pinned: bool | None = maybe("pinned to some CPUs")
    nice: int | None = maybe("nice value")
    threads: int | None = maybe("threads", "threads")
    wait: float | None = maybe("time waiting for a CPU", "%")
    rx_per_s: float | None = maybe("TCP bytes received", "bytes/s")
    tx_per_s: float | None = maybe("TCP bytes sent and acknowledged", "bytes/s")
    tcp: int = gauge("established TCP sockets", "sockets", default=0)
    udp: int = gauge("UDP sockets", "sockets", default=0)
    udp_drops: float | None = maybe("datagrams dropped, socket buffer full", "packets/s")
    udp_unread: int | None = maybe("memory of unread datagrams of its fullest UDP socket", "bytes")
    packet_sockets: int = gauge("packet sockets (capture)", "sockets", default=0)
    packet_sockets_unread: int = gauge("packet sockets that it does not read", "sockets", default=0)
    nic: str | None = maybe("interface with most of its traffic")
    irq_cpu: int | None = maybe("its interrupt CPU: handles the interrupts of its traffic")
    distance: str | None = maybe(
        "distance from its interrupt CPU: same core, SMT sibling, shared L2, shared L3, "
        "same node, other node"
    )
    far: bool | None = maybe("remote NUMA node: another node than its interrupt CPU")
    on_irq_cpu: bool | None = maybe("runs on its interrupt CPU")
    nic_node: int | None = maybe("NUMA node of its interface")
    networked: bool = gauge("network traffic (sockets with traffic, or a capture)", default=False)
    busiest: float | None = maybe("CPU time of its busiest thread", "%")


KIND = Kind(
    Process, "processes", owner=attrgetter("name"),
    parents={"nic": attrgetter("nic"), "program": attrgetter("pid")},
    names={"pid": "process.pid", "process": "process.name"}, example={"pid": 3391, "name": "app"},
    tables={"": "processes"},
)  # fmt: skip


Taken: TypeAlias = Mapping[int, Mapping[str, float]]
"""Percent of each CPU that processes, NAME[PID], took of it; the largest first."""


def mean(samples: Sequence[Taken]) -> Taken:
    """The mean of these samples."""
    found: dict[int, Counter[str]] = {}
    for cpu, own in chain.from_iterable(one.items() for one in samples):
        for name, spent in own.items():
            found.setdefault(cpu, Counter())[name] += spent / len(samples)  # type: ignore[assignment]
    return {cpu: dict(own.most_common()) for cpu, own in found.items()}


@dataclass(slots=True)
class Use:
    """The network use of one process, summed over its sockets; rates are bytes/s and packets/s."""

    rx: float | None = None
    tx: float | None = None
    tcp: int = 0
    udp: int = 0
    drops: float | None = None
    unread: int | None = None
    captures: int = 0
    unread_captures: int = 0
    nic: str | None = None  # of its largest flow, else of its capture
    irq_cpu: int | None = None
    most: float = -1.0  # bytes/s of that largest flow

    @property
    def networked(self) -> bool:
        """Whether it moves packets or captures; sockets alone do not count."""
        return bool(self.rx or self.tx or self.captures or self.drops)


class Task(NamedTuple):
    """The CPU time of a process with all its threads, as percent of one CPU."""

    row: ProcessRow
    user: float | None
    system: float | None
    wait: float | None
    cpu: int | None  # of its busiest thread
    busiest: float | None = None  # CPU time of that thread, where threads are read


@dataclass(frozen=True, slots=True)
class Tasks:
    """All processes of a frame, and what they took of each CPU."""

    by_pid: Mapping[int, Task] = field(default_factory=dict)
    taken: Taken = field(default_factory=dict)  # by programs
    served: Taken = field(default_factory=dict)  # by kernel threads
    ksoftirqd: Mapping[int, float] = field(default_factory=dict)
    busiest: Sequence[int] = ()

    @classmethod
    def of(cls, entries: Sequence[Entry[ProcessRow]]) -> Tasks:
        """Tasks from the table `processes`, which also has the threads of busy processes.

        The time of a thread is of the CPU where it ran last; that of a process whose threads were
        not read is of the CPU of the process.
        """
        busiest: dict[int, tuple[float, int | None]] = {}
        apart: Counter[int] = Counter()  # percent that threads took, by process
        both: tuple[dict[int, Counter[str]], ...] = {}, {}
        ksoftirqd: dict[int, float] = {}
        spends = [0.0 if entry.still else _spent(entry.per_s) for entry in entries]
        for entry, spent in zip(entries, spends, strict=True):
            row = entry.now
            if row.thread:
                apart[row.pid] += spent or 0.0  # type: ignore[assignment]
                if spent is not None and spent > busiest.get(row.pid, (-1.0, None))[0]:
                    busiest[row.pid] = spent, row.cpu
        by_pid: dict[int, Task] = {}
        for entry, spent in zip(entries, spends, strict=True):
            row = entry.now
            own = spent - (0.0 if row.thread else apart[row.pid]) if spent else 0.0
            if own > 0 and row.cpu is not None:
                name = by_pid[row.pid].row.name if row.pid in by_pid else row.name  # of a thread
                of = both[row.kernel].setdefault(row.cpu, Counter())
                of[f"{name}[{row.pid}]"] += own  # type: ignore[assignment]
            if row.thread:
                continue
            soft = row.kernel and row.name.startswith("ksoftirqd/")
            if soft and spent is not None and row.cpu is not None:
                ksoftirqd[row.cpu] = spent
            most, cpu = busiest.get(row.pid, (None, row.cpu))
            if spent == 0.0 and row.waited is None:  # true of most processes
                by_pid[row.pid] = Task(row, 0.0, 0.0, None, cpu)
                continue
            rate = entry.per_s
            by_pid[row.pid] = Task(
                row,
                _percent(rate, "user"),
                _percent(rate, "system"),
                _percent(rate, "waited"),
                cpu,
                most,
            )
        load = {pid: spent for pid, task in by_pid.items() if (spent := _load(task)) > 0}
        busy = heapq.nlargest(BUSIEST, load, key=load.__getitem__)
        return cls(by_pid, mean([both[0]]), mean([both[1]]), ksoftirqd, busy)

    def on_cpu(self, taken: Taken) -> dict[int, tuple[str, ...]]:
        """The processes on each CPU, first that which took most of it: `taken` of a longer time."""
        found = {}
        for cpu in self.taken.keys() | self.served.keys():
            here = {**self.served.get(cpu, {}), **self.taken.get(cpu, {})}
            rank = {**here, **taken.get(cpu, {})}
            names = sorted((name for name, spent in here.items() if spent >= SITS),
                           key=rank.__getitem__, reverse=True)  # fmt: skip
            found[cpu] = tuple(names[:NAMED])
        return found


def build(
    tasks: Tasks, uses: Mapping[int, Use], cores: Mapping[int, place.Placed],
    nodes: Mapping[str, int | None],
) -> tuple[Process, ...]:  # fmt: skip
    """The processes that have sockets or captures, and the busiest of the others.

    Sorted by network use, then CPU time. `nodes` is the NUMA node of each interface.
    """
    wanted = dict.fromkeys([*(pid for pid in uses if pid in tasks.by_pid), *tasks.busiest])
    none = Use()
    chosen = [
        _make(pid, tasks.by_pid[pid], uses.get(pid, none), cores, nodes)
        for pid in wanted
        if not tasks.by_pid[pid].row.kernel or pid in uses
    ]
    chosen.sort(key=lambda one: (not one.networked, -(one.user or 0.0) - (one.system or 0.0)))
    return tuple(chosen)


def _make(
    pid: int, task: Task, use: Use, cores: Mapping[int, place.Placed],
    nodes: Mapping[str, int | None],
) -> Process:  # fmt: skip
    row, cpu, irq_cpu = task.row, task.cpu, use.irq_cpu
    allowed = row.allowed or ()
    spot = cores.get(cpu) if cpu is not None else None
    step = place.between(cores, irq_cpu, cpu)
    return Process(
        pid, row.name, row.started, task.user, task.system, cpu,
        spot.node if spot is not None else None, allowed,
        not set(cores) <= set(allowed) if allowed and cores else None,
        row.nice, row.threads, task.wait, use.rx, use.tx, use.tcp, use.udp, use.drops, use.unread,
        use.captures, use.unread_captures, use.nic, irq_cpu, step,
        None if step is None else step == place.STEPS[-1],
        None if irq_cpu is None or cpu is None else irq_cpu == cpu,
        nodes.get(use.nic) if use.nic is not None else None, use.networked, task.busiest,
    )  # fmt: skip


def _load(task: Task) -> float:
    return (task.user or 0.0) + (task.system or 0.0)


def _spent(rate: ProcessRow | None) -> float | None:
    if rate is None or rate.user is None or rate.system is None:
        return None
    return 100.0 * (rate.user + rate.system)


def _percent(rate: ProcessRow | None, name: str) -> float | None:
    value = getattr(rate, name) if rate is not None else None
    return None if value is None else 100.0 * value
