"""A table with configurable columns, named by their headings in lower case.

[columns]
flows = ["process", "peer", "limit", "rtt"]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from ..terms.dataclass import dataclass
from ..terms.text import Line
from ..views.view import Spot
from .parts import Cell, Column, heading, row, sort_rows, widths

T = TypeVar("T")

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

    def heading(self, sort: str = "", *, down: bool = True) -> Line:
        """The titles; `sort` is that of the sorted column."""
        at = column_of(self.columns, sort)
        return (*_EDGE, *heading(self.columns, self.sizes, at, down))

    def has(self, title: str) -> bool:
        """Whether there is room for the column of that title."""
        at = column_of(self.columns, title)
        return at >= 0 and self.sizes[at] > 0

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


@dataclass(frozen=True, slots=True)
class Order(Generic[T]):
    """A sort order: the title of its column, "" for none, and the value of a row."""

    title: str
    value: Callable[[T], float | str | None]
    down: bool = True  # the largest first


def ordered(rows: Sequence[T], orders: Sequence[Order[T]], spot: Spot) -> list[T]:
    """The rows in the chosen order."""
    one = orders[spot.sort % len(orders)]
    return sort_rows(rows, one.value, down=one.down != spot.invert)


def marked(orders: Sequence[Order[T]], spot: Spot) -> tuple[str, bool]:
    """The title of the sorted column, and whether the largest value is first."""
    one = orders[spot.sort % len(orders)]
    return one.title, one.down != spot.invert


def column_of(columns: Sequence[Column], title: str) -> int:
    """The index of the column with that title; -1 if there is none."""
    titles = [column.title.strip() for column in columns]
    return titles.index(title) if title in titles else -1
