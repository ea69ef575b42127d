"""The sampling loop: one frame in each interval, from any source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

from .. import collect
from ..collect import Memory
from ..frame.rates import Entry, Frame, Partly, entries
from ..host.source import Source
from ..terms.errors import sentence

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

    def refresh(self, names: Collection[str] = ()) -> None:
        """Read these tables (all if none is named) in the next frame, whatever their interval."""
        self.stale.update(names or self.taken)

    def anew(self) -> Sampler:
        """A sampler for a recording that restarts: no rates, only memory of `TIMELESS` tables."""
        timeless = {n: m for n, m in self.memory.items() if collect.timeless(n)}
        return Sampler(self.source, memory=timeless)

    def take(self, wanted: Collection[str], waits: Mapping[str, float] = _NONE) -> Frame:
        """Take one frame; tables in `waits` may be that many seconds old.

        A collector that fails gives a sentence in `missing` and never an exception. So does a table
        of which a part could not be read (`Partly`).
        """
        source = self.source
        at = source.now()
        old = self.last
        tables: dict[str, Sequence[Entry[Any]]] = {}
        missing: dict[str, str] = {}
        cost: dict[str, float] = {}
        todo = sorted(set(wanted))  # a table read twice in a frame would have no interval
        for name in todo:
            try:
                module, every, instead, memory, kept_open = _plan(name)
            except KeyError:
                missing[name] = "no such collector"
                continue
            if name in waits:
                every = max(every, waits[name])
            asked, since = self.taken.get(name, _NEVER)
            if at - asked < every * 0.95 and old is not None and name not in self.stale:
                if name in old.missing:
                    missing[name] = old.missing[name]
                if name in old.tables:
                    tables[name] = old.tables[name]
                    continue
                if name in old.missing:
                    todo += {instead}.difference(todo)
                    continue
            if since is _NEVER[1] and kept_open:
                source.keep_open(kept_open)
            begun = source.now()  # per table: on a large host reading a frame takes long
            self.stale.discard(name)
            self.taken[name] = at, begun
            try:
                if memory is not None:
                    rows = module.update(source, self.memory.setdefault(memory, {}))
                else:
                    rows = module.read(source)
                if isinstance(rows, Partly):
                    missing[name] = rows.why
                past = old.tables.get(name, ()) if old is not None else ()
                tables[name] = entries(rows, past, max(0.0, begun - since))
            except Exception as error:
                missing[name] = sentence(error)
                todo += {instead}.difference(todo)
                self.memory.pop(name, None)
            cost[name] = source.now() - begun
        self.last = Frame(at, source.wall(), tables, missing, cost)
        return self.last


class _Declaration(NamedTuple):
    """What a collector declares (see `nettop.collect`)."""

    module: ModuleType
    every: float  # seconds
    instead: str
    memory: str | None  # its key; None for a collector without `update`
    kept_open: tuple[str, ...]


@cache
def _plan(name: str) -> _Declaration:
    """Cached, because looking up absent attributes costs as much as reading a small table."""
    module = collect.collector(name)
    own = getattr(module, "MEMORY", name) if hasattr(module, "update") else None
    files = getattr(module, "KEEP_OPEN", ())
    every: float = getattr(module, "EVERY", 0.0)
    return _Declaration(module, every, getattr(module, "ELSE", name), own, files)


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
