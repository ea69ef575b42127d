"""The slot of each network device: lanes, their rate, power saving, and bus errors.

Documentation/ABI/testing/sysfs-bus-pci: current_link_* are the negotiated values (power saving may
lower them while idle), max_link_* those of the device; aer_dev_* are described in
sysfs-bus-pci-devices-aer_stats. A virtio device is in the slot of its parent, a platform device in
that of the PCI function above it, or of the only one behind the host bridge above it (RP1 of the
Raspberry Pi 5: platform/axi/1000120000.pcie/1f00100000.ethernet). link/l1_aspm exists
since Linux 5.5 where the kernel controls ASPM and both ends of the link have the state L1
(drivers/pci/pcie/aspm.c). Payload and read request sizes are only in the configuration space; some
devices crash when all of it is read (lspci(8), -xxx).
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ..frame.fields import label, maybe
from ..host.source import Source
from ..terms import formulas
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Table

# errors of the bus are judged by those counted during a look of 5 s
TABLE: Final = Table(every=2.0)

_NETS: Final = "/sys/class/net"
_BUS: Final = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_ROOT: Final = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class Row:
    """One interface on PCI Express. None: not reported."""

    nic: str = label("interface")
    speed: float | None = maybe("PCIe lane speed", "GT/s")
    width: int | None = maybe("PCIe lanes in use", "lanes")
    max_speed: float | None = maybe("PCIe lane speed maximum", "GT/s")
    max_width: int | None = maybe("PCIe lanes maximum", "lanes")
    aer_correctable: int | None = maybe("corrected PCIe errors since boot", "errors")
    aer_fatal: int | None = maybe("uncorrected PCIe errors since boot", "errors")
    aspm_l1: bool | None = maybe("PCIe link sleeps while idle (ASPM L1)")
    folder: str | None = maybe("folder of the PCI function in sysfs")
    above: str | None = maybe("bridge with the slowest PCIe link above the slot")
    above_speed: float | None = maybe("PCIe lane speed of that bridge", "GT/s")
    above_width: int | None = maybe("PCIe lanes of that bridge", "lanes")
    usable: float | None = maybe("slot bandwidth after encoding", "bit/s")
    narrow: bool | None = maybe("a bridge above carries less than the slot")


def read(source: Source) -> list[Row]:
    """Every interface with a slot; OSError without /sys/class/net."""
    rows = []
    for nic in source.listing(_NETS):
        device = _sysfs.device(source, nic)
        if device is None:
            continue
        for place in _places(source, *device):
            speed = _sysfs.word(source, f"{place}/current_link_speed")
            if speed is not None:
                rows.append(_row(source, nic, place, speed))
                break
    return rows


def _places(source: Source, name: str, place: str) -> Iterator[str]:
    """The folders that may be those of the device's PCI function, nearest first."""
    yield place
    if _BUS.fullmatch(name) or _sysfs.target(source, f"{place}/subsystem") != "platform":
        return
    for above in (f"{place}/..", f"{place}/../.."):
        yield above
        yield from _only_endpoint(source, above)


def _only_endpoint(source: Source, bridge: str) -> list[str]:
    """The folder of the one PCI function behind a host bridge that is itself no PCI device."""
    roots = [name for name in _sysfs.names(source, bridge) if _ROOT.fullmatch(name)]
    found, folders = [], [f"{bridge}/{root}" for root in roots]
    while folders:
        folder = folders.pop()
        below = [name for name in _sysfs.names(source, folder) if _BUS.fullmatch(name)]
        folders += [f"{folder}/{name}" for name in below]
        if not below and folder.rsplit("/", 1)[-1] not in roots:
            found.append(folder)
    return found if len(found) == 1 else []


def _row(source: Source, nic: str, place: str, speed: str) -> Row:
    width = _sysfs.number(source, f"{place}/current_link_width")
    widest = _sysfs.number(source, f"{place}/max_link_width")
    fatal = [
        total(_sysfs.word(source, f"{place}/aer_dev_{kind}")) for kind in ("fatal", "nonfatal")
    ]
    known = [count for count in fatal if count is not None]
    sleeps = _sysfs.number(source, f"{place}/link/l1_aspm")
    return carried(
        Row(
            nic,
            speed=rate(speed),
            width=width if width and width < 255 else None,  # 0 and 255: not known
            max_speed=rate(_sysfs.word(source, f"{place}/max_link_speed")),
            max_width=widest if widest and widest < 255 else None,
            aer_correctable=total(_sysfs.word(source, f"{place}/aer_dev_correctable")),
            aer_fatal=sum(known) if known else None,
            aspm_l1=None if sleeps is None else sleeps == 1,
            folder=place,
            **_above(source, nic),  # type: ignore[arg-type]
        )
    )


def carried(row: Row) -> Row:
    """With the bit/s after line coding of the slot or of the bridges above, whichever is less."""
    if not row.speed or not row.width:
        return row
    own = formulas.pcie_usable(row.speed, row.width)
    if not row.above_speed or not row.above_width:
        return replace(row, usable=own)  # nothing is known of the bridges above
    above = formulas.pcie_usable(row.above_speed, row.above_width)
    return replace(row, usable=min(own, above), narrow=above < own)


def _above(source: Source, nic: str) -> dict[str, str | float]:
    """The slowest link of the bridges above the device, by the folders of sysfs it lies in.

    The link of a port below a switch is the device's own; that of the switch to the root port is
    shared by all that is below it.
    """
    try:
        folders = source.link(f"{_NETS}/{nic}").split("/")
    except OSError:
        return {}
    first = next((place for place, name in enumerate(folders) if name.startswith("pci")), None)
    if first is None:
        return {}
    names = [name for name in folders[first + 1 :] if _BUS.fullmatch(name)]
    links = []
    for place, name in enumerate(names[:-1], 1):
        path = "/".join(["/sys/devices", folders[first], *names[:place]])
        speed = rate(_sysfs.word(source, f"{path}/current_link_speed"))
        width = _sysfs.number(source, f"{path}/current_link_width")
        if speed and width and width < 255:
            links.append((speed * width, name, speed, width))
    if not links:
        return {}
    _, name, speed, width = min(links)
    return {"above": name, "above_speed": speed, "above_width": width}


def rate(text: str | None) -> float | None:
    """The rate in GT/s of a text such as `8.0 GT/s PCIe`; None for `Unknown`."""
    found = re.match(r"(\d{1,4}(?:\.\d{1,3})?) GT/s", text or "")
    return float(found[1]) if found else None


def total(text: str | None) -> int | None:
    """The count of the `TOTAL_ERR_…` line of an AER file; None without one."""
    for line in (text or "").splitlines():
        name, _, count = line.rpartition(" ")
        if name.startswith("TOTAL_ERR"):
            return _sysfs.whole(count)
    return None
