"""A CPU: use of its time, the queues that interrupt it, the processes that run on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, NamedTuple

from ...frame.fields import gauge, label, light
from ...frame.rates import Frame
from ..kind import Kind

RESTING: Final = 50.0  # percent idle above which a CPU could take over work


@light
@dataclass(frozen=True, slots=True)
class Core:
    """One online CPU. Shares of time are percent of the interval; None on the first frame."""

    cpu: int = label("CPU number")
    node: int | None = gauge("NUMA node", default=None)
    package: int | None = gauge("physical package", default=None)
    siblings: tuple[int, ...] = gauge("SMT siblings (without itself)", default=())
    l2: tuple[int, ...] = gauge("L2 CPUs: CPUs that share its L2 cache, with itself", default=())
    l3: tuple[int, ...] = gauge("L3 CPUs: CPUs that share its L3 cache, with itself", default=())
    user: float | None = gauge("user and nice time", "%", default=None)
    system: float | None = gauge("system time", "%", default=None)
    irq: float | None = gauge("hard interrupt time", "%", default=None)
    softirq: float | None = gauge("softirq time", "%", default=None)
    steal: float | None = gauge("steal time", "%", default=None)
    iowait: float | None = gauge("I/O wait time", "%", default=None)
    idle: float | None = gauge("idle time", "%", default=None)
    net_rx: float | None = gauge("NET_RX softirqs", "softirqs/s", default=None)
    net_tx: float | None = gauge("NET_TX softirqs", "softirqs/s", default=None)
    processed: float | None = gauge("packets processed", "packets/s", default=None)
    backlog_drops: float | None = gauge("packets dropped, backlog full", "packets/s", default=None)
    squeezed: float | None = gauge(
        "polls out of budget or time (time_squeeze)", "polls/s", default=None
    )
    received_rps: float | None = gauge(
        "RPS wake-ups from other CPUs: none while it is busy", "wake-ups/s", default=None
    )
    flow_limited: float | None = gauge(
        "packets dropped by the flow limit", "packets/s", default=None
    )
    nic_irqs: float | None = gauge("NIC queue interrupts", "interrupts/s", default=None)
    all_irqs: float | None = gauge("interrupts of all devices", "interrupts/s", default=None)
    nics: tuple[str, ...] = gauge("NICs with queue interrupts on it", default=())
    queues: tuple[str, ...] = gauge("queues with interrupts on it, as eth0/rx-0", default=())
    processes: tuple[str, ...] = gauge("busiest processes on it, as iperf3[3391]", default=())
    ksoftirqd: float | None = gauge("load of ksoftirqd", "%", default=None)
    frequency: float | None = gauge("current clock", "Hz", default=None)
    governor: str | None = gauge("cpufreq governor", default=None)
    epp: str | None = gauge("energy performance preference", default=None)
    clock_driver: str | None = gauge("cpufreq driver", default=None)
    deep_idle: float | None = gauge(
        "time in C-states with an exit latency above 10 us", "%", default=None
    )
    idle_peers: int | None = gauge(
        "cores of its node that are more than half idle", "cores", default=None
    )


KIND = Kind(
    name="core", type=Core, plural="cores", key=attrgetter("cpu"),
    target=lambda core: f"cpu{core.cpu}", names={"cpu": "core.cpu", "core": "core.cpu"},
    spread=True, example={"cpu": 0}, tables={"": "cpu"},
)  # fmt: skip


class Clock(NamedTuple):
    """How a CPU chooses its clock: the fields of `Core` of the same meaning."""

    frequency: float | None = None
    governor: str | None = None
    epp: str | None = None
    driver: str | None = None


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
    counted: bool = False  # interrupts have rates in this frame


def loads(frame: Frame) -> dict[int, Load]:
    """The load by CPU, without CPUs that have no previous row or went offline.

    A tick is 10 ms, so the parts are divided by their sum and not by the elapsed time.
    """
    found = {}
    for entry in frame.tables.get("cpu", ()):
        rate = entry.per_s
        if rate is None or rate.idle is None or rate.user is None or rate.system is None:
            continue
        user = rate.user + (rate.nice or 0.0)
        irq, softirq = rate.irq or 0.0, rate.softirq or 0.0
        steal, iowait = rate.steal or 0.0, rate.iowait or 0.0
        whole = user + rate.system + irq + softirq + steal + iowait + rate.idle
        if whole > 0:
            part = 100.0 / whole
            found[rate.cpu] = Load(
                user * part, rate.system * part, irq * part, softirq * part,
                steal * part, iowait * part, rate.idle * part,
            )  # fmt: skip
    return found


_UNKNOWN: Final = (None,) * 7
_NO_WORK: Final = (None,) * 5


def build(
    frame: Frame, spots: Sequence[CpuPlace], load: Mapping[int, Load], duty: Duty
) -> tuple[Core, ...]:
    """One `Core` per online CPU."""
    soft = {rate.cpu: rate for e in frame.tables.get("softirqs", ()) if (rate := e.per_s)}
    work = {rate.cpu: rate for e in frame.tables.get("softnet", ()) if (rate := e.per_s)}
    resting = _resting(spots, load)
    zero = 0.0 if duty.counted else None
    out = []
    for spot in spots:
        cpu = spot.cpu
        user, system, irq, softirq, steal, iowait, idle = load.get(cpu, _UNKNOWN)
        soft_row, work_row = soft.get(cpu), work.get(cpu)
        net_rx, net_tx = (soft_row.net_rx, soft_row.net_tx) if soft_row else (None, None)
        processed, dropped, squeezed, rps, limited = (
            (
                work_row.processed, work_row.dropped, work_row.squeezed,
                work_row.received_rps, work_row.flow_limited,
            )
            if work_row
            else _NO_WORK
        )  # fmt: skip
        peers = resting.get(spot.node)
        if peers is not None and idle is not None and idle > RESTING:
            peers -= 1
        out.append(
            Core(
                cpu, spot.node, spot.package, spot.siblings, spot.l2, spot.l3,
                user, system, irq, softirq, steal, iowait, idle,
                net_rx, net_tx, processed, dropped, squeezed, rps, limited,
                duty.net_irqs.get(cpu, zero), duty.all_irqs.get(cpu, zero),
                duty.nics.get(cpu, ()), duty.queues.get(cpu, ()), duty.processes.get(cpu, ()),
                duty.ksoftirqd.get(cpu), *duty.clocks.get(cpu, _NO_CLOCK), duty.deep.get(cpu),
                peers,
            )
        )  # fmt: skip
    return tuple(out)


def _resting(spots: Sequence[CpuPlace], load: Mapping[int, Load]) -> dict[int | None, int]:
    """The number of idle CPUs by NUMA node, without nodes of which no load is known."""
    counts: dict[int | None, int] = {}
    for spot in spots:
        one = load.get(spot.cpu)
        if one is not None:
            counts[spot.node] = counts.get(spot.node, 0) + (one.idle > RESTING)
    return counts
