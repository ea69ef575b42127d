"""The sampling loop: one frame in each interval, from any source, or from two hosts.

Of two hosts the sockets of the other are answered first, and those of this host are read before and
after that: a whole frame takes long, and a flow at 1 Gb/s sends ten thousand segments meanwhile.
All that is asked of the other host is one round trip.

What the next frame will ask another host is one batch instead of a round trip for each file. A
table asks mostly what it asked before, and some requests only every ten seconds or so: each is
asked for when it is due again. Tables that were not read yet are rehearsed: their collectors run
with the answers that are known, until they ask for nothing more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from .. import collect
from ..collect import Memory
from ..collect._table import recall
from ..collect.ways import Asked, Question
from ..files import interrupt
from ..frame.pairs import entries, kept
from ..frame.rates import Both, Close, Entry, Frame, Partly, Unfinished
from ..host.recording import AFTER, BEFORE, THERE, apart
from ..host.source import SAME, Ask, Batches, HostLostError, Lead, Source
from ..terms.dataclass import dataclass
from ..terms.errors import sentence

_ROUNDS: Final = 8  # rehearsals at the most; what is still missing is asked for one by one
_KEPT: Final = 3  # readings of a table in which a request that it made is expected again
_EARLY, _LATE = 0.8, 1.5  # parts of a pause in which a request that rests is expected again
_AGAIN: Final = 10.0  # seconds: a list of the kernel that rests is mostly read again after these
_KNOWN: Final = 40  # readings after which a request that it no longer makes is forgotten


class _Made(NamedTuple):
    """When a table last made a request."""

    reading: int
    at: float  # seconds
    pause: float | None = None  # seconds since the time before; None: it does so in each reading


class First(NamedTuple):
    """Tables that are read before all others, and what is done before and right after that."""

    tables: tuple[str, ...]
    before: Callable[[], None]
    after: Callable[[], None]


class Ahead:
    """The requests of each table."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._tables: dict[str, dict[Ask, _Made]] = {}
        self._readings: dict[str, int] = {}
        self._at = 0.0  # seconds there, of the last frame

    def fetch(
        self, batches: Batches, due: Sequence[str], source: Source, first: First | None = None
    ) -> float:
        """Ask for all that these tables will read; the seconds of the clock there."""
        batches.asked()  # what others asked since the last frame
        tables = {*due, *(first.tables if first is not None else ())}
        new = sorted(tables.difference(self._tables))  # then also what is read instead of these
        if new:
            batches.rehearse(lambda: self._rehearse(source, batches, new))
        at = self._fetch(batches, {*due, *new}, source, first)
        for _ in range(_ROUNDS - 1 if new else 0):
            if not batches.rehearse(lambda: self._rehearse(source, batches, new)):
                break
            # everything again, so that the frame is of one moment
            at = self._fetch(batches, {*due, *new}, source, first)
        return at

    def _fetch(
        self, batches: Batches, due: Collection[str], source: Source, first: First | None
    ) -> float:
        now = source.now()
        asks = {ask for name in due for ask in self._expected(name, now)}
        lead = None
        if first is not None:
            leading = {ask for name in first.tables for ask in self._expected(name, now)}
            lead = Lead(leading, first.before, first.after)
        self._at = batches.fetch(asks, lead)
        return self._at

    def _expected(self, table: str, at: float) -> Iterator[Ask]:
        """The requests that the next reading of the table, at this time, will probably make."""
        from ..host.patterns import NETLINK  # late: the screen of this host does not need it

        reading = self._readings.get(table, 0) + 1
        for ask, made in self._tables.get(table, {}).items():
            pause = made.pause or (_AGAIN if ask[0] == NETLINK else None)
            recent = made.pause is None and reading - made.reading <= _KEPT
            if recent or (pause is not None and _EARLY <= (at - made.at) / pause <= _LATE):
                yield ask

    def keep(self, table: str, asked: Collection[Ask]) -> None:
        """The table was read, and asked this."""
        reading = self._readings[table] = self._readings.get(table, 0) + 1
        known = self._tables.setdefault(table, {})
        for ask in asked:
            last = known.get(ask)
            rested = last is not None and reading - last.reading > 1
            pause = self._at - last.at if last is not None and rested else None
            known[ask] = _Made(reading, self._at, pause or None)
        for ask in [ask for ask, made in known.items() if reading - made.reading >= _KNOWN]:
            del known[ask]

    def _rehearse(self, source: Source, batches: Batches, todo: list[str]) -> None:
        """Read tables as in a first frame; those that are read instead of one are added."""
        memories: dict[str, Memory] = {}
        for name in todo:
            try:
                collect.rows(name, source, memories)
            except HostLostError:
                raise
            except Exception as error:
                if interrupt.replaced(error):
                    raise KeyboardInterrupt from error
                todo += {collect.table(name).instead or name}.difference(todo)
            self._tables.setdefault(name, {}).update(
                dict.fromkeys(batches.asked(), _Made(0, self._at))
            )


def prepare(source: Source, work: Callable[[], object]) -> None:
    """Ask another host for all that `work` will read, in a few round trips; here do nothing."""
    batches = source.batches
    for _ in range(_ROUNDS if batches is not None else 0):
        assert batches is not None  # noqa: S101
        missed = batches.rehearse(work)
        if not missed:
            return
        batches.add(missed)


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

    def ask(self, questions: tuple[Question, ...]) -> None:
        """Read the kernel's answers to these, and what a way needs, from the next frame on."""
        if not {*questions} <= {*self.questions}:
            self.stale.add("ways")
        self.questions = questions
        recall(self.memory.setdefault("ways", {}), Asked).questions = questions

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
