"""Results of slow joins, kept while their input tables hold the same rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from operator import is_
from typing import Any, TypeVar

from ..frame.rates import Entry
from ..terms.dataclass import DataclassInstance, dataclass

_Row = TypeVar("_Row", bound="DataclassInstance")
_T = TypeVar("_T")


@dataclass(slots=True)
class Memo:
    """Values by name, each with the inputs it was computed from."""

    kept: dict[str, tuple[tuple[object, ...], Any]] = field(default_factory=dict)

    def get(
        self, name: str, inputs: tuple[object, ...], make: Callable[[], _T], *, rates: bool = False
    ) -> _T:
        """The value of `make()`, computed again only if one of the inputs changed.

        Two sequences of entries are the same if their rows are the same objects or equal. With
        `rates`, the value depends on rates too, so each input must be the same object.
        """
        old = self.kept.get(name)
        if old is not None and all(map(is_ if rates else same, old[0], inputs)):
            value: _T = old[1]
            self.kept[name] = (
                inputs,
                value,
            )  # the newer objects: next time the comparison by identity succeeds
            return value
        value = make()
        self.kept[name] = inputs, value
        return value


def same(old: object, new: object) -> bool:
    """Whether an input is unchanged: entries are compared by row, other values by equality."""
    if old is new:
        return True
    if isinstance(old, tuple):
        return bool(old == new)
    if not isinstance(old, list) or not isinstance(new, list) or len(old) != len(new):
        return False
    if not old or not isinstance(old[0], Entry):
        return bool(old == new)
    for a, b in zip(old, new, strict=True):
        if a is not b and a.now is not b.now and a.now != b.now:
            return False
    return True


def rows(entries: Sequence[Entry[_Row]]) -> list[_Row]:
    """The present rows of these entries."""
    return [entry.now for entry in entries]
