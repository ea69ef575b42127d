"""NICs and their queues in one moment: settings with rates, interrupts and drops."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, TypeVar

from ..collect.fec import Row as FecRow
from ..collect.links import Row as LinkRow
from ..collect.pause import Row as PauseRow
from ..frame.fields import altered
from ..frame.rates import Entry, Frame, Tables
from ..terms import formulas
from ..terms.dataclass import DataclassInstance, dataclass
from . import counters
from .changed import Changed, Links, NicInputs, Refreshed
from .counters import Parts
from .flow_words import total as summed
from .kinds import queue
from .kinds.core import Load, resting
from .kinds.nic import Counters, Nic
from .kinds.queue import CountedRates, Queue, Slot
from .lines import Lines, Served, by_cpu
from .memo import Memo
from .place import OnlineCpus
from .port import Port

_Row = TypeVar("_Row", bound="DataclassInstance")
_NOTHING: Final = CountedRates()
_QUIET: Final[Mapping[int, float]] = {}


@dataclass(slots=True)
class Interfaces:
    """The interfaces of one frame; rates are interrupts per second by CPU."""

    nics: tuple[Nic, ...] = ()
    queues: tuple[Queue, ...] = ()
    net_irqs: dict[int, float] = field(default_factory=dict)
    all_irqs: dict[int, float] = field(default_factory=dict)
    by_nic: dict[str, list[Queue]] = field(default_factory=dict)
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """The queues of one interface; `apart`: no interrupt, so that no CPU serves them."""

    slots: tuple[Slot, ...]
    apart: bool


@dataclass(frozen=True, slots=True)
class Grouped:
    """The queues made for a group, with their inputs; `apart`: nothing else changes them."""

    group: Group
    apart: bool
    made: list[tuple[tuple[object, ...], Queue]]
    queues: list[Queue]


@dataclass(slots=True)
class Memory:
    """Kept between frames: the CPUs of each interface, and unchanged NICs with their inputs."""

    served: dict[str, Served] = field(default_factory=dict)
    still: dict[str, tuple[tuple[object, ...], Nic]] = field(default_factory=dict)
    queues: dict[str, Grouped] = field(default_factory=dict)
    changed: Changed = field(default_factory=Changed)
    refreshed: Refreshed = field(default_factory=Refreshed)
    memo: Memo = field(default_factory=Memo)

    def forget(self, names: Container[str]) -> None:
        """Forget the interfaces that are not among `names`."""
        for known in (self.served, self.still):
            for name in [name for name in known if name not in names]:
                del known[name]


def interrupts(frame: Frame, lines: Lines, moment: Interfaces) -> list[Mapping[int, float] | None]:
    """Rates by CPU of every line of /proc/interrupts, in their order; sets the sums of `moment`."""
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
    frame: Frame, ports: Mapping[str, Port], lines: Lines, slots: Sequence[Slot], place: OnlineCpus,
    load: Mapping[int, Load], around: NicInputs, memory: Memory,
) -> Interfaces:  # fmt: skip
    """All interfaces with their queues."""
    moment = Interfaces()
    tables, memo = frame.tables, memory.memo
    rates = interrupts(frame, lines, moment)
    for name, found in lines.by_nic.items():
        memory.served.setdefault(name, Served()).see(found, [rates[line.place] for line in found])
    links: Links = _by_name(tables, "link_stats", memo)
    devs: Links = {} if links else _by_name(tables, "netdev", memo)
    late = memory.refreshed.rated(
        frame, links or devs, ports,
        lambda name: _sum(rates[line.place] for line in lines.by_nic.get(name, ())),
    )  # fmt: skip
    links, devs = (late, devs) if links else (links, late)
    _queues(moment, slots, rates, place, load, around, memory, links or devs)
    qdiscs: dict[str, counters.RootQdisc] = memo.get(
        "qdiscs", (tables.get("qdiscs"), tables.get("classes")),
        lambda: counters.qdiscs(tables.get("qdiscs", ()), tables.get("classes", ())), rates=True,
    )  # fmt: skip
    pauses: dict[str, Entry[PauseRow]] = _by_name(tables, "pause", memo)
    fecs: dict[str, Entry[FecRow]] = _by_name(tables, "fec", memo)
    flags: dict[str, Entry[LinkRow]] = _by_name(tables, "links", memo)
    watchdog, watchdog_rates = memo.get(
        "timeouts", (tables.get("queues"),), lambda: counters.timeouts(tables.get("queues", ())),
        rates=True,
    )  # fmt: skip
    entries = tables.get("interrupts", ())
    changed = memory.changed.names(frame, ports, around)
    out = []
    for name, port in ports.items():
        mine = lines.by_nic.get(name, ())
        held = memory.refreshed.held(name)
        if changed is not None and name not in changed and not mine and not held:
            same = memory.still.get(name)
            if same is not None:
                out.append(same[1])
                continue
        link, dev, driver = links.get(name), devs.get(name), around.driver.get(name)
        pause, flag, fec = pauses.get(name), flags.get(name), fecs.get(name)
        qdisc = qdiscs.get(name)
        flows = around.flows.get(name, 0) if around.flows_known else None
        inputs = (link, dev, port, driver, pause, flag, qdisc, flows, name in around.captured,
                  name in around.ssh, around.irqbalance, around.rdma.get(name),
                  _bound(port, around), around.queue_drops.get(name), fec,
                  moment.by_nic.get(name), memory.served.get(name),
                  _ports_down(port, ports))  # fmt: skip
        old = memory.still.get(name)
        if old is not None and not mine and old[0] == inputs:  # true of most interfaces
            out.append(old[1])
            continue
        lost, lost_per_s = around.queue_drops.get(name, (None, None))
        fifo = counters.fifo(port.nic, port.ring_drops_unless, _rate(driver))
        rows = link, dev, driver, pause, flag, fec
        per_s = _carried(port.nic, _combined(
            port, _rate, rows, fifo, qdisc.drops_per_s if qdisc is not None else None,
            _sum(rates[line.place] for line in mine), watchdog_rates.get(name), lost_per_s,
        ))  # fmt: skip
        total = _combined(
            port, _now, rows, fifo, qdisc.drops if qdisc is not None else None,
            summed(entries[line.place].now.total for line in mine), watchdog.get(name),
            lost,
        )  # fmt: skip
        if old is not None and not mine and old[0][2:] == inputs[2:]:  # only packets moved
            nic = altered(old[1], **_loads(port, per_s), per_s=per_s, total=total)
            memory.still[name] = inputs, nic
            out.append(nic)
            continue
        busy = {} if counters.passed_by(per_s) else load
        nic = altered(
            port.nic,
            **_placed(port, lines, moment, memory, around, busy),
            **_loads(port, per_s),
            flows=flows,
            qdisc=qdisc.kind if qdisc is not None else None,
            leaf_qdisc=qdisc.leaf if qdisc is not None else None,
            qdisc_backlog=qdisc.backlog if qdisc is not None else None,
            filter_drops=qdisc.filtered if qdisc is not None else None,
            carries_ssh=name in around.ssh,
            capture=name in around.captured,
            af_xdp=_bound(port, around),
            rdma_active=around.rdma.get(name),
            link_only=_link_only(port, around),
            connections_left=driver.now.connections_left if driver is not None else None,
            ports_down=_ports_down(port, ports),
            per_s=per_s,
            total=total,
        )
        memory.still[name] = inputs, nic
        out.append(nic)
    moment.nics = tuple(out)
    memory.forget(ports)
    return moment


def _link_only(port: Port, around: NicInputs) -> bool | None:
    """Whether only link statistics count its losses; None if it is not a device."""
    if port.kind not in ("nic", "wireless"):
        return None
    entry = around.driver.get(port.name)
    lost, _ = around.queue_drops.get(port.name, (None, None))
    return not counters.known_by_kind(entry.now if entry is not None else None, lost)


def _ports_down(port: Port, ports: Mapping[str, Port]) -> int | None:
    """The number of ports of a bond that are up and have no link; None for any other interface."""
    if port.kind != "bond" or not port.lower:
        return None
    below = [ports[name].nic for name in port.lower if name in ports]
    return sum(one.up is not False and one.carrier is False for one in below)


def _combined(
    port: Port, of: Callable[[Entry[Any] | None], Any], entries: Iterable[Entry[Any] | None],
    fifo: str, qdisc_drops: float | None, interrupts: float | None, timeouts: float | None,
    queue_drops: float | None,
) -> Counters:  # fmt: skip
    """The counters of an interface: `of` takes the present rows or their rates from the entries."""
    link, dev, driver, pause, flag, fec = map(of, entries)
    return counters.combine(
        Parts(link, dev, driver, fifo, pause, flag, qdisc_drops, interrupts, timeouts, queue_drops,
              fec),
        hardware=port.kind == "nic", link_ring=port.link_ring,
    )  # fmt: skip


def _now(entry: Entry[_Row] | None) -> _Row | None:
    return entry.now if entry is not None else None


def _rate(entry: Entry[_Row] | None) -> _Row | None:
    return entry.per_s if entry is not None else None


def _bound(port: Port, around: NicInputs) -> bool | None:
    return None if around.af_xdp is None else port.nic.index in around.af_xdp


def _queues(
    moment: Interfaces, slots: Sequence[Slot], rates: Sequence[Mapping[int, float] | None],
    place: OnlineCpus, load: Mapping[int, Load], around: NicInputs, memory: Memory,
    links: Links,
) -> None:  # fmt: skip
    """The queues; those that no CPU serves and nobody counts stay those of the last frame."""
    spots = place.by_cpu
    out: list[Queue] = []
    before, memory.queues = memory.queues, {}
    counted = {nic for nic, _ in around.by_queue}
    groups = memory.memo.get("groups", (slots, place), lambda: _groups(slots))
    for nic, group in groups.items():
        served, old = memory.served.get(nic), before.get(nic)
        apart = group.apart and served is None and nic not in counted
        if apart and old is not None and old.group is group and old.apart:
            memory.queues[nic] = old
            moment.by_nic[nic] = old.queues
            out += old.queues
            continue
        link = links.get(nic)
        rate = link.per_s if link is not None else None
        made = []
        for at, slot in enumerate(group.slots):
            line = slot.line
            by = rates[line.place] if line is not None else None
            cpu = queue.served_by(slot, by, served.homes if served is not None else {})
            spot = spots.get(cpu) if cpu is not None else None
            busy = load.get(cpu) if cpu is not None else None
            packets = None
            if rate is not None:
                packets = rate.tx_packets if slot.direction == "tx" else rate.rx_packets
            inputs = (
                slot,
                cpu,
                spot.node if spot is not None else None,
                sum(by.values()) if by is not None else None,
                around.by_queue.get((nic, slot.name), _NOTHING),
                packets,
                busy.softirq if busy is not None else None,
            )
            past = old.made[at] if old is not None and at < len(old.made) else None
            made.append(past if past is not None and past[0] == inputs
                        else (inputs, queue.make(*inputs)))  # fmt: skip
        queues = [one for _, one in made]
        memory.queues[nic] = Grouped(group, apart, made, queues)
        moment.by_nic[nic] = queues
        out += queues
    moment.queues = tuple(out)


def _groups(slots: Sequence[Slot]) -> dict[str, Group]:
    """The slots of each interface, in order."""
    found: dict[str, list[Slot]] = {}
    for slot in slots:
        found.setdefault(slot.nic, []).append(slot)
    return {
        nic: Group(
            tuple(own),
            all(one.line is None and len(one.effective) != 1 and len(one.allowed) != 1
                for one in own),
        )
        for nic, own in found.items()
    }  # fmt: skip


def _by_name(tables: Tables, table: str, memo: Memo) -> dict[str, Any]:
    """The entries of a table by interface."""
    label = "name" if table == "netdev" else "interface"
    entries = tables.get(table)
    return memo.get(
        f"by name {table}", (entries,),
        lambda: {getattr(entry.now, label): entry for entry in entries or ()}, rates=True,
    )  # fmt: skip


def _placed(
    port: Port,
    lines: Lines,
    moment: Interfaces,
    memory: Memory,
    around: NicInputs,
    load: Mapping[int, Load],
) -> dict[str, object]:
    """The fields of a Nic about its interrupts and the balance of its queues.

    With threaded NAPI other CPUs than those of the interrupts empty the rings.
    """
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
        "cpus_rest": None if served is None or port.nic.threaded else resting(served.cpus, load),
        "queue_skew": queue.skew(counted),
        "queues_active": sum(rate > 0 for rate in active) if active else None,
        "manual_affinity": _by_hand(queues, around.irqbalance),
    }


def _by_hand(queues: Sequence[Queue], irqbalance: bool | None) -> bool | None:
    """Whether a user set its affinities: fewer than all CPUs, and not the driver's hint.

    None if irqbalance, which sets affinities too, runs or may run.
    """
    known = [q for q in queues if q.irq is not None and q.allowed]
    if not known or irqbalance is None or irqbalance:
        return None
    widest = max(len(q.allowed) for q in known)
    return any(q.hint != q.allowed and (len(q.allowed) < widest or bool(q.hint)) for q in known)


def _carried(nic: Nic, rate: Counters) -> Counters:
    """The rates, without those of a direction that are beyond the link."""
    wrong: dict[str, object] = {}
    if counters.beyond(nic, rate.rx_bytes, rate.rx_packets):
        wrong |= {"rx_bytes": None, "rx_packets": None}
    if counters.beyond(nic, rate.tx_bytes, rate.tx_packets):
        wrong |= {"tx_bytes": None, "tx_packets": None}
    return altered(rate, **wrong) if wrong else rate


def _loads(port: Port, rate: Counters) -> dict[str, float | None]:
    """Packet sizes, and the load of the wire: with headers, and with what passes the kernel by."""
    speed = port.speed
    return {
        "mean_rx_bytes": _mean(rate.rx_bytes, rate.rx_packets),
        "mean_tx_bytes": _mean(rate.tx_bytes, rate.tx_packets),
        "rx_load": _load(rate.rx_bytes, rate.rx_packets, rate.port_rx_bytes, speed),
        "tx_load": _load(rate.tx_bytes, rate.tx_packets, rate.port_tx_bytes, speed),
    }


def _mean(size: float | None, count: float | None) -> float | None:
    return size / count if size is not None and count else None


def _load(
    size: float | None, count: float | None, port: float | None, speed: float | None
) -> float | None:
    if size is None or count is None or not speed:
        return None
    return max(formulas.counted_to_wire(size, count), 8 * (port or 0.0)) / speed


def _sum(rates: Iterable[Mapping[int, float] | None]) -> float | None:
    return summed(sum(rate.values()) for rate in rates if rate is not None)
