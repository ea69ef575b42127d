"""Entries, rates and frames: one sample of the tables that a user asked for.

The rate of a counter is its growth per second since the row with the same key in the previous
frame.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, partial
from itertools import chain, repeat
from operator import attrgetter, sub, truediv
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Self, TypeVar

from .fields import Packed, key_of, whole

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Row = TypeVar("_Row", bound="DataclassInstance")


class Entry(Generic[_Row]):
    """One row, and the same row with its counters per second. Immutable for callers.

    `now` is the row as read. `per_s` is None in the first frame. The rate of a counter is None if
    the counter is unknown or decreased (device or namespace created again, 32-bit wrap). Rates are
    computed at the first access, because of ten thousand sockets only the busiest are shown.
    """

    __slots__ = ("_before", "_per_s", "_seconds", "now", "still")

    def __init__(
        self, now: _Row, per_s: _Row | None = None, *,
        before: _Row | None = None, seconds: float = 0.0, still: bool = False,
    ) -> None:  # fmt: skip
        """Take `per_s` as given, or compute it later from the row `before`, `seconds` earlier.

        `still`: the collector returned the same object twice, so all rates are zero.
        """
        self.now = now
        self.still = still
        self._per_s = per_s
        self._before = before
        self._seconds = seconds

    @property
    def per_s(self) -> _Row | None:
        """The row with every counter replaced by its rate; None without a previous row."""
        before = self._before  # read once: two threads may ask
        if before is None:
            return self._per_s
        rates = self._per_s = per_second(whole(before), whole(self.now), self._seconds)
        self._before = None
        return rates

    @property
    def rated(self) -> bool:
        """Whether `per_s` is not None, without computing it."""
        return self._per_s is not None or (self._before is not None and self._seconds > 0)

    def rate(self, counter: str) -> float | None:
        """The rate of one counter, without computing the others."""
        before = self._before
        if before is None:
            known: float | None = getattr(self._per_s, counter, None)
            return known
        was: float | None = getattr(before, counter)
        now: float | None = getattr(self.now, counter)
        if was is None or now is None or now < was or self._seconds <= 0:
            return None
        return (now - was) / self._seconds

    def unpacked(self) -> Entry[_Row]:
        """The entry with a whole row in place of a packed row."""
        if not isinstance(self.now, Packed):
            return self
        row, before = whole(self.now), self._before
        if before is None:
            return Entry(row, whole(self._per_s), still=self.still)
        before = row if self.still else whole(before)
        return Entry(row, before=before, seconds=self._seconds, still=self.still)

    def uncounted(self) -> tuple[_Row, float] | None:
        """The row before and the seconds since then, if `per_s` is still to be computed."""
        before = self._before
        return None if before is None else (before, self._seconds)

    def count(self, rates: _Row) -> None:
        """Keep the rates that were computed with those of other entries."""
        self._per_s = rates
        self._before = None

    def __eq__(self, other: object) -> bool:
        """Equal rows and rates."""
        if not isinstance(other, Entry):
            return NotImplemented
        return bool(self.now == other.now and self.per_s == other.per_s)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """The row and its rates."""
        return f"Entry({self.now!r}, {self.per_s!r})"


class Calm(Entry[_Row]):
    """An entry of a packed row that moved little since the last reading; nothing waits in it."""

    __slots__ = ("received", "sent")

    def __init__(
        self, now: _Row, before: _Row, seconds: float, moved: tuple[int, int], *, still: bool
    ) -> None:
        """`moved`: bytes received and acknowledged in these `seconds`."""
        self.now, self._before, self._seconds, self.still = now, before, seconds, still
        self._per_s = None
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


SLOW: Final = 3000.0  # bytes/s: a quarter of the lowest rate of a judged flow
_NOTHING: Final = 0, 0
LONG: Final = 32  # rows of a table whose rates are computed by column

Tables = Mapping[str, Sequence[Any]]
"""Rows by table; the name of the table decides their class, that of its collector."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One sample of the host. The name of a table decides the class of its rows."""

    at: float  # seconds of the source's monotonic clock
    wall: float  # seconds since the epoch
    tables: Mapping[str, Sequence[Entry[Any]]]
    missing: Mapping[str, str] = field(default_factory=dict)  # table → why it could not be read
    cost: Mapping[str, float] = field(default_factory=dict)  # table → seconds that reading it took

    def rows(self, table: str) -> list[Any]:
        """The present rows of a table; empty if it was not read."""
        return [entry.now for entry in self.tables.get(table, ())]


class Partly(tuple[_Row, ...]):  # noqa: SLOT001 - a subclass of tuple cannot have named slots
    """The rows of a table of which a part could not be read; `why` is the sentence about it."""

    why: str

    def __new__(cls, rows: Iterable[_Row], why: str) -> Self:
        """Take the rows that could be read."""
        partly = super().__new__(cls, rows)
        partly.why = why
        return partly


class Unfinished(Partly[_Row]):
    """The rows of a table whose other rows the next frame reads, whatever its interval."""


class _RatePlan(NamedTuple):
    """How the rates of a row class are computed."""

    moving: tuple[tuple[int, bool], ...]  # position of each counter, and whether it is a vector
    values: Callable[[object], list[Any]]
    make: Callable[[list[Any]], Any]  # a row of these values


@cache
def _plan(kind: type[DataclassInstance]) -> _RatePlan:
    every = fields(kind)
    moving = tuple(
        (place, f.metadata["kind"] == "vector")
        for place, f in enumerate(every)
        if f.metadata.get("kind") in {"counter", "vector"}
    )
    names = [f.name for f in every]
    if issubclass(kind, tuple):
        values: Callable[[Any], list[object]] = list
        return _RatePlan(moving, values, partial(tuple.__new__, kind))
    if len(names) == 1:
        return _RatePlan(moving, lambda row: [getattr(row, names[0])], lambda out: kind(*out))
    getter = attrgetter(*names)
    return _RatePlan(moving, lambda row: list(getter(row)), lambda out: kind(*out))


@cache
def _run(kind: type[DataclassInstance]) -> slice | None:
    """The positions of a light row's counters if they are adjacent and none is a vector."""
    moving = _plan(kind).moving
    places = [place for place, _ in moving]
    adjacent = places and places == list(range(places[0], places[-1] + 1))
    if not adjacent or not issubclass(kind, tuple) or any(sparse for _, sparse in moving):
        return None
    return slice(places[0], places[-1] + 1)


def _vector_rate(
    old: Mapping[int, int] | None, new: Mapping[int, int] | None, seconds: float
) -> dict[int, float] | None:
    if old is None or new is None:
        return None
    if old is new:
        return {}
    rates = {}
    for cpu, count in new.items():
        step = count - old.get(cpu, 0)
        if step > 0:
            rates[cpu] = step / seconds
        elif step < 0:
            return None
    return rates


def per_second(old: _Row | None, new: _Row, seconds: float) -> _Row | None:
    """`new` with every counter as a rate over the `seconds` since `old`.

    None if there is no `old` or no time has passed; a single rate is None as for `Entry`.
    """
    if old is None or seconds <= 0:
        return None
    kind = type(new)
    run = _run(kind)
    if run is not None:  # both rows are tuples of numbers
        now: tuple[float, ...] = new  # type: ignore[assignment]
        was: tuple[float, ...] = old  # type: ignore[assignment]
        try:
            steps = list(map(sub, now[run], was[run]))
        except TypeError:  # a counter is unknown
            steps = [-1]
        if min(steps) >= 0:
            rates = map(truediv, steps, repeat(seconds))
            return tuple.__new__(kind, (*now[: run.start], *rates, *now[run.stop :]))  # type: ignore[type-var]
    moving, values, make = _plan(kind)
    if not moving:
        return new
    before, out = values(old), values(new)
    for place, sparse in moving:
        first, last = before[place], out[place]
        if sparse:
            out[place] = _vector_rate(first, last, seconds)
        else:
            step = None if first is None or last is None else last - first
            out[place] = None if step is None or step < 0 else step / seconds
    row: _Row = make(out)
    return row


def rated(table: Sequence[Entry[_Row]]) -> list[_Row | None]:
    """`per_s` of each entry, as a list. A long table of light rows is computed by column.

    That takes a third of the time: a host of a thousand CPUs has thousands of such rows.
    """
    run = _run(type(table[0].now)) if len(table) >= LONG else None
    if run is not None:
        _by_column(table, run)
    return [entry.per_s for entry in table]


def _by_column(table: Sequence[Entry[Any]], run: slice) -> None:
    """Compute the missing rates at once if that is simple: none unknown, none decreased."""
    waiting = [(entry, *one) for entry in table if (one := entry.uncounted()) is not None]
    if not waiting:
        return
    chosen, olds, spans = zip(*waiting, strict=True)
    seconds = spans[0]
    if seconds <= 0 or spans.count(seconds) != len(spans):
        return
    rows = [entry.now for entry in chosen]
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
    before = list(zip(*olds, strict=True))
    rates: list[Sequence[float | None]] = []
    for now, was in zip(columns[run], before[run], strict=True):
        if now.count(None) == len(now):  # this kernel does not have the counter
            rates.append(now)
            continue
        try:
            steps = list(map(sub, now, was))
        except TypeError:  # a counter is unknown
            return
        if min(steps) < 0:
            return
        rates.append(list(map(truediv, steps, repeat(seconds))))
    columns[run] = rates
    make = partial(tuple.__new__, type(rows[0]))
    for entry, row in zip(chosen, map(make, zip(*columns, strict=True)), strict=True):
        entry.count(row)


def kept(rows: Sequence[_Row], before: Sequence[Entry[_Row]]) -> Sequence[_Row]:
    """`rows`; a row equal to the previous row at its position is replaced by that object.

    Facts that were joined with it are then reused. For settings, which seldom change.
    """
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
    if len(before) == len(rows) and all(
        e.now is r and e.still for e, r in zip(before, rows, strict=True)
    ):
        return before
    if not before:
        return [Entry(row, seconds=seconds) for row in rows]
    pairs = _Pairs(before, key_of(type(rows[0])))
    out: list[Entry[_Row]] = []
    for row, old in zip(rows, chain(before, repeat(None))):  # noqa: B905 - one is endless
        last = old if old is not None and old.now is row else pairs.of(row, old)
        if last is None:
            out.append(Entry(row, seconds=seconds))
        elif last.now is row:
            out.append(last if last.still else _still(row, seconds))
        else:
            out.append(_moved(row, last.now, seconds))
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


def _still(row: Any, seconds: float) -> Entry[Any]:
    """The entry of a row that the collector returned twice."""
    if isinstance(row, Packed) and row.idle and seconds > 0:
        return Calm(row, row, seconds, _NOTHING, still=True)
    return Entry(row, before=row, seconds=seconds, still=seconds > 0)


def _moved(row: Any, before: Any, seconds: float) -> Entry[Any]:
    """The entry of a row that has changed."""
    if isinstance(row, Packed) and isinstance(before, Packed) and seconds > 0:
        moved = row.little(before, SLOW * seconds)
        if moved is not None:
            return Calm(row, before, seconds, moved, still=False)
    return Entry(row, before=before, seconds=seconds)
