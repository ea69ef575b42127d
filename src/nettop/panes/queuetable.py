"""The queues as a table, each with the core that serves it: where a matrix has no room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ..facts import Facts
from ..terms import cpulist
from ..terms.text import Line, fit_line
from . import corelist
from .parts import SHARES, Cell, Column, Table, core_load, fitted
from .queuematrix import Row, row_head

if TYPE_CHECKING:
    from ..facts.kinds.core import Core

_OF_CORE: Final = (
    "CORE", "NODE", "BUSY", *(one[1] for one in SHARES), "PROCESSES", "SQUEEZED/s",
)  # fmt: skip
_AT: Final = tuple([one.title for one in corelist.COLUMNS].index(title) for title in _OF_CORE)
QUEUE_COLUMNS: Final = (
    *(corelist.COLUMNS[at] for at in _AT[:-2]),
    Column("ALLOWED", 9, grow=1),
    *(corelist.COLUMNS[at] for at in _AT[-2:]),
)
NOTHING: Final[tuple[Cell, ...]] = (("–", "dim"),) + (("", ""),) * (len(QUEUE_COLUMNS) - 1)


def one_each(rows: Sequence[Row], rates: Mapping[int, Mapping[int, float]]) -> bool:
    """Whether each row has interrupts on one core at most."""
    numbers = [group[0].irq for _, group in rows]
    return all(
        sum(rate >= 0.5 for rate in rates.get(-1 if irq is None else irq, {}).values()) <= 1
        for irq in numbers
    )


def queue_table(
    rows: Sequence[Row],
    facts: Facts,
    titles: Line,
    order: tuple[str, bool],
    size: tuple[int, int],
    *,
    with_packets: bool,
) -> tuple[Line, list[Line]]:
    """The heading, `titles` first, and a line for each row.

    `order`: the sorted column, and whether it falls; `size`: columns of a row's head, and of all.
    """
    label, width = size
    cores = {core.cpu: core for core in facts.cores}
    shown = fitted(QUEUE_COLUMNS, width - label)
    title, down = order
    head = fit_line((*titles, *shown.heading(title, down=down)), width)
    return head, [_row(one, cores, shown, label, with_packets=with_packets) for one in rows]


def _row(
    row: Row, cores: Mapping[int, Core], shown: Table, label: int, *, with_packets: bool
) -> Line:
    first = row[1][0]
    core = cores.get(-1 if first.cpu is None else first.cpu)
    load = None if core is None else core_load(core)
    left = row_head(row, load, label, with_packets=with_packets)
    if core is None:
        return left + shown.row(NOTHING)
    cells = corelist.core_cells(core)
    known = [cells[at] for at in _AT]
    allowed = (cpulist.text(first.allowed) if first.allowed else "", "dim")
    return left + shown.row((*known[:-2], allowed, *known[-2:]))
