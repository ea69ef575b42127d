"""Time of each online CPU by kind: /proc/stat.

fs/proc/stat.c, show_stat(): clock ticks of 1/100 s (USER_HZ) since boot. Linux 2.6.11 added the
column steal, 2.6.24 guest and 2.6.33 guest_nice. `idle` and `iowait` may decrease slightly when a
CPU leaves idle (Documentation/filesystems/proc.rst); the previous value is kept then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ..files.bounds import counts
from ..frame.fields import counter, label, light
from ..host.source import Source
from ..terms import cpulist
from ._memory import Memory, recall

KEEP_OPEN = ("/proc/stat",)

USER_HZ: Final = 100
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
    rows: dict[int, Row] = field(default_factory=dict)  # by CPU


def update(source: Source, memory: Memory) -> list[Row]:
    """Every online CPU. OSError without the file, ValueError for another format."""
    last = recall(memory, _Last)
    rows = parse(source.text("/proc/stat"), last.rows)
    last.rows = {row.cpu: row for row in rows}
    return rows


def parse(text: str, before: dict[int, Row] | None = None) -> list[Row]:
    """The rows of the `cpuN` lines; `before` are the rows of the last reading, by CPU.

    ValueError for a short line, a wrong number, or a text without CPUs.
    """
    rows = []
    for line in text[: text.find("\nintr ") + 1 or None].splitlines():
        if not line.startswith("cpu"):
            break
        words = line.split()
        if words[0] == "cpu":
            continue
        if len(words) < 5:
            raise ValueError(f"/proc/stat has a short line: {line[:80]!r}")
        cpu = cpulist.one(words[0][3:])
        times: list[float | None] = [ticks / USER_HZ for ticks in counts(words[1:10])]
        times += [None] * (9 - len(times))
        old = before.get(cpu) if before else None
        if old is not None:
            times[3] = _held(old.idle, times[3])
            times[4] = _held(old.iowait, times[4])
        rows.append(Row(cpu, *times))  # type: ignore[arg-type]
    if not rows:
        raise ValueError("/proc/stat names no CPU")
    return rows


def _held(old: float | None, new: float | None) -> float | None:
    if old is not None and new is not None and 0 < old - new < _SLIP:
        return old
    return new
