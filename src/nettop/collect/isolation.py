"""CPUs that were taken from the scheduler: isolcpus= and nohz_full= of the kernel command line.

/sys/devices/system/cpu/isolated and nohz_full (Documentation/ABI/testing/sysfs-devices-system-cpu).
"""

from typing import Final

from ..frame.fields import gauge
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Table

TABLE: Final = Table(every=300.0, optional=True)

_CPUS: Final = "/sys/devices/system/cpu"


@dataclass(frozen=True, slots=True)
class Row:
    """The one row; empty: no CPU is isolated."""

    isolated: tuple[int, ...] = gauge("CPUs without load balancing (isolcpus)", default=())
    tickless: tuple[int, ...] = gauge("CPUs without timer ticks (nohz_full)", default=())


def read(source: Source) -> list[Row]:
    """One row; OSError if the kernel does not report it."""
    source.text(f"{_CPUS}/isolated")
    return [
        Row(
            _sysfs.cpus(source, f"{_CPUS}/isolated") or (),
            _sysfs.cpus(source, f"{_CPUS}/nohz_full") or (),
        )
    ]
