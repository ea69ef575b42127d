"""Rows of the lines of a text: a line that cannot be read hides no other one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from ..frame.rates import Partly

_Line = TypeVar("_Line")
_Row = TypeVar("_Row", bound=Any)


def rows(lines: Iterable[_Line], row: Callable[[_Line], _Row | None], file: str) -> Sequence[_Row]:
    """`row` of each line, without None; a `Partly` if it raised ValueError for some of them.

    ValueError if it did for all.
    """
    found: list[_Row] = []
    wrong: list[str] = []
    for line in lines:
        try:
            one = row(line)
        except ValueError as error:
            wrong.append(f"{file}: {error}")
            continue
        if one is not None:
            found.append(one)
    return without(found, wrong)


def without(found: Sequence[_Row], wrong: Sequence[str]) -> Sequence[_Row]:
    """The rows, and a sentence for each line that is left out; ValueError without a row."""
    if wrong and not found:
        raise ValueError(wrong[0])
    return Partly(found, f"{wrong[0]}; lines left out: {len(wrong)}") if wrong else found


def together(*tables: Sequence[_Row]) -> Sequence[_Row]:
    """The rows of several texts."""
    found = [row for table in tables for row in table]
    why = [table.why for table in tables if isinstance(table, Partly)]
    return Partly(found, "; ".join(why)) if why else found


def named(text: str) -> dict[str, str]:
    """The lines `NAME: VALUE` of a text."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in pairs}
