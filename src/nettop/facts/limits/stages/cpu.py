"""CPUs: threads, quotas, interrupt cores, the backlog.

A thread that ran or waited for a core nearly all the time limits. No core need be full, because a
thread may move between cores. Time that the hypervisor or a quota (cpu.stat, nr_throttled) took
counts too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ....collect.threads import Row as ThreadRow
from ....frame.rates import Entry
from ....terms import units
from ... import contended
from .. import Reading
from ..looks import Look
from ..stage import Stage
from ..window import mean, share
from . import _budget as kernel_threads
from ._budget import BUSY, HALF, HIDDEN, WAKE, Carried, carried

STAGES: Final = (
    Stage("thread", "the CPU time of a thread",
          "the thread of the program has no more time on its core", "PROCESS",
          "more threads, or less work per byte", precedence=150, sending=20, receiving=120,
          always=("rx", "tx"), cpu=True, short="thread CPU"),
    Stage("core", "the interrupt core", "the core that serves the interrupts of the NIC", "CORE",
          "spread the interrupts (key 2)", precedence=140, sending=80, receiving=90, always=("rx",),
          cores=True, cpu=True, arrives=True, short="IRQ core"),
    Stage("backlog", "the backlog", "the queue of a core, before the protocols", "BACKLOG",
          "raise net.core.netdev_max_backlog", precedence=90, receiving=100, always=("rx",),
          cores=True, queue=True, arrives=True, lost_here=("cpu_backlog_drops",),
          why="backlog of a CPU full (used by RPS, tunnels and virtual devices)"),
)  # fmt: skip
STOPPED: Final = 0.3  # of the samples: it does not keep up
CORE: Final = 0.95  # of a core in use
KEPT: Final = 0.2  # of the time that a thread waited for its core, or interrupts used it
BEHIND: Final = 0.1  # of the receive buffer unread in a sample: its reader was behind
DELAYED: Final = 0.05  # of the receive buffer unread, in `OFTEN` of the samples: it waits too long
OFTEN: Final = 0.2
USED_UP: Final = 0.25  # of the periods in which a quota is used up: it limits
WORKS: Final = (
    0.02  # of wall time that a thread runs, or wants to: one that is only parked does not
)
NEARLY_ALL: Final = 0.9  # of the packets that all cores take
SMALL: Final = 1024  # bytes of a segment, on the mean: a call costs more than to copy so much
COUNTED: Final = 1.0  # drops a second: fewer are an accident
SAMPLES: Final = 5  # in fewer, that always one thread runs may be chance
ONE: Final = 1.08  # cores that threads in turn use together, at most


# names of the threads of HotSpot that do the work of a collection: vmThread.cpp, workerThread.cpp
COLLECTS: Final = ("VM Thread", "GC Thread#", "G1 Conc#", "ZWorker")


class Thread(NamedTuple):
    """One thread over the window; shares of wall time."""

    name: str
    ran: float
    waited: float
    stopped: float
    throttled: float
    quota: float | None
    group: str | None
    cpu: int | None
    interrupts: float = 0.0  # of its core, where that core has no idle time
    stolen: float = 0.0  # of its core, by the hypervisor
    runs: float | None = None  # times a second that it was put on a CPU; None: not known
    tid: int | None = None

    @property
    def used(self) -> float:
        """The share of time in which it ran, or wanted to run and could not."""
        if self.throttled >= HALF:
            return 1.0
        return max(self.wanted, min(1.0, self.allowed))

    @property
    def given(self) -> float:
        """The share of its core that the hypervisor leaves."""
        return 1.0 - min(self.stolen, HALF)

    @property
    def wanted(self) -> float:
        """The share of the available time of its core in which it ran or waited for it."""
        return min(1.0, (self.ran + self.waited + self.interrupts) / self.given)

    @property
    def allowed(self) -> float:
        """The part of its quota that it used."""
        return self.ran / self.quota if self.quota else 0.0

    @property
    def woken(self) -> float:
        """The part of its CPU time that wakeups took, at the most."""
        if self.runs is None or not self.ran:
            return 1.0
        return min(1.0, self.runs * WAKE / self.ran)

    def carried(self, rate: float) -> Carried:
        """Its capacity and its reach, by its quota or by its core."""
        if self.allowed >= self.wanted or (not self.ran and self.used >= BUSY):
            return carried(rate, self.used, woken=self.woken)
        if not self.ran:  # it only waited, so the cost of a byte is not known
            return None, (rate, max(rate, HIDDEN))
        return carried(rate, self.used, self.ran / self.given,
                       self.ran / (self.ran + self.waited), self.woken)  # fmt: skip


def readings(look: Look) -> Iterator[Reading]:
    """The thread of a flow's process, its interrupt core, and the backlog of that core."""
    pid = look.flow.pid if look.flow is not None else None
    if pid is not None:
        known = threads(look, pid) or whole(look, pid)
        busiest = max(known, key=lambda one: one.used, default=None)
        if busiest is not None:
            busiest, names = _pool(look, pid, known, busiest)
            beside = names, crowd(look, pid, busiest), _writes(look)
            yield _thread(look, busiest, _held_up(look, known, busiest), beside)
        else:
            yield from _core_of_process(look)
    cpu = _taking(look)
    if look.over != "socket" and (not look.sends or look.over == "nic"):
        yield from _core(look, cpu)
        yield from _backlog(look)
    if look.over != "socket":
        yield from kernel_threads.readings(look, cpu)


def threads(look: Look, pid: int) -> list[Thread]:
    """The threads of a process over the window."""
    every = [
        look.window.threads.entries(key)
        for key in look.window.threads.series
        if isinstance(key, tuple) and key[0] == pid
    ]
    return [_shares(look, entries) for entries in every if entries]


def _pool(
    look: Look, pid: int, known: Sequence[Thread], busiest: Thread
) -> tuple[Thread, str]:  # fmt: skip
    """Threads that compute in turn, as one: at any time one of them runs, or wants to, but no two.

    Those of a pool to which a program hands one job at a time (libuv, Go). Else the busiest.
    """
    rows = look.window.samples(pid)
    working = [one for one in known if one.ran >= WORKS and one.tid is not None]
    times = list(zip(*(reversed([entry.now.state == "R" for entry in rows.get(one.tid or 0, ())])
                       for one in working), strict=False))  # fmt: skip
    ran = sum(one.ran for one in working)
    wanted = ran + sum(one.waited for one in working)
    always = len(times) >= SAMPLES and share(map(any, times)) >= BUSY
    locks = any(entry.now.word for one in working for entry in rows.get(one.tid or 0, ()))
    one = len(working) < 2 or busiest.ran >= BUSY or locks  # or a lock lets but one of them run
    if one or not always or wanted < BUSY or ran > ONE:
        return busiest, ""
    working.sort(key=lambda one: -one.ran)
    ran = min(1.0, ran)
    both = working[0]._replace(ran=ran, waited=min(1.0 - ran, wanted - ran))
    return both, f"the threads {several(working)} compute in turn, one at a time"


def several(known: Sequence[Thread]) -> str:
    """`a[7] (ran 33%) and b[8] (ran 20%) and 2 more`."""
    names = " and ".join(f"{one.name} (ran {units.share(one.ran)})" for one in known[:2])
    return names + (f" and {len(known) - 2} more" if len(known) > 2 else "")


def whole(look: Look, pid: int) -> list[Thread]:
    """The process as a whole, if its threads are not known; of one thread this is the same."""
    return [
        Thread(f"{one.name}[{pid}]", min(1.0, ((one.user or 0.0) + (one.system or 0.0)) / 100),
               (one.wait or 0.0) / 100, 0.0, 0.0, None, None, one.cpu,
               _interrupts(look, one.cpu), _stolen(look, one.cpu), tid=pid)
        for one in look.facts.processes
        if one.pid == pid and one.user is not None and one.threads == 1
    ]  # fmt: skip


def _core_of_process(look: Look) -> Iterator[Reading]:
    """The core of a process whose own time is not known yet, if it has no idle time."""
    flow = look.flow
    load = look.window.core(flow.app_cpu) if flow is not None else None
    if flow is None or load is None:
        return
    used = 1.0 - (load["idle"] + load["iowait"]) / 100
    if used >= CORE:
        why = f"core {flow.app_cpu}, where it runs, was {units.share(used)} busy"
        yield Reading("thread", "here", f"{flow.process}[{flow.pid}]", "inferred", why, used, None,
                      used)  # fmt: skip


def _shares(look: Look, entries: list[Entry[ThreadRow]]) -> Thread:
    row = entries[-1].now
    throttled, quota, group = _quota(look, row.cgroup)
    stopped = share(entry.now.state in ("T", "t") for entry in entries)
    ran = min(1.0, mean(entry.rate("ran") for entry in entries) or 0.0)
    waited = min(1.0, mean(entry.rate("waited") for entry in entries) or 0.0)
    name = f"{row.name}[{row.tid}]"
    interrupts, stolen = _interrupts(look, row.cpu), _stolen(look, row.cpu)
    runs = mean(entry.rate("runs") for entry in entries)
    return Thread(name, ran, waited, stopped, throttled, quota, group, row.cpu, interrupts, stolen,
                  runs, row.tid)  # fmt: skip


def _interrupts(look: Look, cpu: int | None) -> float:
    """The share of interrupts of a core without idle time: a core is one budget.

    They interrupt a thread that neither runs nor waits meanwhile. Without IRQ time accounting the
    kernel counts them as the thread's; the sum stays below one.
    """
    load = look.window.core(cpu)
    if load is None or load["idle"] + load["iowait"] > 100 * (1 - CORE):
        return 0.0
    return (load["softirq"] + load["irq"]) / 100


def _stolen(look: Look, cpu: int | None) -> float:
    """The share of wall time in which the hypervisor ran something else on this core.

    A thread neither runs nor waits meanwhile: it is judged by the time that was given.
    """
    load = look.window.core(cpu)
    return 0.0 if load is None else load["steal"] / 100


def _quota(look: Look, group: str | None) -> tuple[float, float | None, str | None]:
    """The share of periods in which a cgroup or one above it was throttled, with its quota.

    Of several cgroups the one throttled most; if none was throttled, the one with the smallest
    quota.
    """
    worst: tuple[float, float | None, str | None] = 0.0, None, None
    for name in look.window.groups.series:
        if group is None or not _below(group, str(name)):
            continue
        entries = look.window.groups.entries(name)
        periods = mean(entry.rate("periods") for entry in entries)
        throttled = mean(entry.rate("throttled") for entry in entries)
        quota = entries[-1].now.quota if entries else None
        if quota is None:
            continue
        part = throttled / periods if periods and throttled is not None else 0.0
        if worst[1] is None or (part, -quota) > (worst[0], -worst[1]):
            worst = part, quota, str(name)
    return worst


def _below(group: str, name: str) -> bool:
    return group == name or group.startswith(f"{name}/")


def _held_up(look: Look, known: Sequence[Thread], busiest: Thread) -> str:
    """The working thread that waits most for another one, or for its lock; empty: none does.

    One that hardly runs has no work, and waits for some.
    """
    rows = look.window.samples(look.flow.pid) if look.flow is not None and look.flow.pid else {}
    waits = [
        (share(e.now.kind == "lock" and not e.now.object for e in entries), one.name)
        for one in known
        if one is not busiest and one.ran >= WORKS and (entries := rows.get(one.tid or 0))
    ]
    part, name = max(waits, default=(0.0, ""))
    if part < HALF:
        return ""
    return f"{name} waits {units.share(part)} of the time for another thread (futex)"


def crowd(look: Look, pid: int, one: Thread) -> str:
    """What else runs on the CPUs for which a thread waits; empty: it gets what it wants."""
    if one.waited < KEPT or one.throttled >= HALF:
        return ""
    return contended.words(look.facts, pid)


def _writes(look: Look) -> str:
    """How small the writes of a sender are; empty: they fill segments, or nearly so.

    Writes of one segment and more make segments that are at least half full on the mean.
    """
    sent, segments, full = look.rated("bytes_acked"), look.rated("data_segs_out"), look.now("mss")
    if not look.sends or not sent or not segments or not full:
        return ""
    each = sent / segments
    if each > min(full / 2, SMALL):
        return ""
    return f"its writes are small: {units.size(each)} in a segment that has room for {full}"


def _thread(look: Look, one: Thread, held_up: str = "", beside: Sequence[str] = ()) -> Reading:
    parts = [f"ran {units.share(one.ran)} of the time"]
    if one.throttled >= HALF and one.quota is not None:
        group = (one.group or "").rpartition(":")[2]
        share_of = units.share(one.throttled)
        parts = [f"cgroup {group} allows {one.quota:.2g} CPUs: throttled in {share_of} of periods"]
    elif one.throttled >= 0.05:
        parts.append(f"its cgroup was throttled in {units.share(one.throttled)} of periods")
    if one.stopped >= 0.1:
        parts.append(f"was stopped by a signal in {units.share(one.stopped)} of the samples")
    elif one.waited >= 0.05 and one.throttled < HALF:
        if one.waited > one.ran and len(parts) == 1:  # the larger share comes first
            parts = [f"waited for a core {units.share(one.waited)} of the time"]
            parts.append(f"ran {units.share(one.ran)}")
        else:
            parts.append(f"waited for a core {units.share(one.waited)}")
    if one.interrupts >= 0.05:
        parts.append(f"interrupts took {units.share(one.interrupts)} of core {one.cpu}")
    if one.stolen >= 0.05:
        parts.append(f"the hypervisor took {units.share(one.stolen)} of core {one.cpu}")
    parts += filter(None, beside)
    if one.name.startswith(COLLECTS):
        parts.append("it collects the garbage of Java, or stops its threads (-Xlog:gc,safepoint)")
    if held_up:
        parts.append(held_up)
    used = one.used
    # a quota that is seldom used up has room, though much of it is used
    full = used >= BUSY and (one.throttled >= USED_UP or one.allowed <= one.wanted)
    # a thread that waits for a core half of the time wants more than it gets, however long it
    # sleeps
    held = used if full or one.waited >= HALF else used / 2
    capacity, reach = one.carried(look.rate)
    if held >= HALF and _keeps_up(look, one):  # its CPU time is not only spent on data
        held, capacity, reach = 0.0, None, (look.rate, look.rate / HALF)
    return Reading(
        "thread", "here", one.name, "measured", "; ".join(parts), used, capacity, held, reach,
        one.tid, "throttled" if one.throttled >= USED_UP else "locked" if held_up else "",
    )  # fmt: skip


def _keeps_up(look: Look, one: Thread) -> bool:
    """Whether a thread that reads leaves no data unread although it is busy.

    It is woken for little data each time, or polls; a thread that could read no more would let its
    socket fill. A thread that a quota or a signal delays does not keep up, nor one that fills its
    core together with the interrupts there. A thread that waits for its core, which others use,
    keeps up if data is unread in few samples; beside interrupts, in none.
    """
    if look.over != "flow" or look.sends or not look.tcp:
        return False
    if one.throttled >= USED_UP or one.stopped >= STOPPED:
        return False
    beside = one.interrupts >= KEPT
    if beside and (one.ran + one.interrupts) / one.given >= BUSY:
        return False
    unread = [
        (e.now.rmem_alloc or e.now.recv_q) / e.now.rcvbuf if e.now.rcvbuf else 1.0 for e in look.tcp
    ]
    if one.waited >= KEPT and not beside:
        return share(part >= DELAYED for part in unread) < OFTEN
    return max(unread) < (DELAYED if beside else BEHIND)


def _taking(look: Look) -> int | None:
    """The core that takes the packets: that of the interrupt, or to which it hands them (RPS).

    Of a device whose interrupt is not known (USB), it is the core that takes nearly all packets of
    the host.
    """
    nic = look.nic
    cpu = look.flow.irq_cpu if look.flow is not None else nic.irq_top_cpu if nic else None
    if nic is None or (not nic.rps and (cpu is not None or nic.kind != "nic")):
        return cpu
    taken = {core.cpu: core.processed or 0.0 for core in look.facts.cores}
    given = {cpu for queue in (look.facts.queues if nic.rps else ()) if queue.nic == nic.name
             for cpu in (queue.rps_cpus if queue.direction == "rx" else ())}  # fmt: skip
    most = max(given & taken.keys() or taken, key=taken.__getitem__, default=None)
    if most is None or (not given and taken[most] <= NEARLY_ALL * sum(taken.values())):
        return cpu
    return most


def _core(look: Look, cpu: int | None) -> Iterator[Reading]:
    load = look.window.core(cpu)
    if load is None:
        return
    used = 1.0 - (load["idle"] + load["iowait"]) / 100
    kernel = (load["softirq"] + load["irq"]) / 100
    why = f"core {cpu} was {units.share(used)} busy, {units.share(kernel)} with interrupts"
    why += kernel_threads.softirqs(look, cpu)
    full = used >= CORE and kernel >= HALF
    room = kernel / (kernel + load["idle"] / 100) if kernel else 0.0  # programs keep their share
    # interrupts that take little of a core that programs use run before these
    capacity, reach = carried(look.rate, room if kernel >= HALF / 2 else min(kernel, room))
    yield Reading("core", "here", f"core {cpu}, which takes the interrupts", "measured", why, used,
                  capacity, used if full else 0.0, reach, cpu)  # fmt: skip


def _backlog(look: Look) -> Iterator[Reading]:
    lost = look.facts.host.cpu_backlog_drops or 0.0
    if lost >= COUNTED and (look.over != "nic" or look.rate > 0):
        why = "the backlog full (net.core.netdev_max_backlog)"
        yield Reading(
            "backlog", "here", "backlog of the CPUs", "reported",
            f"mean {units.per_second(lost, 'packets')} dropped, {why}", 1.0, None, 0.9, cause=why,
        )  # fmt: skip
