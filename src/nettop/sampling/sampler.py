"""The sampling loop: one frame in each interval, from any source, or from two hosts.

Of two hosts the sockets of the other are answered first, and those of this host are read before and
after that: a whole frame takes long, and a flow at 1 Gb/s sends ten thousand segments meanwhile.
All that is asked of the other host is one round trip.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any, Final

from .. import collect
from ..collect import Memory
from ..collect._table import recall
from ..collect.ways import Asked, Question
from ..files import interrupt
from ..frame.pairs import entries, kept
from ..frame.rates import Both, Close, Entry, Frame, Partly, Unfinished
from ..host.recording import AFTER, BEFORE, THERE, apart
from ..host.source import SAME, HostLostError, Source
from ..terms.dataclass import dataclass
from ..terms.errors import sentence
from .ahead import Ahead, First

SAMPLES: Final = 4  # the least number of intervals that a command observes
SETTINGS: Final = 5.0  # seconds: a table with this interval or a longer one holds settings
_NEVER = (float("-inf"), float("inf"))
_NONE: Mapping[str, float] = MappingProxyType({})


@dataclass
class Sampler:
    """Takes frames, and remembers what the next one needs."""

    source: Source
    last: Frame | None = None
    taken: dict[str, tuple[float, float]] = field(
        default_factory=dict
    )  # at which frame and time, in seconds
    stale: set[str] = field(default_factory=set)
    memory: dict[str, Memory] = field(default_factory=dict)
    ahead: Ahead = field(default_factory=Ahead)
    spent: dict[str, float] = field(default_factory=dict)  # CPU seconds of the last frame's tables
    questions: tuple[Question, ...] = ()  # about ways: what a way needs is read for them
    asks: bool = True  # False: the sampler of a larger frame has asked for what this one reads

    def refresh(self, names: Collection[str] = ()) -> None:
        """Read these tables (all if none is named) in the next frame, whatever their interval."""
        self.stale.update(names or self.taken)

    def ask(self, questions: tuple[Question, ...], processes: tuple[int, ...] = ()) -> None:
        """Read the kernel's answers to these, and what a way needs, from the next frame on.

        `processes`: those that fail.
        """
        if not {*questions} <= {*self.questions}:
            self.stale.add("ways")
        self.questions = questions
        asked = recall(self.memory.setdefault("ways", {}), Asked)
        if not {*processes} <= {*asked.processes}:
            self.stale.add("host_names")
        asked.questions, asked.processes = questions, processes

    @property
    def unanswered(self) -> bool:
        """Whether the last frame made a question that only the next one can answer."""
        return "ways" in self.stale

    def anew(self) -> Sampler:
        """A sampler for a recording that restarts: no rates, only memory of timeless tables."""
        timeless = {
            name: memory for name, memory in self.memory.items()
            if name in collect.names() and collect.table(name).timeless
        }  # fmt: skip
        return Sampler(self.source, memory=timeless)

    def take(
        self, wanted: Collection[str], waits: Mapping[str, float] = _NONE,
        first: First | None = None,
    ) -> Frame:  # fmt: skip
        """Take one frame; tables in `waits` may be that many seconds old.

        What `first` reads is asked before all else where requests go in batches.

        A collector that fails gives a sentence in `missing` and never an exception. So does a table
        of which a part could not be read (`Partly`).
        """
        source, batches, old = self.source, self.source.batches, self.last
        at = source.now()
        rested = {name: at - age for name, age in source.ages.items()}  # when they were read
        wanted = frozenset((*wanted, *(collect.asked() if self.questions else ())))
        known = frozenset(collect.names())
        todo = [*collect.together(wanted, known)]
        due = {name for name in todo if name in known and self._due(name, at, waits, rested)}
        at = self._fetch(due, at, first)
        tables: dict[str, Sequence[Entry[Any]]] = {}
        missing: dict[str, str] = {}
        cost: dict[str, float] = {}
        self.spent = {}
        for name in todo:
            if name not in known:
                missing[name] = "no such collector"
                continue
            # a table that is not wanted is read instead of one
            rests = name in wanted or not self._due(name, at, waits, rested)
            if old is not None and name not in due and rests:
                if name in old.missing:
                    missing[name] = old.missing[name]
                if name in old.tables:
                    tables[name] = old.tables[name]
                    continue
                if name in old.missing:
                    todo += {_instead(name)}.difference(todo)
                    continue
            started = source.now()  # per table: on a large host reading a frame takes long
            worked = time.thread_time()
            try:
                begun = rested.get(name, started if batches is None else at)
                tables[name] = self._read(name, rested.get(name, at), begun, missing)
            except HostLostError:
                raise
            except Exception as error:
                if interrupt.replaced(error):
                    raise KeyboardInterrupt from error
                missing[name] = sentence(error)
                todo += {_instead(name)}.difference(todo)
                self.memory.pop(name, None)
            if batches is not None:
                self.ahead.keep(name, batches.asked())
            cost[name] = source.now() - started
            self.spent[name] = time.thread_time() - worked
        if batches is not None:
            batches.end()
        source.keep_ages({name: at - self.taken[name][0] for name in todo if name in self.taken})
        self.last = Frame(at, source.wall(), tables, missing, cost)
        return self.last

    def _fetch(self, due: Collection[str], at: float, first: First | None) -> float:
        """Ask another host for what these tables will read; the time of the frame."""
        batches = self.source.batches
        if batches is None or not self.asks:
            return at
        failed = self.last.missing if self.last is not None else {}
        stand_ins = {_instead(name) for name in due if name in failed}
        return self.ahead.fetch(batches, sorted({*due, *stand_ins}), self.source, first)

    def every(self, name: str, waits: Mapping[str, float] = _NONE) -> float:
        """Seconds between two readings of a table, as declared and in `waits`."""
        return max(collect.table(name).every, waits.get(name, 0.0))

    def _due(
        self, name: str, at: float, waits: Mapping[str, float], rested: Mapping[str, float]
    ) -> bool:
        """Whether the table is read in a frame at `at`; `rested`: when a recording read it last."""
        last = self.taken.get(name, _NEVER)[0]
        passed, least = at - last, self.every(name, waits) * 0.95
        if rested:
            passed = rested.get(name, at) - last
            if name in rested and abs(passed) < SAME:
                return False  # the recording has nothing new
            if self.every(name) >= SETTINGS:
                least = SAME  # the recording may end before the interval has passed again
        # a time in the future: the other host has booted
        return not 0.0 <= passed < least or name in self.stale or self.last is None

    def _read(
        self, name: str, at: float, begun: float, missing: dict[str, str]
    ) -> Sequence[Entry[Any]]:
        """The rows of a table, read at `begun`; any exception of its collector."""
        table, (_, since) = collect.table(name), self.taken.get(name, _NEVER)
        if since is _NEVER[1] and table.keep_open:
            self.source.keep_open(table.keep_open)
        self.stale.discard(name)
        self.taken[name] = at, begun
        rows = collect.rows(name, self.source, self.memory)
        if isinstance(rows, Partly):
            missing[name] = rows.why
            if isinstance(rows, Unfinished):
                self.stale.add(name)
        past = self.last.tables.get(name, ()) if self.last is not None else ()
        if table.every >= SETTINGS:
            rows = kept(rows, past)
        return entries(rows, past, max(0.0, begun - since))


def _instead(name: str) -> str:
    """The table to read if this one fails; itself for none."""
    return collect.table(name).instead or name


def frames(
    source: Source, wanted: Callable[[], Collection[str]], interval: Callable[[], float]
) -> Iterator[Frame]:
    """Frames `interval()` seconds apart on the source's clock; a recording ends them."""
    sampler = Sampler(source)
    due = source.now()
    while True:
        yield sampler.take(wanted())
        due = max(due + interval(), source.now())
        if not source.wait(due - source.now()):
            return


_SOCKETS: Final = ("sockets_tcp",)


class CloseSampler:
    """Takes frames of the other host, and the small frames, which have samplers of their own."""

    def __init__(self, here: Source, there: Sampler) -> None:
        """The source of this host; in a recording the small frames are entries apart."""
        self.there = there
        self._near, self._far = Sampler(here), Sampler(there.source, asks=False)
        self._before: Frame | None = None
        self._after: Frame | None = None
        self._clocks = 0.0, 0.0

    def take(self, wanted: Collection[str]) -> tuple[Frame, Close]:
        """The frame of the other host; the sockets of both. HostLostError if one is not read."""
        self._before = self._after = None
        frame = self.there.take(wanted, first=First(_SOCKETS, self.before, self.after))
        batched = self._after is not None
        if not batched:  # it answers each request at once
            self.before()
        with apart(self._far.source, THERE):
            there = self._far.take(_SOCKETS)
        if batched:
            there = replace(there, at=self._clocks[0], wall=self._clocks[1])
        else:
            self.after()
        assert self._before is not None  # noqa: S101
        assert self._after is not None  # noqa: S101
        return frame, Close(self._before, there, self._after)

    def before(self) -> None:
        """Read the sockets of this host before those of the other."""
        with apart(self._near.source, BEFORE):
            self._before = self._near.take(_SOCKETS)

    def after(self) -> None:
        """Read them after those of the other."""
        self._clocks = self.there.source.now(), self.there.source.wall()
        with apart(self._near.source, AFTER):
            self._after = self._near.take(_SOCKETS)


@dataclass(slots=True)
class BothSampler:
    """Takes frames of two hosts with the sampler of each."""

    here: Sampler
    there: Sampler
    _close: CloseSampler = field(init=False)

    def __post_init__(self) -> None:
        """The sources are those of the samplers."""
        self._close = CloseSampler(self.here.source, self.there)

    def take(self, wanted: Collection[str]) -> Both:
        """One frame of each host. HostLostError when one cannot be read."""
        there, close = self._close.take(wanted)
        return Both(self.here.take(wanted), there, close)


def paced(
    source: Source, seconds: float, interval: float, begin: float | None = None
) -> Iterator[bool]:
    """Wait for each sample of the `seconds` from `begin` (now) on, of a recording to its end.

    Whether it is the last one, which a recording does not know. A late sample delays the next: no
    interval is short. A host on which each takes long is looked at for up to twice the time.
    """
    due, taken = source.now() if begin is None else begin, 0
    end = due + seconds - interval / 2
    while source.ends or source.now() < end + seconds * (taken < SAMPLES):
        due = max(due + interval, source.now())
        if not source.wait(due - source.now()):
            return
        taken += 1
        yield not source.ends and source.now() >= end and taken >= SAMPLES
