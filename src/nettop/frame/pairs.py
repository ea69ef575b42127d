"""Pairs each row of a table with the row of the same labels in the reading before.

A collector that parses only what changed returns the same row object again; that is found without
a look at its values.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from itertools import chain, repeat
from operator import attrgetter, is_
from typing import Any, Final, TypeVar

from ..terms.dataclass import DataclassInstance
from .fields import Columns, Packed, key_of, places
from .rates import Counted, Entry

_Row = TypeVar("_Row", bound="DataclassInstance")
SLOW: Final = 3000.0  # bytes/s: a quarter of the lowest rate of a judged flow
_NOTHING: Final = 0, 0


class Calm(Entry[_Row]):
    """An entry of a packed row that moved little since the last reading; nothing waits in it."""

    __slots__ = ("received", "sent")

    def __init__(
        self, now: _Row, before: _Row, seconds: float, moved: tuple[int, int], *, still: bool
    ) -> None:
        """`moved`: bytes received and acknowledged in these `seconds`."""
        self.now, self._before, self._seconds, self.still = now, before, seconds, still
        self._older = self._per_s = None
        self.received, self.sent = moved

    @property
    def moved(self) -> int:
        """Bytes in both directions since the last reading."""
        return self.received + self.sent

    @property
    def rx_tx(self) -> tuple[float, float]:
        """Bytes received and acknowledged per second."""
        seconds = self._seconds
        return self.received / seconds, self.sent / seconds


def _counted(
    rows: Columns[_Row], before: Sequence[Entry[_Row]], seconds: float
) -> Sequence[Entry[_Row]] | None:
    """The entries of rows with the keys of `before`, in its order; None for other keys."""
    if not before:
        return Counted(rows, None, 0.0)
    if not isinstance(before, Counted):
        return None
    last = before.now
    labels = [f.name for f in fields(rows.kind) if f.metadata["kind"] == "label"]
    same = all(rows.column(name) == last.column(name) for name in labels)
    return Counted(rows, last, seconds, before.past) if same else None


_NOW: Final = attrgetter("now")
_STILL: Final = attrgetter("still")


def _same(rows: Sequence[_Row], before: Sequence[Entry[_Row]]) -> bool:
    """Whether these rows are the objects of `before`; without Python code, for 60,000 features."""
    return len(rows) == len(before) and all(map(is_, map(_NOW, before), rows))


def kept(rows: Sequence[_Row], before: Sequence[Entry[_Row]]) -> Sequence[_Row]:
    """`rows`; a row equal to the previous row at its position is replaced by that object.

    Facts that were joined with it are then reused. For settings, which seldom change.
    """
    if _same(rows, before):
        return rows
    olds = chain(before, repeat(None))
    pairs = zip(rows, olds)  # noqa: B905 - one is endless
    return [
        row if old is None or old.now is row or old.now != row else old.now for row, old in pairs
    ]


def entries(
    rows: Sequence[_Row], before: Sequence[Entry[_Row]], seconds: float
) -> Sequence[Entry[_Row]]:
    """Pair each row with the previous row of the same key, `seconds` earlier.

    A collector that parses only what changed returns the same row object again. Such a row with
    rates of zero keeps its entry, which costs one comparison.
    """
    if not rows:
        return before if not before else []  # the same object, so that joined facts are reused
    if isinstance(rows, Columns):
        counted = _counted(rows, before, seconds)
        if counted is not None:
            return counted
    if all(map(_STILL, before)) and _same(rows, before):
        return before
    if not before:
        return [Entry(row, seconds=seconds) for row in rows]
    pairs = _Pairs(before, key_of(type(rows[0])))
    out: list[Entry[_Row]] = []
    for row, old in zip(rows, chain(before, repeat(None))):  # noqa: B905 - one is endless
        last = old if old is not None and old.now is row else pairs.of(row, old)
        if last is None:
            out.append(Entry(row, seconds=seconds))
        elif last.now is row or (not isinstance(row, Packed) and last.now == row):
            out.append(last if last.still else _still(row, last, seconds))
        else:
            out.append(_moved(row, last, seconds))
    return out


class _Pairs:
    """Finds the entry of the same labels in the last reading of a table."""

    def __init__(self, before: Sequence[Entry[Any]], key: Callable[[Any], Hashable]) -> None:
        self.before = before
        self.key = key
        self.by_key: Mapping[Hashable, Entry[Any]] | None = None
        self.by_life: Mapping[Hashable, Entry[Any]] | None = None

    def of(self, row: Any, old: Entry[Any] | None) -> Entry[Any] | None:
        """The last entry of what `row` is about; `old` was at the place of the row."""
        if isinstance(row, Packed):  # one of thousands: reading its labels takes a while
            if old is not None and isinstance(old.now, Packed) and old.now.life is row.life:
                return old
            if self.by_life is None:
                self.by_life = {e.now.life: e for e in self.before if isinstance(e.now, Packed)}
            found = self.by_life.get(row.life)
            if found is not None and found.now.life is row.life:
                return found
        name = self.key(row)
        if old is not None and self.key(old.now) == name:
            return old
        if self.by_key is None:  # a row came or went, so positions differ
            self.by_key = {self.key(e.now): e for e in self.before}
        return self.by_key.get(name)


def _still(row: Any, last: Entry[Any], seconds: float) -> Entry[Any]:
    """The entry of a row that did not change."""
    if isinstance(row, Packed) and row.idle and seconds > 0:
        return Calm(row, row, seconds, _NOTHING, still=True)
    return Entry(row, before=row, older=last.past, seconds=seconds, still=seconds > 0)


@cache
def _index(kind: type[DataclassInstance]) -> Callable[[Any], int | None]:
    """The function that returns the interface index of a row, None if it has none."""
    return attrgetter("index") if "index" in places(kind) else lambda _row: None


def _moved(row: Any, last: Entry[Any], seconds: float) -> Entry[Any]:
    """The entry of a row that has changed."""
    before = last.now
    if isinstance(row, Packed) and isinstance(before, Packed):
        moved = row.little(before, SLOW * seconds) if seconds > 0 else None
        if moved is not None:
            return Calm(row, before, seconds, moved, still=False)
        return Entry(row, before=before, seconds=seconds)
    kind: type[DataclassInstance] = type(row)
    index = _index(kind)
    if index(row) != index(before):  # another interface of this name
        return Entry(row, seconds=seconds)
    return Entry(row, before=before, older=last.past, seconds=seconds)
