"""A CPU: use of its time, the queues that interrupt it, the processes that run on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import repeat
from typing import Any, Final, NamedTuple, TypeAlias

from ...frame.fields import gauge, label, light, maybe
from ...frame.rates import Frame, rates
from ...terms.dataclass import dataclass
from ..kind import Kind
from ..work import NOTHING, Doing

RESTING: Final = 50.0  # percent idle above which a CPU could take over work
FULL: Final = 5.0  # percent idle below which it has no time left
OFTEN: Final = 100.0  # interrupts/s: a line with fewer brings little work


@light
@dataclass(frozen=True, slots=True)
class Core:
    """One online CPU. Shares of time are percent of the interval; None on the first frame."""

    cpu: int = label("CPU number")
    node: int | None = maybe("NUMA node")
    package: int | None = maybe("physical package")
    siblings: tuple[int, ...] = gauge("SMT siblings (without itself)", default=())
    l2: tuple[int, ...] = gauge("L2 CPUs: CPUs that share its L2 cache, with itself", default=())
    l3: tuple[int, ...] = gauge("L3 CPUs: CPUs that share its L3 cache, with itself", default=())
    user: float | None = maybe("user and nice time", "%")
    system: float | None = maybe("system time", "%")
    irq: float | None = maybe("hard interrupt time", "%")
    softirq: float | None = maybe("softirq time", "%")
    steal: float | None = maybe("steal time", "%")
    iowait: float | None = maybe("I/O wait time", "%")
    idle: float | None = maybe("idle time", "%")
    net_rx: float | None = maybe("NET_RX softirqs", "softirqs/s")
    net_tx: float | None = maybe("NET_TX softirqs", "softirqs/s")
    processed: float | None = maybe("packets processed", "packets/s")
    backlog_drops: float | None = maybe("packets dropped, backlog full", "packets/s")
    squeezed: float | None = maybe("polls out of budget or time (time_squeeze)", "polls/s")
    received_rps: float | None = maybe(
        "RPS wake-ups from other CPUs: none while it is busy", "wake-ups/s"
    )
    flow_limited: float | None = maybe("packets dropped by the flow limit", "packets/s")
    nic_irqs: float | None = maybe("NIC queue interrupts", "interrupts/s")
    all_irqs: float | None = maybe("interrupts of all devices", "interrupts/s")
    nics: tuple[str, ...] = gauge("NICs with queue interrupts on it", default=())
    queues: tuple[str, ...] = gauge("queues with interrupts on it, as eth0/rx-0", default=())
    processes: tuple[str, ...] = gauge("busiest processes on it, as iperf3[3391]", default=())
    ksoftirqd: float | None = maybe("load of ksoftirqd", "%")
    frequency: float | None = maybe("current clock", "Hz")
    governor: str | None = maybe("cpufreq governor")
    epp: str | None = maybe("energy performance preference")
    clock_driver: str | None = maybe("cpufreq driver")
    lowest: float | None = maybe("lowest clock that cpufreq may set", "Hz")
    highest: float | None = maybe("highest clock that cpufreq may set", "Hz")
    deep_idle: float | None = maybe("time in C-states with an exit latency above 10 us", "%")
    idle_peers: int | None = maybe("cores of its node that are more than half idle", "cores")
    doing: str | None = maybe("what it does: classes of work by share of its time")
    work: str | None = maybe("class of most of its work")
    work_share: float | None = maybe("share of that class in its busy time", "%")
    relief: str | None = maybe("how to reduce that work")
    line: str | None = maybe(
        "busiest interrupt, where no NIC queue has its own and no time is idle"
    )
    device: str | None = maybe("device of that interrupt")


KIND = Kind(
    Core, "cores", target=lambda core: f"cpu{core.cpu}",
    names={"cpu": "core.cpu", "core": "core.cpu"}, spread=True, example={"cpu": 0},
    tables={"": "cpu"},
)  # fmt: skip


class Clock(NamedTuple):
    """How a CPU chooses its clock: the fields of `Core` of the same meaning."""

    frequency: float | None = None
    governor: str | None = None
    epp: str | None = None
    driver: str | None = None
    lowest: float | None = None
    highest: float | None = None


_NO_CLOCK: Final = Clock()


class Load(NamedTuple):
    """The use of one CPU's time, in percent of the interval; the parts add up to 100."""

    user: float
    system: float
    irq: float
    softirq: float
    steal: float
    iowait: float
    idle: float


class CpuPlace(NamedTuple):
    """The position of a CPU in the topology; it does not change while the CPU is online."""

    cpu: int
    node: int | None = None
    package: int | None = None
    siblings: tuple[int, ...] = ()
    l2: tuple[int, ...] = ()
    l3: tuple[int, ...] = ()
    core: tuple[int, ...] = ()  # the CPUs of its physical core, itself included


@dataclass(slots=True)
class Duty:
    """Other values of the CPUs in one frame, by CPU number."""

    net_irqs: Mapping[int, float] = field(default_factory=dict)
    all_irqs: Mapping[int, float] = field(default_factory=dict)
    nics: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    queues: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    processes: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    ksoftirqd: Mapping[int, float] = field(default_factory=dict)
    clocks: Mapping[int, Clock] = field(default_factory=dict)
    deep: Mapping[int, float] = field(default_factory=dict)
    doing: Mapping[int, Doing] = field(default_factory=dict)
    counted: bool = False  # interrupts have rates in this frame


def loads(frame: Frame) -> dict[int, Load]:
    """The load by CPU, without CPUs that have no previous row or went offline.

    A tick is 10 ms, so the parts are divided by their sum and not by the elapsed time.
    """
    found = {}
    for cpu, user, nice, system, irq, softirq, steal, iowait, idle in zip(
        *rates(frame.tables.get("cpu", ()), "cpu", "user", "nice", "system", "irq", "softirq",
               "steal", "iowait", "idle"),
        strict=True,
    ):  # fmt: skip
        if idle is None or user is None or system is None:
            continue
        times = (user + (nice or 0.0), system, irq or 0.0, softirq or 0.0, steal or 0.0,
                 iowait or 0.0, idle)  # fmt: skip
        whole = sum(times)
        if whole > 0:
            part = 100.0 / whole
            found[cpu] = _load([time * part for time in times])
    return found


def resting(cpus: Iterable[int], load: Mapping[int, Load]) -> bool | None:
    """Whether each of the CPUs was mostly idle; None: none, or the load of one is not known."""
    known = [load.get(cpu) for cpu in cpus]
    if not known or None in known:
        return None
    return all(one is not None and one.idle > RESTING for one in known)


_load: Final = partial(tuple.__new__, Load)

Columns: TypeAlias = Iterator[tuple[object, ...]]

_UNKNOWN: Final = (None,) * 7
_make: Final = partial(tuple.__new__, Core)  # type: ignore[type-var]


def build(
    frame: Frame, spots: Sequence[CpuPlace], load: Mapping[int, Load], duty: Duty
) -> tuple[Core, ...]:
    """One `Core` per online CPU, made from columns: there may be a thousand CPUs."""
    if not spots:
        return ()
    cpus = [spot.cpu for spot in spots]
    soft = rates(frame.tables.get("softirqs", ()), "cpu", "net_rx", "net_tx")
    work = rates(
        frame.tables.get("softnet", ()),
        "cpu", "processed", "dropped", "squeezed", "received_rps", "flow_limited",
    )  # fmt: skip
    zero = 0.0 if duty.counted else None

    def of(values: Mapping[int, object], absent: object = None) -> Iterator[object]:
        return map(values.get, cpus, repeat(absent))

    def several(values: Mapping[int, Iterable[object]], absent: Iterable[object]) -> Columns:
        return zip(*map(values.get, cpus, repeat(absent)), strict=True)

    columns = (
        *list(zip(*spots, strict=True))[:6], *several(load, _UNKNOWN),
        *_placed(soft, cpus), *_placed(work, cpus),
        of(duty.net_irqs, zero), of(duty.all_irqs, zero),
        of(duty.nics, ()), of(duty.queues, ()), of(duty.processes, ()), of(duty.ksoftirqd),
        *several(duty.clocks, _NO_CLOCK), of(duty.deep), _peers(spots, load),
        *several(duty.doing, NOTHING),
        *zip(*(_line(frame, cpu) if cpu in load and load[cpu].idle < FULL
               and cpu not in duty.queues else (None, None) for cpu in cpus), strict=True),
    )  # fmt: skip
    return tuple(map(_make, zip(*columns, strict=True)))


def _line(frame: Frame, cpu: int) -> tuple[str | None, str | None]:
    """The interrupt of a device that a CPU takes most often: its number, and its actions."""
    rates = {
        (entry.now.irq, entry.now.name or None): rate
        for entry in frame.tables.get("interrupts", ())
        if entry.now.irq.isdigit() and entry.per_s is not None
        and (rate := entry.per_s.by_cpu.get(cpu, 0.0)) >= OFTEN
    }  # fmt: skip
    return max(rates, key=rates.__getitem__, default=(None, None))


def of_namespace(cores: tuple[Core, ...], dropped: float | None) -> tuple[Core, ...]:
    """The cores of a network namespace whose interfaces drop that many received packets a second.

    The backlogs and their counters belong to the CPUs and serve all namespaces of the host
    (net/core/net-procfs.c). A packet that a backlog drops counts at its interface as well
    (enqueue_to_backlog in net/core/dev.c), so this namespace lost no more than its interfaces did.
    """
    return tuple(
        replace(core, backlog_drops=min(core.backlog_drops, dropped or 0.0))
        if core.backlog_drops
        else core
        for core in cores
    )


def _placed(columns: Sequence[Sequence[Any]], cpus: Sequence[int]) -> list[Sequence[Any]]:
    """The columns after the first, which has CPU numbers, in the order of `cpus`."""
    known, *others = columns
    if list(known) == cpus:
        return others
    places = {cpu: place for place, cpu in enumerate(known)}
    order = [places.get(cpu, -1) for cpu in cpus]  # -1: the value after the last
    return [[*map([*column, None].__getitem__, order)] for column in others]


def _peers(spots: Sequence[CpuPlace], load: Mapping[int, Load]) -> list[int | None]:
    """The number of other idle CPUs in the node of each CPU; None where no load is known."""
    loads = [load.get(spot.cpu) for spot in spots]
    nodes = [spot.node for spot in spots]
    rest = [one is not None and one.idle > RESTING for one in loads]
    known = {node for node, one in zip(nodes, loads, strict=True) if one is not None}
    resting = Counter(node for node, rests in zip(nodes, rest, strict=True) if rests)
    return [
        resting[node] - rests if node in known else None
        for node, rests in zip(nodes, rest, strict=True)
    ]
