"""Entries, rates and the frame: one sample of everything wanted.

A counter's rate is its growth per second since the row of the same key in the frame before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, partial
from itertools import chain, repeat
from operator import attrgetter, sub, truediv
from typing import Any, Self

from .fields import key_of


class Entry:
    """One row now, and the same row with its counters per second; not to be changed.

    `per_s` is None on the first frame. A counter that went back (device or namespace re-made,
    32-bit wrap) or is unknown has the rate None: never a negative or absurd one. Rates are worked
    out when first asked for: of ten thousand sockets only the busiest are.
    """

    __slots__ = ("_before", "_per_s", "_seconds", "now", "still")

    def __init__(
        self, now: Any, per_s: Any | None = None, *,
        before: Any | None = None, seconds: float = 0.0, still: bool = False,
    ) -> None:  # fmt: skip
        """`per_s`, or what it is made from: the row `before`, so many seconds ago.

        `still`: the row is the object that it was before, so that all rates are zero.
        """
        self.now = now
        self.still = still
        self._per_s = per_s
        self._before = before
        self._seconds = seconds

    @property
    def per_s(self) -> Any | None:
        """The row with every counter as a rate."""
        before = self._before  # read once: two threads may ask
        if before is None:
            return self._per_s
        rates = self._per_s = per_second(before, self.now, self._seconds)
        self._before = None
        return rates

    def rate(self, counter: str) -> float | None:
        """One counter's rate, without working out the others."""
        before = self._before
        if before is None:
            known: float | None = getattr(self._per_s, counter, None)
            return known
        was, now = getattr(before, counter), getattr(self.now, counter)
        if was is None or now is None or now < was or self._seconds <= 0:
            return None
        return (now - was) / self._seconds  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        """Equal rows and rates."""
        if not isinstance(other, Entry):
            return NotImplemented
        return bool(self.now == other.now and self.per_s == other.per_s)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """The row and its rates."""
        return f"Entry({self.now!r}, {self.per_s!r})"


@dataclass(frozen=True, slots=True)
class Frame:
    """One sample: monotonic and wall seconds, tables by name, what could not be read, costs."""

    at: float
    wall: float
    tables: Mapping[str, Sequence[Entry]]
    missing: Mapping[str, str] = field(default_factory=dict)
    cost: Mapping[str, float] = field(default_factory=dict)

    def rows(self, table: str) -> list[Any]:
        """The rows of a table as they are now; empty when it was not read."""
        return [entry.now for entry in self.tables.get(table, ())]


class Partly(tuple[Any, ...]):  # noqa: SLOT001 - a tuple's kind cannot have slots with names
    """The rows of a table of which a part could not be read; `why` is the sentence that says so."""

    why: str

    def __new__(cls, rows: Iterable[Any], why: str) -> Self:
        """The rows, as they would be without the part that is missing."""
        made = super().__new__(cls, rows)
        made.why = why
        return made


@cache
def _plan(
    kind: Any,
) -> tuple[tuple[tuple[int, bool], ...], Callable[[Any], list[Any]], Callable[[list[Any]], Any]]:
    """Where a row's counters stand (and whether vectors); a row as a list; a list as a row."""
    every = fields(kind)
    moving = tuple(
        (place, f.metadata["kind"] == "vector")
        for place, f in enumerate(every)
        if f.metadata.get("kind") in {"counter", "vector"}
    )
    names = [f.name for f in every]
    if issubclass(kind, tuple):
        return moving, list, partial(tuple.__new__, kind)
    if len(names) == 1:
        return moving, lambda row: [getattr(row, names[0])], lambda out: kind(*out)
    getter: Callable[[Any], tuple[Any, ...]] = attrgetter(*names)
    return moving, lambda row: list(getter(row)), lambda out: kind(*out)


@cache
def _run(kind: Any) -> slice | None:
    """Where a light row's counters stand, when they are plain and side by side."""
    moving = _plan(kind)[0]
    places = [place for place, _ in moving]
    beside = places and places == list(range(places[0], places[-1] + 1))
    if not beside or not issubclass(kind, tuple) or any(sparse for _, sparse in moving):
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


def per_second(old: Any | None, new: Any, seconds: float) -> Any | None:
    """`new` with every counter as a rate over `seconds` since `old`; None without a usable past."""
    if old is None or seconds <= 0:
        return None
    kind: Any = type(new)
    run = _run(kind)
    if run is not None:
        try:
            steps = list(map(sub, new[run], old[run]))
        except TypeError:  # one of them is unknown
            steps = [-1]
        if min(steps) >= 0:
            rates = map(truediv, steps, repeat(seconds))
            return tuple.__new__(kind, (*new[: run.start], *rates, *new[run.stop :]))
    moving, values, made = _plan(kind)
    if not moving:
        return new
    before, out = values(old), values(new)
    for place, sparse in moving:
        was, now = before[place], out[place]
        if sparse:
            out[place] = _vector_rate(was, now, seconds)
        else:
            step = None if was is None or now is None else now - was
            out[place] = None if step is None or step < 0 else step / seconds
    return made(out)


def entries(rows: Sequence[Any], before: Sequence[Entry], seconds: float) -> Sequence[Entry]:
    """Pair each row with its predecessor of the same key; an unchanged row keeps its entry.

    A row object that a collector hands out twice (it parses only what changed) and whose rates were
    already zero costs one comparison.
    """
    if not rows:
        return []
    if len(before) == len(rows) and all(
        e.now is r and e.still for e, r in zip(before, rows, strict=True)
    ):
        return before
    kind: Any = type(rows[0])
    key = key_of(kind)
    past: Mapping[Any, Entry] | None = None
    out = []
    for row, beside in zip(rows, chain(before, repeat(None))):  # noqa: B905 - one has no end
        old = beside
        if old is not None and old.now is row:
            if old.still:
                out.append(old)
            else:
                out.append(Entry(row, before=row, seconds=seconds, still=seconds > 0))
            continue
        name = key(row)
        if old is None or key(old.now) != name:  # rows came or went: no longer in step
            if past is None:
                past = {key(e.now): e for e in before}
            old = past.get(name)
        out.append(Entry(row, before=old.now if old is not None else None, seconds=seconds))
    return out
