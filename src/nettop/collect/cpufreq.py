"""The frequency policy of each CPU: /sys/devices/system/cpu/cpufreq/policyN.

Documentation/admin-guide/pm/cpufreq.rst. A policy applies to one or several CPUs; files are in kHz.
Most virtual machines have no policies.
"""

from typing import Final

from ..frame.fields import label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Table

TABLE: Final = Table(every=10.0, absent=True)

_POLICIES: Final = "/sys/devices/system/cpu/cpufreq"


@dataclass(frozen=True, slots=True)
class Row:
    """One CPU with its policy's settings."""

    cpu: int = label("CPU number")
    governor: str | None = maybe("scaling governor")
    epp: str | None = maybe("energy performance preference")
    driver: str | None = maybe("scaling driver")
    frequency: float | None = maybe("current clock", "Hz")
    least: float | None = maybe("lowest clock the policy allows", "Hz")
    most: float | None = maybe("highest clock the policy allows", "Hz")
    max_frequency: float | None = maybe("highest clock of the hardware", "Hz")


def read(source: Source) -> list[Row]:
    """Each CPU of each policy; OSError on a host without frequency scaling."""
    rows = []
    for name in source.listing(_POLICIES):
        if not name.startswith("policy"):
            continue
        folder = f"{_POLICIES}/{name}"
        governor = _sysfs.word(source, f"{folder}/scaling_governor")
        epp = _sysfs.word(source, f"{folder}/energy_performance_preference")
        driver = _sysfs.word(source, f"{folder}/scaling_driver")
        clocks = [
            _hertz(source, f"{folder}/{file}")
            for file in (
                "scaling_cur_freq",
                "scaling_min_freq",
                "scaling_max_freq",
                "cpuinfo_max_freq",
            )
        ]
        words = (_sysfs.word(source, f"{folder}/affected_cpus") or name[6:]).split()
        rows += [Row(int(word), governor, epp, driver, *clocks) for word in words if word.isdigit()]
    return sorted(rows, key=lambda row: row.cpu)


def _hertz(source: Source, path: str) -> float | None:
    kilohertz = _sysfs.number(source, path)
    return None if kilohertz is None else kilohertz * 1e3
