"""Affinity and device of each interrupt: /proc/irq/N and msi_irqs in sysfs.

Documentation/core-api/irq/irq-affinity.rst and Documentation/ABI/testing/sysfs-bus-pci: `msi_irqs`
of a device has a file per message-signalled interrupt, `irq` is its legacy interrupt; those of a
virtio device belong to its parent. Only interrupts of network devices are read. If a device does
not list its interrupts (platform, Xen), or without sysfs, all interrupts are read.

Since Linux 6.8 the kernel reports the queues of an interrupt for drivers that support it
(`netlink.netdev`); for other drivers the name of the interrupt line shows the queue.
"""

from collections.abc import Iterable
from typing import Final

from ..frame.fields import gauge, label, light, maybe
from ..host.netlink import netdev, route
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Table

TABLE: Final = Table(every=5.0)

_NETS: Final = "/sys/class/net"


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One interrupt. `allowed` is the configured affinity, `effective` that of the hardware."""

    irq: str = label("interrupt number, as in interrupts")
    allowed: tuple[int, ...] | None = maybe("allowed CPUs")
    effective: tuple[int, ...] | None = maybe("effective CPUs (Linux 4.13)")
    hint: tuple[int, ...] | None = maybe("affinity hint of the driver; empty: none")
    node: int | None = maybe("NUMA node of the allocation")
    device: str | None = maybe("device, e.g. 0000:41:00.0 or virtio2")
    nics: tuple[str, ...] = gauge("interfaces of the device", default=())
    msi: bool | None = maybe("message-signalled; False: legacy line")
    queues: tuple[str, ...] = gauge(
        "queues of the interrupt as the kernel reports them, e.g. eth0/rx-0; empty: not reported",
        default=(),
    )


@dataclass(frozen=True, slots=True)
class Owner:
    """A network device with its interrupts."""

    device: str  # its name on the bus, e.g. 0000:41:00.0
    nics: tuple[str, ...]
    irqs: tuple[str, ...]  # decimal numbers
    msi: bool  # message-signalled; else the one legacy interrupt


def read(source: Source) -> list[Row]:
    """The interrupts of network devices, or all; OSError without /proc/irq."""
    there = [name for name in source.listing("/proc/irq") if name.isdecimal()]
    nics = _sysfs.names(source, _NETS)
    found = owners(source, nics)
    of = {irq: owner for owner in found for irq in owner.irqs}
    wanted: Iterable[str] = there
    if nics and all(owner.irqs for owner in found):
        wanted = (irq for irq in there if irq in of)
    queues = _queues(source)
    return [
        _row(source, irq, of.get(irq), queues.get(int(irq), ())) for irq in sorted(wanted, key=int)
    ]


def owners(source: Source, nics: Iterable[str]) -> list[Owner]:
    """The devices below these interfaces, with their interrupts as sysfs lists them."""
    devices: dict[str, tuple[str, list[str]]] = {}
    for nic in nics:
        device = _sysfs.device(source, nic)
        if device is not None:
            devices.setdefault(device[0], (device[1], []))[1].append(nic)
    found = []
    for name, (path, own) in devices.items():
        irqs = [irq for irq in _sysfs.names(source, f"{path}/msi_irqs") if irq.isdecimal()]
        legacy = None if irqs else _sysfs.number(source, f"{path}/irq")
        msi = bool(irqs)
        found.append(Owner(name, tuple(own), tuple(irqs or ([str(legacy)] if legacy else [])), msi))
    return found


def _queues(source: Source) -> dict[int, tuple[str, ...]]:
    """The queues of each interrupt, as far as the kernel and the drivers report them."""
    try:
        interrupts = netdev.interrupts(source)
        names = route.names(source) if interrupts else {}
    except (OSError, ValueError):
        return {}
    return {
        irq: tuple(f"{names[index]}/{queue}" for index, queue in queues if index in names)
        for irq, queues in interrupts.items()
    }


def _row(source: Source, irq: str, owner: Owner | None, queues: tuple[str, ...]) -> Row:
    folder = f"/proc/irq/{irq}"
    node = _sysfs.number(source, f"{folder}/node")
    return Row(
        irq,
        allowed=_sysfs.cpus(source, f"{folder}/smp_affinity_list"),
        effective=_sysfs.cpus(source, f"{folder}/effective_affinity_list"),
        hint=_sysfs.mask(source, f"{folder}/affinity_hint"),
        node=None if node is None or node < 0 else node,
        device=owner.device if owner else None,
        nics=owner.nics if owner else (),
        msi=owner.msi if owner else None,
        queues=queues,
    )
