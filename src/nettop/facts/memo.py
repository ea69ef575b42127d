"""Joins of what stands still are made once and kept while their tables hold the same rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any, TypeVar

from ..frame.rates import Entry

_T = TypeVar("_T")


@dataclass(slots=True)
class Memo:
    """Values by name, each with the inputs it was made from."""

    kept: dict[str, tuple[tuple[Any, ...], Any]] = field(default_factory=dict)

    def get(
        self, name: str, inputs: tuple[Any, ...], make: Callable[[], _T], *, rates: bool = False
    ) -> _T:
        """The value made from these inputs; made anew when one is another object.

        A sequence of entries is the same when its rows are: slow tables hand out the very list
        again, some quick ones the very rows, and a table read afresh mostly equal ones. `rates`:
        the value rests on rates too, so that only the very list will do.
        """
        old = self.kept.get(name)
        if old is not None and all(map(is_ if rates else same, old[0], inputs)):
            value: _T = old[1]
            self.kept[name] = inputs, value  # the newer ones: next time they are the very same
            return value
        made = make()
        self.kept[name] = inputs, made
        return made


def same(old: Any, new: Any) -> bool:
    """Whether an input is the same as before: entries by their rows, names by value."""
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


def rows(entries: Sequence[Any]) -> list[Any]:
    """The rows of entries as they are now."""
    return [entry.now for entry in entries]
