"""A long table of light rows as columns: a row is made only where one is used.

A host of a thousand CPUs has thousands of rows about them, new in each second, and facts are made
from some of their columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cache, partial
from operator import eq
from typing import Any, Self, TypeVar, overload

from ..terms.dataclass import DataclassInstance

_Row = TypeVar("_Row", bound="DataclassInstance")


class Columns(Sequence[_Row]):
    """Rows of the light class `kind`, by column, in the order of its fields. Immutable."""

    __slots__ = ("columns", "kind")

    def __init__(self, kind: type[_Row], columns: Sequence[Sequence[Any]]) -> None:
        """Each column has a value for each row."""
        self.kind = kind
        self.columns = tuple(columns)

    def column(self, name: str) -> Sequence[Any]:
        """The values of one field."""
        return self.columns[places(self.kind)[name]]

    def like(self, before: Self | None) -> Self:
        """These rows, with the columns of `before` that are equal; `before` itself if all are.

        The rates of such a column are zero, without a comparison of its values.
        """
        if before is None:
            return self
        pairs = list(zip(self.columns, before.columns, strict=True))
        if all(new is old or new == old for new, old in pairs):
            return before
        return type(self)(self.kind, [old if new == old else new for new, old in pairs])

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.columns[0])

    def __iter__(self) -> Iterator[_Row]:
        """The rows."""
        make: partial[_Row] = partial(tuple.__new__, self.kind)  # type: ignore[type-var]
        return map(make, zip(*self.columns, strict=True))

    @overload
    def __getitem__(self, place: int) -> _Row: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[_Row]: ...
    def __getitem__(self, place: int | slice) -> _Row | Sequence[_Row]:
        """One row, or several."""
        if isinstance(place, slice):
            return Columns(self.kind, [column[place] for column in self.columns])
        row: _Row = tuple.__new__(self.kind, [column[place] for column in self.columns])  # type: ignore[type-var]
        return row

    def __eq__(self, other: object) -> bool:
        """Equal to a sequence of equal rows."""
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


@cache
def places(kind: type[DataclassInstance]) -> dict[str, int]:
    """The position of each field of a row class."""
    return {field.name: place for place, field in enumerate(fields(kind))}


def columns(kind: type[_Row], rows: Sequence[_Row]) -> Columns[_Row]:
    """These rows by column."""
    every: Sequence[Sequence[Any]] = list(zip(*rows, strict=True))
    return Columns(kind, every or [()] * len(fields(kind)))
