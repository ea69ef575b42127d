"""A receive or transmit queue of a NIC, its interrupt, and the CPU that serves it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from ...collect.irqs import Row as IrqRow
from ...collect.queues import Row as QueueRow
from ...frame.fields import gauge, label, light, maybe
from ...terms.dataclass import dataclass
from ..flow_words import part
from ..kind import Kind
from ..lines import IrqLine, Lines


@light
@dataclass(frozen=True, slots=True)
class Queue:
    """One queue, named `rx-0` or `tx-0` (a combined pair is two queues that share an IRQ)."""

    nic: str = label("interface")
    name: str = label("rx-N or tx-N")
    direction: str = gauge("rx or tx")
    number: int = gauge("queue number")
    irq: int | None = maybe("interrupt number")
    irq_name: str | None = maybe("interrupt name as in /proc/interrupts")
    cpu: int | None = maybe("interrupt CPU (effective affinity, else last seen)")
    allowed: tuple[int, ...] = gauge("allowed CPUs of its interrupt", default=())
    effective: tuple[int, ...] = gauge("effective CPUs of its interrupt", default=())
    hint: tuple[int, ...] = gauge("affinity hint of the driver", default=())
    node: int | None = maybe("NUMA node of its CPU")
    off_node: bool | None = maybe("interrupt on a remote NUMA node")
    irq_per_s: float | None = maybe("interrupts", "interrupts/s")
    packets_per_s: float | None = maybe("packets", "packets/s")
    bytes_per_s: float | None = maybe("bytes", "bytes/s")
    drops_per_s: float | None = maybe("packets dropped, ring of this queue", "packets/s")
    share: float | None = maybe("share of the NIC's packets", "ratio")
    rps_cpus: tuple[int, ...] = gauge("RPS or XPS CPUs", default=())
    rps_flow_cnt: int | None = maybe("RFS flow count", "flows")
    core_si: float | None = maybe("softirq load of its CPU", "%")
    rule_steered: bool = gauge("target of a flow-steering rule", default=False)


KIND = Kind(
    Queue, "queues", parents={"nic": attrgetter("nic")}, needs_nic=True,
    names={"queue": "queue.name"}, spread=True,
    example={"nic": "eth0", "name": "rx-0", "direction": "rx", "number": 0},
)  # fmt: skip


class CountedRates(NamedTuple):
    """Rates of one queue from the counters of its driver, per second; None: not counted."""

    packets: float | None = None
    bytes: float | None = None
    drops: float | None = None


class Slot(NamedTuple):
    """The settings of a queue: its interrupt line, affinities and steering."""

    nic: str
    name: str
    direction: str
    number: int
    line: IrqLine | None
    allowed: tuple[int, ...]
    effective: tuple[int, ...]
    hint: tuple[int, ...]
    cpus: tuple[int, ...]
    flow_cnt: int | None
    steered: bool
    node: int | None  # of the NIC

    @property
    def label(self) -> str:
        """Interface and queue: `eth0/rx-0`."""
        return f"{self.nic}/{self.name}"


def slots(
    rows: Sequence[QueueRow], kinds: Mapping[str, str], nodes: Mapping[str, int | None],
    lines: Lines, irqs: Mapping[int, IrqRow], steered: Container[tuple[str, int]],
) -> tuple[Slot, ...]:  # fmt: skip
    """Every queue of hardware and veth interfaces.

    `rows` is the table `queues`; an interface without rows has the queues of its interrupt lines.
    `irqs` are rows of the table `irqs` by number, `steered` the receive queues (interface, number)
    that steering rules name.
    """
    found = []
    named: dict[tuple[str, str], QueueRow | None]
    named = {(row.nic, row.name): row for row in rows if kinds.get(row.nic) in ("nic", "veth")}
    listed = {nic for nic, _ in named}
    for nic, way, number in lines.by_queue:
        if nic not in listed:
            named[nic, f"{way}-{number}"] = None
    for (nic, name), row in named.items():
        way, _, text = name.partition("-")
        if way not in ("rx", "tx") or not (text.isascii() and text.isdigit()):
            continue
        number = int(text)
        line = lines.by_queue.get((nic, way, number))
        irq = irqs.get(line.irq) if line is not None and line.irq is not None else None
        cpus = None if row is None else row.rps_cpus if way == "rx" else row.xps_cpus
        found.append(
            Slot(
                nic, name, way, number, line,
                (irq.allowed or ()) if irq else (),
                (irq.effective or ()) if irq else (),
                (irq.hint or ()) if irq else (),
                cpus or (),
                row.rps_flow_cnt if row is not None else None,
                way == "rx" and (nic, number) in steered,
                nodes.get(nic),
            )
        )  # fmt: skip
    return tuple(found)


def served_by(slot: Slot, rates: Mapping[int, float] | None, seen: Mapping[int, int]) -> int | None:
    """The CPU that serves a queue: the one with its interrupts, otherwise by affinity.

    `seen` is the last CPU with interrupts of a line, by the index of the line. It is needed because
    effective affinity is read rarely, and some kernels do not have it.
    """
    if rates:
        return max(rates, key=rates.__getitem__) if len(rates) > 1 else next(iter(rates))
    if len(slot.effective) == 1:
        return slot.effective[0]
    if slot.line is not None and slot.line.place in seen:
        return seen[slot.line.place]
    return slot.allowed[0] if len(slot.allowed) == 1 else None


def make(
    slot: Slot, cpu: int | None, node: int | None, interrupts: float | None, counted: CountedRates,
    whole: float | None, core_si: float | None,
) -> Queue:  # fmt: skip
    """One queue; `whole` is the packet rate of the NIC in this direction, per second."""
    line = slot.line
    packets = counted.packets
    known = node is not None and slot.node is not None
    return Queue(
        slot.nic, slot.name, slot.direction, slot.number,
        line.irq if line is not None else None, line.name if line is not None else None,
        cpu, slot.allowed, slot.effective, slot.hint, node,
        node != slot.node if known else None,
        interrupts, packets, counted.bytes, counted.drops,
        # the two counters are not read at the same instant
        part(packets, whole),
        slot.cpus, slot.flow_cnt, core_si, slot.steered,
    )  # fmt: skip


def skew(packets: Sequence[float]) -> float | None:
    """The highest rate divided by the mean; None for fewer than two queues or no packets."""
    whole = sum(packets)
    return max(packets) * len(packets) / whole if len(packets) > 1 and whole > 0 else None
