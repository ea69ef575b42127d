"""Soft interrupts of each CPU: /proc/softirqs.

fs/proc/softirqs.c: a column per *possible* CPU (a guest with two CPUs may have 128), a line per
kind. The header has the CPU numbers.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from ..files.bounds import counts
from ..frame.fields import Columns, counter, label, light
from ..host.source import Source
from ..terms import cpulist
from ..terms.dataclass import dataclass
from . import _lines
from ._table import Memory, Table, recall

TABLE: Final = Table(may_rest=True, keep_open=("/proc/softirqs",))

_KINDS: Final = ("NET_RX", "NET_TX", "TASKLET", "TIMER", "SCHED", "RCU")


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One possible CPU, with the kinds that matter for networking."""

    cpu: int = label("CPU number")
    net_rx: int | None = counter("receive", "softirqs", default=None)
    net_tx: int | None = counter("transmit completion", "softirqs", default=None)
    tasklet: int | None = counter("tasklets", "softirqs", default=None)
    timer: int | None = counter("timers", "softirqs", default=None)
    sched: int | None = counter("scheduler balancing", "softirqs", default=None)
    rcu: int | None = counter("RCU callbacks", "softirqs", default=None)


@dataclass
class _Last:
    """The lines of the last reading, and the column of each."""

    header: str | None = None
    cpus: Sequence[int] = ()
    columns: dict[str, Sequence[int]] = field(default_factory=dict)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every possible CPU; a kind whose line did not change keeps its column.

    OSError without the file, ValueError for another format.
    """
    return parse(source.text("/proc/softirqs"), recall(memory, _Last))


def parse(text: str, last: _Last | None = None) -> Sequence[Row]:
    """The rows of the text: one per column of the file."""
    last = _Last() if last is None else last
    header, _, rest = text.partition("\n")
    if header != last.header:
        last.header, last.cpus, last.columns = header, _cpus(header), {}
    cpus, before, last.columns = last.cpus, last.columns, {}
    found: dict[str, Sequence[int]] = {}
    wrong: list[str] = []
    for line in rest.splitlines():
        kind, colon, numbers = line.partition(":")
        kind = kind.strip()
        if kind in _KINDS:
            column = before.get(line)
            try:
                column = counts(numbers.split()) if column is None else column
            except ValueError as error:
                wrong.append(f"/proc/softirqs: {kind}: {error}")
                continue
            if len(column) != len(cpus):
                wrong.append(f"/proc/softirqs: {kind} has {len(column)} of {len(cpus)} columns")
                continue
            found[kind] = last.columns[line] = column
        elif not colon:
            wrong.append(f"/proc/softirqs: not a kind with its counts: {line[:60]!r}")
    unknown: Sequence[None] = [None] * len(cpus)
    rows = Columns(Row, [cpus, *(found.get(kind, unknown) for kind in _KINDS)])
    return _lines.without(rows if found else (), wrong) if wrong else rows


def _cpus(header: str) -> list[int]:
    words = header.split()
    if not words or not all(word.startswith("CPU") for word in words):
        raise ValueError("/proc/softirqs has no header")
    return [cpulist.one(word[3:]) for word in words]
