"""How the IOMMU treats each network device: /sys/class/net/*/device/iommu_group/type.

Documentation/ABI/testing/sysfs-kernel-iommu_groups (drivers/iommu/iommu.c).

`identity` is passed through, `DMA` translated with a flush at each unmapping, `DMA-FQ` with
deferred flushes. A device without a group is behind no IOMMU.
"""

from typing import Final

from ..frame.fields import label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Table

TABLE: Final = Table(every=300.0)

_NETS: Final = "/sys/class/net"


@dataclass(frozen=True, slots=True)
class Row:
    """One interface that is a device."""

    nic: str = label("interface")
    group: int | None = maybe("IOMMU group; None: no IOMMU")
    type: str | None = maybe("DMA, DMA-FQ, identity …; None: not reported")


def read(source: Source) -> list[Row]:
    """Each interface that is a device; OSError without /sys/class/net."""
    rows = []
    for nic in source.listing(_NETS):
        device = _sysfs.device(source, nic)
        if device is None:
            continue
        group = _sysfs.whole(_sysfs.target(source, f"{device[1]}/iommu_group"))
        kind = _sysfs.word(source, f"{device[1]}/iommu_group/type") if group is not None else None
        rows.append(Row(nic, group, kind))
    return rows
