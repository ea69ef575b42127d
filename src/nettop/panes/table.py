"""A table with configurable columns, named by their headings in lower case.

[columns]
flows = ["process", "peer", "limit", "rtt"]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..terms.text import Line
from .parts import Cell, Column, heading, row, widths

_EDGE: Final[Line] = ((" ", ""),)  # before the first column


def names_of(columns: Sequence[Column]) -> tuple[str, ...]:
    """The names of the columns in the configuration."""
    return tuple(column.title.lower() for column in columns)


@dataclass(frozen=True, slots=True)
class Table:
    """The columns in the order shown; the size of a column without room is 0."""

    order: tuple[int, ...]  # index of each column in the pane's own list
    columns: tuple[Column, ...]
    sizes: tuple[int, ...]

    def heading(self, sort: int = -1, *, down: bool = True) -> Line:
        """The titles; `sort` is the index of the sorted column in the pane's own list."""
        at = self.order.index(sort) if sort in self.order else -1
        return (*_EDGE, *heading(self.columns, self.sizes, at, down))

    def row(self, values: Sequence[Cell]) -> Line:
        """One line from a value for each of the pane's own columns."""
        text = row([values[index] for index in self.order], self.columns, self.sizes)
        return (*_EDGE, *text)


def fitted(columns: Sequence[Column], width: int, chosen: Sequence[str] = ()) -> Table:
    """The chosen columns (by default all) in `width` cells."""
    known = names_of(columns)
    order = tuple(known.index(name) for name in chosen if name in known) or range(len(columns))
    shown = tuple(columns[index] for index in order)
    return Table(tuple(order), shown, tuple(widths(shown, width - len(_EDGE))))
