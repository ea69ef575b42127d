"""The interrupt lines of each NIC queue, and the CPUs that take their interrupts.

The interface of a line comes from sysfs, which lists the message-signalled interrupts of a device
(`msi_irqs`), else (virtio, Xen, legacy lines) from the name of the line. The queue comes from
netdev netlink (Linux 6.8), else from the name that the driver gave the line (`irqname`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final, NamedTuple

from ..collect.interrupts import Row as InterruptRow
from ..collect.irqs import Row as IrqRow
from ..collect.netclass import Row as NetClassRow
from ..terms.dataclass import dataclass
from .port import Port

# a CPU with a smaller share of a NIC's interrupts, and of its even share, is ignored
SHARE: Final = 0.02


class IrqLine(NamedTuple):
    """One interrupt line of a NIC. `number` is None if it serves no queue (link, events)."""

    place: int  # index in the interrupts table
    irq: int | None
    name: str
    nic: str
    direction: str | None  # rx, tx, rxtx
    number: int | None
    signalled: bool | None  # by message (MSI); None: unknown by the chip's name


@dataclass(frozen=True, slots=True)
class Lines:
    """All NIC lines, also by interface and by queue."""

    by_nic: Mapping[str, tuple[IrqLine, ...]] = field(default_factory=dict)
    by_queue: Mapping[tuple[str, str, int], IrqLine] = field(default_factory=dict)


def assign(
    rows: Sequence[InterruptRow], owners: Mapping[int, str], aliases: Mapping[str, str],
    drivers: Mapping[str, str], served: Mapping[int, Sequence[str]] | None = None,
) -> Lines:  # fmt: skip
    """The lines of every NIC.

    `rows` is the interrupts table; `owners` the interface of an interrupt by sysfs; `aliases` the
    interface of a name, a bus address or a virtio device; `drivers` the interfaces' drivers;
    `served` the queues (`eth0/rx-0`) of an interrupt by netdev netlink.
    """
    from ..terms import irqname  # late: its patterns take long to compile

    served = served or {}
    mine: dict[str, list[tuple[int, InterruptRow, str]]] = {}
    for place, row in enumerate(rows):
        irq = number(row.irq)
        owner = None if irq is None else owners.get(irq) or _of_queues(served.get(irq, ()))
        named = [(_owner(action, aliases), action) for action in irqname.actions(row.name or "")]
        for nic, action in named:
            if nic is not None and owner in (None, nic):
                mine.setdefault(nic, []).append((place, row, action))
                break
        else:
            if owner is not None:
                mine.setdefault(owner, []).append((place, row, named[0][1] if named else ""))
    by_nic: dict[str, tuple[IrqLine, ...]] = {}
    by_queue: dict[tuple[str, str, int], IrqLine] = {}
    for nic, found in mine.items():
        lines = _with_served(nic, _lines(nic, found, drivers.get(nic)), served, by_queue)
        by_nic[nic] = lines
        for line in lines:
            if line.number is not None and line.direction is not None:
                for way in ("rx", "tx"):
                    if way in line.direction:
                        by_queue.setdefault((nic, way, line.number), line)
    return Lines(by_nic, by_queue)


def owners(irqs: Sequence[IrqRow], netclass: Sequence[NetClassRow]) -> dict[int, str]:
    """The interface of each interrupt by sysfs, without interrupts that several ports share."""
    found = {}
    for row in irqs:
        irq = number(row.irq)
        if irq is not None and len(row.nics or ()) == 1:
            found[irq] = row.nics[0]
    if found:
        return found
    claims: dict[int, set[str]] = {}
    for device in netclass:
        for text in device.irqs or ():
            irq = number(text)
            if irq is not None:
                claims.setdefault(irq, set()).add(device.name)
    return {irq: names.pop() for irq, names in claims.items() if len(names) == 1}


def aliases(netclass: Sequence[NetClassRow], ports: Mapping[str, Port]) -> dict[str, str]:
    """The interface of a name, a bus address or a virtio device."""
    found: dict[str, str] = {}
    for row in netclass:
        for alias in (row.device, row.address):
            if alias:
                found.setdefault(alias, row.name)
    for name, port in ports.items():
        bus = port.nic.bus
        if bus:
            found.setdefault(bus, name)
        if port.kind in ("nic", "wireless", "other"):
            found[name] = name
    return found


def _owner(action: str, aliases: Mapping[str, str]) -> str | None:
    from ..terms import irqname

    return aliases.get(action) or aliases.get(irqname.queue_of(action).owner)


def _lines(
    nic: str, found: list[tuple[int, InterruptRow, str]], driver: str | None
) -> tuple[IrqLine, ...]:
    from ..terms import irqname

    places = irqname.places((action for _, _, action in found), driver or None)
    lines = [
        IrqLine(
            place, number(row.irq), action, nic,
            places[action].direction, places[action].number, signalled(row.chip),
        )
        for place, row, action in found
    ]  # fmt: skip
    if lines and all(line.number is None for line in lines):
        # a single line for all queues has the name of the interface
        whole = [line for line in lines if line.name == nic] or lines[:1]
        lines = [
            line._replace(direction="rxtx", number=0) if line is whole[0] else line
            for line in lines
        ]
    return tuple(lines)


def _with_served(
    nic: str, lines: tuple[IrqLine, ...], served: Mapping[int, Sequence[str]],
    by_queue: dict[tuple[str, str, int], IrqLine],
) -> tuple[IrqLine, ...]:  # fmt: skip
    """The lines with the queues of netdev netlink, which are also added to `by_queue`."""
    out = []
    for line in lines:
        mine = [
            (way, int(text))
            for queue in (served.get(line.irq, ()) if line.irq is not None else ())
            for name, _, rest in [queue.rpartition("/")]
            for way, _, text in [rest.partition("-")]
            if name == nic and text.isdecimal()
        ]
        if mine:
            ways = "".join(way for way in ("rx", "tx") if any(way == one for one, _ in mine))
            line = line._replace(direction=ways, number=min(number for _, number in mine))  # noqa: PLW2901
            by_queue.update({(nic, way, number): line for way, number in mine})
        out.append(line)
    return tuple(out)


def _of_queues(queues: Sequence[str]) -> str | None:
    """The interface of these queues; None without any, or for several interfaces."""
    names = {queue.rpartition("/")[0] for queue in queues}
    return names.pop() if len(names) == 1 else None


def queues(irqs: Sequence[IrqRow]) -> dict[int, tuple[str, ...]]:
    """The queues of each interrupt, from the irqs table."""
    return {irq: row.queues for row in irqs if row.queues and (irq := number(row.irq)) is not None}


def signalled(chip: str | None) -> bool | None:
    """Whether an interrupt is message-signalled, by its chip's name."""
    text = (chip or "").upper()
    if "MSI" in text:
        return True
    return False if "IO-APIC" in text or "XT-PIC" in text or "IOAPIC" in text else None


def number(irq: str) -> int | None:
    """The number of an interrupt; None for letters such as NMI."""
    return int(irq) if irq.isascii() and irq.isdigit() else None


@dataclass(slots=True)
class Served:
    """The CPUs that took a NIC's receive interrupts in the last interval that had any."""

    cpus: tuple[int, ...] = ()
    top: int | None = None
    share: float | None = None
    moved: bool | None = None
    homes: dict[int, int] = field(
        default_factory=dict
    )  # place of a line → the CPU that took all its interrupts

    def see(self, lines: Sequence[IrqLine], rates: Sequence[Mapping[int, float] | None]) -> None:
        """Add one interval: interrupts per second by CPU, for each of `lines`."""
        sums: dict[int, float] = {}
        for line, by_cpu in zip(lines, rates, strict=True):
            if not by_cpu:
                continue
            if line.direction != "tx":
                for cpu, rate in by_cpu.items():
                    sums[cpu] = sums.get(cpu, 0.0) + rate
            if len(by_cpu) == 1:
                (cpu,) = by_cpu
                home = self.homes.setdefault(line.place, cpu)
                if home != cpu:
                    self.moved, self.homes[line.place] = True, cpu
        if self.moved is None and self.homes:
            self.moved = False
        whole = sum(sums.values())
        if whole > 0:
            self.top = max(sums, key=sums.__getitem__)
            self.share = sums[self.top] / whole
            least = whole * min(SHARE, 0.5 / len(sums))  # 64 CPUs with even shares have less each
            self.cpus = tuple(sorted(cpu for cpu, rate in sums.items() if rate >= least))


def by_cpu(rates: Iterable[Mapping[int, float] | None]) -> dict[int, float]:
    """The sum of several lines' interrupts per second, by CPU."""
    sums: dict[int, float] = {}
    for one in rates:
        if one:
            for cpu, rate in one.items():
                sums[cpu] = sums.get(cpu, 0.0) + rate
    return sums
