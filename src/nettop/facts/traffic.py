"""Nics and their queues in one moment: what stands still, with rates, interrupts and drops."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..frame.rates import Entry, Frame
from ..terms import formulas
from . import counters
from .counters import Parts
from .kinds import queue
from .kinds.core import Load
from .kinds.nic import Nic
from .kinds.queue import Counted, Queue, Slot
from .lines import Lines, Served, by_cpu
from .place import Place
from .port import Port

_NOTHING: Final = Counted()
_QUIET: Final[Mapping[int, float]] = {}


@dataclass(slots=True)
class Moment:
    """What one frame says of interfaces, by name."""

    nics: tuple[Nic, ...] = ()
    queues: tuple[Queue, ...] = ()
    net_irqs: dict[int, float] = field(default_factory=dict)
    all_irqs: dict[int, float] = field(default_factory=dict)
    by_nic: dict[str, list[Queue]] = field(default_factory=dict)
    counted: bool = False


@dataclass(slots=True)
class Memory:
    """What persists: which CPUs served each interface, and the nics that did not change."""

    served: dict[str, Served] = field(default_factory=dict)
    still: dict[str, tuple[tuple[Any, ...], Nic]] = field(default_factory=dict)

    def forget(self, names: Container[str]) -> None:
        """Forget the interfaces that are not among `names`."""
        for known in (self.served, self.still):
            for name in [name for name in known if name not in names]:
                del known[name]


@dataclass(frozen=True, slots=True)
class Around:
    """What other tables say about interfaces: flows, captures, the SSH session, per-queue rates."""

    flows: Mapping[str, int] = field(default_factory=dict)
    captured: Container[str] = ()
    ssh: Container[str] = ()
    driver: Mapping[str, Entry] = field(default_factory=dict)  # nicstats by interface
    by_queue: Mapping[tuple[str, str], Counted] = field(default_factory=dict)
    # packets lost at receive queues by interface: counted, per second
    queue_drops: Mapping[str, tuple[int, float | None]] = field(default_factory=dict)
    irqbalance: bool | None = None
    flows_known: bool = False
    af_xdp: Container[int] | None = None  # indices of interfaces; None: cannot be told
    rdma: Mapping[str, bool] = field(default_factory=dict)  # whether RDMA moves packets there


def interrupts(frame: Frame, lines: Lines, moment: Moment) -> list[Mapping[int, float] | None]:
    """Rates by CPU of every line of /proc/interrupts, by place; sums them up by CPU."""
    entries = frame.tables.get("interrupts", ())
    rates: list[Mapping[int, float] | None] = [
        _QUIET if entry.still else None if (rate := entry.per_s) is None else rate.by_cpu
        for entry in entries
    ]
    moment.counted = any(rate is not None for rate in rates)
    devices = (
        rate for rate, entry in zip(rates, entries, strict=True) if rate and entry.now.irq.isdigit()
    )
    moment.all_irqs = by_cpu(devices)
    mine = (rates[line.place] for found in lines.by_nic.values() for line in found)
    moment.net_irqs = by_cpu(mine)
    return rates


def build(
    frame: Frame, ports: Mapping[str, Port], lines: Lines, slots: Sequence[Slot], place: Place,
    load: Mapping[int, Load], around: Around, memory: Memory,
) -> Moment:  # fmt: skip
    """All interfaces with their queues."""
    moment = Moment()
    rates = interrupts(frame, lines, moment)
    for name, found in lines.by_nic.items():
        memory.served.setdefault(name, Served()).see(found, [rates[line.place] for line in found])
    links = {e.now.interface: e for e in frame.tables.get("link_stats", ())}
    devs = {} if links else {e.now.name: e for e in frame.tables.get("netdev", ())}
    whole = {
        name: (entry.per_s.rx_packets, entry.per_s.tx_packets)
        for name, entry in (links or devs).items()
        if entry.per_s is not None
    }
    _queues(moment, slots, rates, place, load, around, memory, whole)
    qdiscs = counters.qdiscs(frame.tables.get("qdiscs", ()))
    pauses = {e.now.interface: e for e in frame.tables.get("pause", ())}
    flags = {e.now.interface: e for e in frame.tables.get("links", ())}
    watchdog, watchdog_rates = counters.timeouts(frame.tables.get("queues", ()))
    entries = frame.tables.get("interrupts", ())
    out = []
    for name, port in ports.items():
        mine = lines.by_nic.get(name, ())
        counted = {"link": links.get(name), "dev": devs.get(name), "pause": pauses.get(name),
                   "driver": around.driver.get(name), "flags": flags.get(name)}  # fmt: skip
        qdisc = qdiscs.get(name)
        flows = around.flows.get(name, 0) if around.flows_known else None
        inputs = (port, *counted.values(), qdisc, flows, name in around.captured,
                  name in around.ssh, around.irqbalance, around.rdma.get(name),
                  _bound(port, around), around.queue_drops.get(name))  # fmt: skip
        old = memory.still.get(name)
        if old is not None and not mine and _same(old[0], inputs):
            out.append(old[1])
            continue
        hardware = port.kind == "nic"
        lost, lost_per_s = around.queue_drops.get(name, (None, None))
        per_s = counters.fold(
            Parts(
                **{what: e.per_s for what, e in counted.items() if e is not None},
                qdisc_drops=qdisc.drops_per_s if qdisc is not None else None,
                interrupts=_sum(rates[line.place] for line in mine),
                timeouts=watchdog_rates.get(name),
                queue_drops=lost_per_s,
            ),
            hardware=hardware,
            link_ring=port.link_ring,
        )
        total = counters.fold(
            Parts(
                **{what: e.now for what, e in counted.items() if e is not None},
                qdisc_drops=qdisc.drops if qdisc is not None else None,
                interrupts=counters.total(entries[line.place].now.total for line in mine),
                timeouts=watchdog.get(name),
                queue_drops=lost,
            ),
            hardware=hardware,
            link_ring=port.link_ring,
        )
        nic = Nic(
            **port.fixed,
            **_placed(port, lines, moment, memory, around),
            **_loads(port, per_s),
            flows=flows,
            qdisc=qdisc.kind if qdisc is not None else None,
            leaf_qdisc=qdisc.leaf if qdisc is not None else None,
            carries_ssh=name in around.ssh,
            capture=name in around.captured,
            af_xdp=_bound(port, around),
            rdma_active=around.rdma.get(name),
            link_only=_link_only(port, around),
            ports_down=_ports_down(port, ports),
            per_s=per_s,
            total=total,
        )
        memory.still[name] = inputs, nic
        out.append(nic)
    moment.nics = tuple(out)
    memory.forget(ports)
    return moment


def _link_only(port: Port, around: Around) -> bool | None:
    """Whether only link statistics show its losses; None of what is no device."""
    if port.kind not in ("nic", "wireless"):
        return None
    entry = around.driver.get(port.name)
    lost, _ = around.queue_drops.get(port.name, (None, None))
    return not counters.known_by_kind(entry.now if entry is not None else None, lost)


def _ports_down(port: Port, ports: Mapping[str, Port]) -> int | None:
    """How many ports of a bond are up and have no link; None of any other interface."""
    if port.kind != "bond" or not port.lower:
        return None
    below = [ports[name].fixed for name in port.lower if name in ports]
    return sum(one["up"] is not False and one["carrier"] is False for one in below)


def _bound(port: Port, around: Around) -> bool | None:
    return None if around.af_xdp is None else port.fixed.get("index") in around.af_xdp


def _same(old: tuple[Any, ...], new: tuple[Any, ...]) -> bool:
    """Whether nothing changed: ports and entries are compared by identity, the rest by value."""
    return all(
        a is b or (not isinstance(a, Port | Entry) and a == b)
        for a, b in zip(old, new, strict=True)
    )


def _queues(
    moment: Moment, slots: Sequence[Slot], rates: Sequence[Mapping[int, float] | None],
    place: Place, load: Mapping[int, Load], around: Around, memory: Memory,
    whole: Mapping[str, tuple[float | None, float | None]],
) -> None:  # fmt: skip
    spots = place.by_cpu
    out = []
    for slot in slots:
        line = slot.line
        served = memory.served.get(slot.nic)
        by = rates[line.place] if line is not None else None
        cpu = queue.served_by(slot, by, served.homes if served is not None else {})
        spot = spots.get(cpu) if cpu is not None else None
        busy = load.get(cpu) if cpu is not None else None
        packets = whole.get(slot.nic)
        made = queue.make(
            slot,
            cpu,
            spot.node if spot is not None else None,
            sum(by.values()) if by is not None else None,
            around.by_queue.get((slot.nic, slot.name), _NOTHING),
            packets[slot.direction == "tx"] if packets is not None else None,
            busy.softirq if busy is not None else None,
        )
        out.append(made)
        moment.by_nic.setdefault(slot.nic, []).append(made)
    moment.queues = tuple(out)


def _placed(
    port: Port, lines: Lines, moment: Moment, memory: Memory, around: Around
) -> dict[str, Any]:
    """Where its interrupts go, and how evenly its queues are filled."""
    mine = lines.by_nic.get(port.name, ())
    queues = moment.by_nic.get(port.name, ())
    receive = [q for q in queues if q.direction == "rx"]
    counted = [q.packets_per_s for q in receive if q.packets_per_s is not None]
    active = counted or [q.irq_per_s for q in receive if q.irq_per_s is not None]
    away = {q.irq for q in queues if q.off_node}
    served = memory.served.get(port.name)
    return {
        "irqs": sum(line.number is not None for line in mine),
        "msi": next((line.signalled for line in mine if line.signalled is not None), None),
        "irq_off_node": len(away) if any(q.off_node is not None for q in queues) else None,
        "irq_cpus": served.cpus if served is not None else (),
        "irq_top_cpu": served.top if served is not None else None,
        "irq_top_share": served.share if served is not None else None,
        "irq_moved": served.moved if served is not None else None,
        "queue_skew": queue.skew(counted),
        "queues_active": sum(rate > 0 for rate in active) if active else None,
        "manual_affinity": _by_hand(queues, around.irqbalance),
    }


def _by_hand(queues: Sequence[Queue], irqbalance: bool | None) -> bool | None:
    """Whether someone placed its interrupts: narrower than all CPUs, not as the driver hints.

    irqbalance narrows them too: where it runs, or that is not known, nothing can be told.
    """
    told = [q for q in queues if q.irq is not None and q.allowed]
    if not told or irqbalance is None or irqbalance:
        return None
    widest = max(len(q.allowed) for q in told)
    return any(q.hint != q.allowed and (len(q.allowed) < widest or bool(q.hint)) for q in told)


def _loads(port: Port, rate: Any) -> dict[str, Any]:
    """Mean packets, and how full the wire is.

    For full-sized packets that is the payload against what TCP can carry at this MTU; small packets
    count with what they take on the wire, so that a flood of them fills it too.
    """
    speed = port.speed
    return {
        "mean_rx_bytes": _mean(rate.rx_bytes, rate.rx_packets),
        "mean_tx_bytes": _mean(rate.tx_bytes, rate.tx_packets),
        "rx_load": _load(rate.rx_bytes, rate.rx_packets, speed),
        "tx_load": _load(rate.tx_bytes, rate.tx_packets, speed),
    }


def _mean(size: float | None, count: float | None) -> float | None:
    return size / count if size is not None and count else None


def _load(size: float | None, count: float | None, speed: float | None) -> float | None:
    if size is None or count is None or not speed:
        return None
    return formulas.counted_to_wire(size, count) / speed


def _sum(rates: Any) -> float | None:
    return counters.total(sum(rate.values()) for rate in rates if rate is not None)
