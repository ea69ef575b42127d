"""What the next frame will ask another host: one batch instead of a round trip for each file.

A table asks mostly what it asked before, and some requests only every ten seconds or so: each is
asked for when it is due again. Tables that were not read yet are rehearsed: their collectors run
with the answers that are known, until they ask for nothing more.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, NamedTuple

from .. import collect
from ..collect import Memory
from ..files import interrupt
from ..host.source import Ask, Batches, HostLostError, Lead, Source

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
