"""Time of each online CPU by kind: /proc/stat.

fs/proc/stat.c, show_stat(): clock ticks of 1/100 s (USER_HZ) since boot. Linux 2.6.11 added the
column steal, 2.6.24 guest and 2.6.33 guest_nice. `idle` and `iowait` may decrease slightly when a
CPU leaves idle (Documentation/filesystems/proc.rst); the previous value is kept then.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import repeat
from operator import gt, truediv
from typing import Any, Final

from ..files.bounds import BOUNDS, counts
from ..frame.fields import Columns, columns, counter, label, light
from ..frame.rates import Partly
from ..host.source import Source
from ..terms import cpulist
from ..terms.dataclass import dataclass
from . import _lines
from ._table import Memory, Table, recall

TABLE: Final = Table(needed="the load of the CPUs", prompt=True, keep_open=("/proc/stat",))

USER_HZ: Final = 100
_WORDS: Final = 11  # of a line since Linux 2.6.33
_SLIP: Final = 10.0  # seconds; a larger decrease means that the CPU was offline in between


@light
@dataclass(frozen=True, slots=True)
class Row:
    """Seconds of one CPU since boot, so that a rate of 1.0 is 100 %."""

    cpu: int = label("CPU number")
    user: float = counter("user processes, with guests", "s")
    nice: float = counter("user processes with lowered priority", "s")
    system: float = counter("kernel", "s")
    idle: float = counter("idle", "s")
    iowait: float | None = counter("idle with a pending disk request", "s", default=None)
    irq: float | None = counter("hard interrupts", "s", default=None)
    softirq: float | None = counter("soft interrupts", "s", default=None)
    steal: float | None = counter("time used by the hypervisor", "s", default=None)
    guest: float | None = counter("running guests (part of user)", "s", default=None)


@dataclass
class _Last:
    rows: Columns[Row] | None = None


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every online CPU. OSError without the file, ValueError for another format."""
    last = recall(memory, _Last)
    rows = parse(source.text("/proc/stat"), last.rows)
    if isinstance(rows, Columns):
        last.rows = rows = rows.like(last.rows)
    else:
        last.rows = columns(Row, rows)
    return rows


def parse(text: str, before: Sequence[Row] | None = None) -> Sequence[Row]:
    """The rows of the `cpuN` lines; `before` are the rows of the last reading.

    Columns if every line could be read. ValueError for a text without CPUs.
    """
    head = text[: text.find("\nintr ") + 1 or None]
    old = before if isinstance(before, Columns) else columns(Row, before or ())
    found = _by_column(head, old)
    if found is not None:
        return found
    rows = by_line(head, {row.cpu: row for row in old})
    return rows if isinstance(rows, Partly) else columns(Row, rows)


def by_line(head: str, before: dict[int, Row] | None = None) -> Sequence[Row]:
    """The rows, line by line; for any number of columns. Errors as `parse`."""
    rows = _lines.rows(head.splitlines(), partial(_row, before=before or {}), "/proc/stat")
    if not rows:
        raise ValueError("/proc/stat names no CPU")
    return rows


def _row(line: str, before: dict[int, Row]) -> Row | None:
    """The CPU of a line; None for the line of all CPUs."""
    words = line.split()
    if words[:1] == ["cpu"]:
        return None
    if len(words) < 5 or not line.startswith("cpu"):
        raise ValueError(f"not the times of a CPU: {line[:80]!r}")
    cpu = cpulist.one(words[0][3:])
    times: list[float | None] = [ticks / USER_HZ for ticks in counts(words[1:10])]
    times += [None] * (9 - len(times))
    old = before.get(cpu)
    if old is not None:
        times[3] = _held(old.idle, times[3])
        times[4] = _held(old.iowait, times[4])
    return Row(cpu, *times)  # type: ignore[arg-type]


def _by_column(head: str, before: Columns[Row]) -> Columns[Row] | None:
    """The same rows, column by column: a small part of the time with a thousand CPUs.

    None unless all lines have the columns of a kernel of today; `by_line` reads them then.
    """
    words = head.split()
    names = words[::_WORDS]
    if len(words) != _WORDS * len(names) or names[:1] != ["cpu"] or len(names) < 2:
        return None
    if len(names) != head.count("\n"):
        return None
    cpus = _cpus(tuple(names[1:]))
    if cpus is None or max(map(len, words)) > BOUNDS["digits"].most:
        return None
    try:
        found: list[list[Any]] = [
            _seconds(words[_WORDS + place :: _WORDS]) for place in range(1, 10)
        ]
    except ValueError:
        return None
    if before.column("cpu") == cpus:
        olds = [before.column(name) for name in ("idle", "iowait")]
    else:
        known = {row.cpu: row for row in before}
        rows = [known.get(cpu) for cpu in cpus]
        olds = [
            [None if row is None else getattr(row, n) for row in rows] for n in ("idle", "iowait")
        ]
    for place, old in zip((3, 4), olds, strict=True):
        if None in old or any(map(gt, old, found[place])):
            found[place] = list(map(_held, old, found[place]))
    return Columns(Row, [cpus, *found])


def _seconds(ticks: list[str]) -> list[float]:
    """Most hosts have whole columns of zeros."""
    if ticks.count("0") == len(ticks):
        return [0.0] * len(ticks)
    return list(map(truediv, map(int, ticks), repeat(USER_HZ)))


@lru_cache(maxsize=4)
def _cpus(names: tuple[str, ...]) -> tuple[int, ...] | None:
    """The CPU numbers of these names; None if one is not of a CPU, or is named twice."""
    if not all(name.startswith("cpu") and name[3:].isdecimal() for name in names):
        return None
    cpus = tuple(cpulist.one(name[3:]) for name in names)
    return cpus if len(set(cpus)) == len(cpus) else None


def _held(old: float | None, new: float | None) -> float | None:
    if old is not None and new is not None and 0 < old - new < _SLIP:
        return old
    return new
