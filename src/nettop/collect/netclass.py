"""Interfaces in sysfs: /sys/class/net (Documentation/ABI/testing/sysfs-class-net).

The mount of sysfs determines the network namespace, which may differ from that of the reader;
rtnetlink (`links`) always answers for the reader's namespace. The kernel returns an error for
`speed` and `carrier` of an interface that is down: unknown, not zero.
"""

from functools import partial
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Memory, Table
from ._turns import by_turns

TABLE: Final = Table(every=10.0)

_NETS: Final = "/sys/class/net"


@dataclass(frozen=True, slots=True)
class Row:
    """One interface. Fields of the device are None for a virtual interface."""

    name: str = label("interface")
    index: int | None = maybe("interface index")
    type: int | None = maybe("hardware type (ARPHRD): 1 Ethernet, 772 loopback")
    devtype: str | None = maybe("bond, bridge, vlan, wlan …; None for plain")
    device: str | None = maybe("device, e.g. 0000:41:00.0, virtio2, 1-1:1.0")
    bus: str | None = maybe("its bus: pci virtio usb vmbus xen platform …")
    address: str | None = maybe("address of its PCI device, or of the parent of a virtio device")
    driver: str | None = maybe("kernel driver")
    usb_speed: float | None = maybe("speed of its USB connection", "bit/s")
    node: int | None = maybe("NUMA node; None: not reported")
    local_cpus: tuple[int, ...] | None = maybe("CPUs of the device's NUMA node")
    irqs: tuple[str, ...] = gauge("interrupts listed in sysfs", default=())
    speed: float | None = maybe("link speed", "bit/s")
    duplex: str | None = maybe("full or half")
    carrier: bool | None = maybe("link detected")
    operstate: str | None = maybe("operational state (RFC 2863)")
    flags: int | None = maybe("interface flags (IFF_…)")
    mtu: int | None = maybe("MTU", "bytes")
    tx_queue_len: int | None = maybe("transmit queue length", "packets")
    threaded: bool | None = maybe("threaded NAPI")
    defer_hard_irqs: int | None = maybe("napi_defer_hard_irqs", "polls")
    gro_flush_timeout: int | None = maybe("gro_flush_timeout", "ns")
    master: str | None = maybe("bond or bridge of this port")
    lower: tuple[str, ...] = gauge("lower interfaces", default=())
    sriov_vfs: int | None = maybe("virtual functions enabled", "functions")
    sriov_most: int | None = maybe("virtual functions maximum", "functions")


def update(source: Source, memory: Memory) -> list[Row]:
    """Every interface, many software ones in turn; OSError without /sys/class/net."""
    names = source.listing(_NETS)
    if "bonding_masters" in names:  # a file among the links, drivers/net/bonding/bond_sysfs.c
        names.remove("bonding_masters")
    return by_turns(source, memory, names, partial(_row, source))


def _row(source: Source, name: str) -> Row:
    folder = f"{_NETS}/{name}"
    names = _sysfs.names(source, folder)
    there = set(names)
    event = uevent(_sysfs.word(source, f"{folder}/uevent") or "")
    device = _sysfs.target(source, f"{folder}/device") if "device" in there else None
    master = _sysfs.target(source, f"{folder}/master") if "master" in there else None
    speed = _sysfs.number(source, f"{folder}/speed")
    carrier = _sysfs.number(source, f"{folder}/carrier")
    threaded = _sysfs.number(source, f"{folder}/threaded")
    return Row(
        name,
        index=_sysfs.whole(event.get("IFINDEX")),
        type=_sysfs.number(source, f"{folder}/type"),
        devtype=event.get("DEVTYPE"),
        speed=speed * 1e6 if speed is not None and speed > 0 else None,
        duplex=_sysfs.word(source, f"{folder}/duplex"),
        carrier=None if carrier is None else carrier == 1,
        operstate=_sysfs.word(source, f"{folder}/operstate"),
        flags=_sysfs.number(source, f"{folder}/flags"),
        mtu=_sysfs.number(source, f"{folder}/mtu"),
        tx_queue_len=_sysfs.number(source, f"{folder}/tx_queue_len"),
        threaded=None if threaded is None else threaded > 0,
        defer_hard_irqs=_sysfs.number(source, f"{folder}/napi_defer_hard_irqs"),
        gro_flush_timeout=_sysfs.number(source, f"{folder}/gro_flush_timeout"),
        master=master,
        lower=tuple(n.removeprefix("lower_") for n in names if n.startswith("lower_")),
        device=device,
        **(_device(source, f"{folder}/device", device) if device else {}),  # type: ignore[arg-type]
    )


def _device(source: Source, folder: str, name: str) -> dict[str, object]:
    """The fields of the device below an interface; a virtio device has those of its parent."""
    bus = _sysfs.target(source, f"{folder}/subsystem")
    place = f"{folder}/.." if bus == "virtio" or name.startswith("virtio") else folder
    node = _sysfs.number(source, f"{place}/numa_node")
    event = uevent(_sysfs.word(source, f"{place}/uevent") or "")
    usb = _sysfs.number(source, f"{folder}/../speed") if bus == "usb" else None
    irqs = [irq for irq in _sysfs.names(source, f"{place}/msi_irqs") if irq.isdecimal()]
    return {
        "bus": bus,
        "address": event.get("PCI_SLOT_NAME"),
        "driver": _sysfs.target(source, f"{folder}/driver"),
        "usb_speed": usb * 1e6 if usb else None,
        "node": None if node is None or node < 0 else node,
        "local_cpus": _sysfs.cpus(source, f"{place}/local_cpulist"),
        "irqs": tuple(sorted(irqs, key=int)),
        "sriov_vfs": _sysfs.number(source, f"{place}/sriov_numvfs"),
        "sriov_most": _sysfs.number(source, f"{place}/sriov_totalvfs"),
    }


def uevent(text: str) -> dict[str, str]:
    """The KEY=value lines of a uevent file (lib/kobject_uevent.c), by key."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {key: value for key, equals, value in pairs if equals}
