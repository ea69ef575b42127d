"""Totals of the host: the lines after the CPUs in /proc/stat, and NUMA counts of /proc/vmstat.

fs/proc/stat.c, show_stat(); mm/vmstat.c. `numa_miss` counts pages from another node than wanted.
"""

from typing import Final

from ..frame.fields import counter, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Table

TABLE: Final = Table(every=2.0)


@dataclass(frozen=True, slots=True)
class Row:
    """The one row: totals since boot. None: not in this kernel."""

    interrupts: int | None = counter("hard interrupts of all kinds", "interrupts", default=None)
    softirqs: int | None = counter("soft interrupts", "softirqs", default=None)
    switches: int | None = counter("context switches", "switches", default=None)
    forks: int | None = counter("processes created", "processes", default=None)
    running: int | None = maybe("runnable tasks", "tasks")
    blocked: int | None = maybe("tasks blocked on I/O", "tasks")
    numa_hit: int | None = counter("pages from the requested node", "pages", default=None)
    numa_miss: int | None = counter("pages from another node", "pages", default=None)
    numa_other: int | None = counter("pages for a CPU of another node", "pages", default=None)


def read(source: Source) -> list[Row]:
    """One row; OSError without /proc/stat."""
    return [parse(source.text("/proc/stat"), _sysfs.word(source, "/proc/vmstat") or "")]


def parse(stat: str, vmstat: str = "") -> Row:
    """The row: the first number of each line that a field needs."""
    values = {}
    for line in (*stat.splitlines(), *vmstat.splitlines()):
        words = line.split(None, 2)
        if len(words) > 1 and not line.startswith("cpu"):
            values[words[0]] = _sysfs.whole(words[1])
    return Row(
        values.get("intr"),
        values.get("softirq"),
        values.get("ctxt"),
        values.get("processes"),
        values.get("procs_running"),
        values.get("procs_blocked"),
        values.get("numa_hit"),
        values.get("numa_miss"),
        values.get("numa_other"),
    )
