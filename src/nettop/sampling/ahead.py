"""What the next frame will ask another host: one batch instead of a round trip for each file.

A table asks mostly what it asked before, and some requests only in every tenth reading or so: each
is asked for when it is due again. Tables that were not read yet are rehearsed: their collectors run
with the answers that are known, until they ask for nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from .. import collect
from ..collect import Memory
from ..files import interrupt
from ..host.source import Ask, Batches, HostLostError, Source

_ROUNDS: Final = 8  # rehearsals at the most; what is still missing is asked for one by one
_KEPT: Final = 3  # readings of a table in which a request that it made is expected again
_KNOWN: Final = 40  # readings after which a request that it no longer makes is forgotten


class Ahead:
    """The requests of each table."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        # the reading that last made the request, and the number of readings since the one before
        self._tables: dict[str, dict[Ask, tuple[int, int]]] = {}
        self._readings: dict[str, int] = {}

    def fetch(self, batches: Batches, due: Sequence[str], source: Source) -> float:
        """Ask for all that these tables will read; the seconds of the clock there."""
        batches.asked()  # what others asked since the last frame
        new = [name for name in due if name not in self._tables]
        if new:
            batches.rehearse(lambda: self._rehearse(source, batches, new))
        at = self._fetch(batches, due)
        for _ in range(_ROUNDS - 1 if new else 0):
            if not batches.rehearse(lambda: self._rehearse(source, batches, new)):
                break
            # everything again, so that the frame is of one moment
            at = self._fetch(batches, due)
        return at

    def _fetch(self, batches: Batches, due: Sequence[str]) -> float:
        return batches.fetch({ask for name in due for ask in self._expected(name)})

    def _expected(self, table: str) -> Iterator[Ask]:
        """The requests that the next reading of the table will probably make."""
        reading = self._readings.get(table, 0) + 1
        for ask, (last, gap) in self._tables.get(table, {}).items():
            passed = reading - last
            if passed <= _KEPT if gap == 1 else abs(passed - gap) <= 1:
                yield ask

    def keep(self, table: str, asked: Collection[Ask]) -> None:
        """The table was read, and asked this."""
        reading = self._readings[table] = self._readings.get(table, 0) + 1
        known = self._tables.setdefault(table, {})
        for ask in asked:
            known[ask] = reading, reading - known[ask][0] if ask in known else 1
        for ask in [ask for ask, (last, _) in known.items() if reading - last >= _KNOWN]:
            del known[ask]

    def _rehearse(self, source: Source, batches: Batches, tables: Sequence[str]) -> None:
        """Read tables as in a first frame, and those that are read instead of one that fails."""
        memories: dict[str, Memory] = {}
        todo = list(tables)
        for name in todo:
            module = collect.collector(name)
            try:
                if hasattr(module, "update"):
                    key = getattr(module, "MEMORY", name)
                    module.update(source, memories.setdefault(key, {}))
                else:
                    module.read(source)
            except HostLostError:
                raise
            except Exception as error:
                if interrupt.replaced(error):
                    raise KeyboardInterrupt from error
                todo += {getattr(module, "ELSE", name)}.difference(todo)
            self._tables.setdefault(name, {}).update(dict.fromkeys(batches.asked(), (0, 1)))


def prepare(source: Source, work: Callable[[], object]) -> None:
    """Ask another host for all that `work` will read, in a few round trips; here do nothing."""
    batches = source.batches
    for _ in range(_ROUNDS if batches is not None else 0):
        assert batches is not None  # noqa: S101
        missed = batches.rehearse(work)
        if not missed:
            return
        batches.add(missed)
