"""CPU time and memory of nettop itself, and its CPU: /proc/self/stat (fs/proc/array.c)."""

from typing import Final

from ..frame.fields import counter, label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs, processes
from ._table import Table

TABLE: Final = Table(absent=True, may_rest=True, keep_open=("/proc/self/stat", "/proc/self/statm"))


@dataclass(frozen=True, slots=True)
class Row:
    """The one row: this process, all its threads."""

    pid: int = label("process")
    user: float = counter("user time", "s")
    system: float = counter("kernel time", "s")
    cpu: int | None = maybe("CPU it last ran on")
    threads: int | None = maybe("threads", "threads")
    memory: int | None = maybe("resident memory", "pages")


def read(source: Source) -> list[Row]:
    """One row; OSError without the file, ValueError for another format."""
    own = processes.parse(source.data("/proc/self/stat"))
    sizes = (_sysfs.word(source, "/proc/self/statm") or "").split()
    pages = _sysfs.whole(sizes[1]) if len(sizes) > 1 else None
    return [Row(own.pid, own.user, own.system, own.cpu, own.threads, pages)]
