"""Entries, rates and frames: one sample of the tables that a user asked for.

The rate of a counter is its growth per second since the row with the same key in the previous
frame. A driver or the kernel may show zeros for a moment: the step down has no rate, nor has the
step up to at least the value before it. A counter that was reset goes on from its new value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from functools import cache, cached_property, partial
from itertools import repeat
from operator import attrgetter, gt, sub, truediv
from typing import Any, Generic, NamedTuple, Self, TypeVar, overload

from ..terms.dataclass import DataclassInstance, dataclass
from .fields import Columns, Packed, places, whole

_Row = TypeVar("_Row", bound="DataclassInstance")


class Entry(Generic[_Row]):
    """One row, and the same row with its counters per second. Immutable for callers.

    `now` is the row as read. `per_s` is None in the first frame. The rate of a counter is None if
    the counter is unknown, decreased (device or namespace created again, 32-bit wrap), or came back
    to what it was before it decreased. Rates are computed at the first access, because of ten
    thousand sockets only the busiest are shown.
    """

    __slots__ = ("_before", "_older", "_per_s", "_seconds", "now", "still")

    def __init__(
        self, now: _Row, per_s: _Row | None = None, *,
        before: _Row | None = None, older: _Row | None = None, seconds: float = 0.0,
        still: bool = False,
    ) -> None:  # fmt: skip
        """Take `per_s` as given, or compute it later from the row `before`, `seconds` earlier.

        `older`: the last row that differed from `before`. `still`: the row did not change, so all
        rates are zero.
        """
        self.now = now
        self.still = still
        self._per_s = per_s
        self._before = before
        self._older = older
        self._seconds = seconds

    @property
    def past(self) -> _Row | None:
        """The last row that differed from `now`; None: not known."""
        return self._older if self._before is self.now else self._before

    @property
    def per_s(self) -> _Row | None:
        """The row with every counter replaced by its rate; None without a previous row."""
        before = self._before  # read once: two threads may ask
        if before is None or self._per_s is not None:
            return self._per_s
        rates = per_second(whole(before), whole(self.now), self._seconds, self._older)
        self._per_s = rates
        if isinstance(before, Packed):  # one of thousands
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
        older = getattr(self._older, counter, None)
        step = _step(getattr(self.now, counter), getattr(before, counter), older)
        return step / self._seconds if step is not None and self._seconds > 0 else None

    def unpacked(self) -> Entry[_Row]:
        """The entry with a whole row in place of a packed row."""
        if not isinstance(self.now, Packed):
            return self
        row, before = whole(self.now), self._before
        if before is None:
            return Entry(row, whole(self._per_s), still=self.still)
        before = row if self.still else whole(before)
        return Entry(row, before=before, seconds=self._seconds, still=self.still)

    def __eq__(self, other: object) -> bool:
        """Equal rows and rates."""
        if not isinstance(other, Entry):
            return NotImplemented
        return bool(self.now == other.now and self.per_s == other.per_s)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """The row and its rates."""
        return f"Entry({self.now!r}, {self.per_s!r})"


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


def _step(now: float | None, was: float | None, older: float | None = None) -> float | None:
    """The growth of a counter since `was`; None for one that fell, or fell and came back."""
    if now is None or was is None or now < was or (older is not None and was < older <= now):
        return None
    return now - was


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
    old: Mapping[int, int] | None, new: Mapping[int, int] | None, seconds: float,
    older: Mapping[int, int] | None,
) -> dict[int, float] | None:  # fmt: skip
    if old is None or new is None:
        return None
    if old is new:
        return {}
    rates = {}
    for cpu, count in new.items():
        step = _step(count, old.get(cpu, 0), older.get(cpu) if older else None)
        if step is None:
            return None
        if step:
            rates[cpu] = step / seconds
    return rates


def per_second(
    old: _Row | None, new: _Row, seconds: float, older: _Row | None = None
) -> _Row | None:
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
        past: Any = older
        if min(steps) >= 0 and not (past is not None and _fell(past[run], was[run])):
            rates = map(truediv, steps, repeat(seconds))
            return tuple.__new__(kind, (*now[: run.start], *rates, *now[run.stop :]))  # type: ignore[type-var]
    moving, values, make = _plan(kind)
    if not moving:
        return new
    before, out = values(old), values(new)
    earlier = [None] * len(out) if older is None else values(older)
    for place, sparse in moving:
        first, last = before[place], out[place]
        if sparse:
            out[place] = _vector_rate(first, last, seconds, earlier[place])
        else:
            step = _step(last, first, earlier[place])
            out[place] = None if step is None else step / seconds
    row: _Row = make(out)
    return row


def rates(table: Sequence[Entry[Any]], *names: str) -> list[Sequence[Any]]:
    """Columns of a table: labels and gauges as they are, counters per second.

    Rows without rates are left out: new rows, and all rows of the first frame.
    """
    if isinstance(table, Counted):
        return [table.rates(name) for name in names]
    known = [row for entry in table if (row := entry.per_s) is not None]
    return [[getattr(row, name) for row in known] for name in names]


class Counted(Sequence[Entry[_Row]]):
    """The entries of a table of columns, made only where one is used; rates by column.

    `before` are the rows of the same keys, in the same order, `seconds` earlier; None in the first
    frame. `older` are the last ones that differed from them.
    """

    def __init__(
        self, now: Columns[_Row], before: Columns[_Row] | None, seconds: float,
        older: Columns[_Row] | None = None,
    ) -> None:  # fmt: skip
        """Nothing is computed before it is used."""
        self.now = now
        self.before = before
        self.older = older
        self.seconds = seconds
        self._rates: dict[str, Sequence[Any]] = {}

    @property
    def past(self) -> Columns[_Row] | None:
        """The last rows that differed from `now`; None: not known."""
        return self.older if self.before is self.now else self.before

    def rates(self, name: str) -> Sequence[Any]:
        """The rates of a counter, or the values of a label or gauge; empty without rates."""
        if self.before is None or self.seconds <= 0:
            return ()
        found = self._rates.get(name)
        if found is None:
            new, old = self.now.column(name), self.before.column(name)
            counts = _counts(self.now.kind, name)
            older = self.older.column(name) if self.older is not None and counts else None
            found = _by_column(new, old, self.seconds, older) if counts else new
            self._rates[name] = found
        return found

    @cached_property
    def _entries(self) -> list[Entry[_Row]]:
        olds = self.before if self.before is not None else repeat(None)
        past = self.older if self.older is not None else repeat(None)
        return [
            Entry(row, before=old, older=older, seconds=self.seconds)
            for row, old, older in zip(self.now, olds, past)  # noqa: B905 - two may be endless
        ]

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.now)

    def __iter__(self) -> Iterator[Entry[_Row]]:
        """The entries."""
        return iter(self._entries)

    @overload
    def __getitem__(self, place: int) -> Entry[_Row]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Entry[_Row]]: ...
    def __getitem__(self, place: int | slice) -> Entry[_Row] | Sequence[Entry[_Row]]:
        """One entry, or several."""
        return self._entries[place]

    def __eq__(self, other: object) -> bool:
        """Equal to a sequence of equal entries."""
        return isinstance(other, Sequence) and self._entries == list(other)

    __hash__ = None  # type: ignore[assignment]


@cache
def _counts(kind: type[DataclassInstance], name: str) -> bool:
    return bool(fields(kind)[places(kind)[name]].metadata.get("kind") == "counter")


def _fell(older: Sequence[Any], old: Sequence[Any]) -> bool:
    """Whether a counter fell from `older` to `old`, or is unknown in one of them."""
    try:
        return any(map(gt, older, old))
    except TypeError:
        return True


def _by_column(
    new: Sequence[Any], old: Sequence[Any], seconds: float, older: Sequence[Any] | None
) -> Sequence[float | None]:
    """The rates of one counter of all rows; a single one is None as for `Entry`."""
    if new is old and None not in new:
        return [0.0] * len(new)
    try:
        steps: list[Any] = list(map(sub, new, old))
    except TypeError:  # a counter is unknown
        steps = [-1]
    if min(steps, default=0) >= 0 and not (older is not None and _fell(older, old)):
        return list(map(truediv, steps, repeat(seconds)))
    steps = list(map(_step, new, old, repeat(None) if older is None else older))
    return [None if step is None else step / seconds for step in steps]


@dataclass(frozen=True, slots=True)
class Close:
    """The TCP sockets of both hosts; the other host was read between `before` and `after`.

    No clock is compared: what this host counted at the moment of `there` lies between what it
    counted in `before` and in `after`.
    """

    before: Frame
    there: Frame
    after: Frame


@dataclass(frozen=True, slots=True)
class Both:
    """The frames of this host (`here`) and of the other (`there`)."""

    here: Frame
    there: Frame
    close: Close
