"""The only loop in the program: a frame each interval, from whatever source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

from .. import collect
from ..frame.rates import Frame, Partly, entries
from ..host.source import Source
from ..terms.errors import sentence

_NEVER = (float("-inf"), float("inf"))
_NONE: Mapping[str, float] = MappingProxyType({})


@dataclass
class Sampler:
    """Takes frames; remembers only what the next one needs."""

    source: Source
    last: Frame | None = None
    taken: dict[str, tuple[float, float]] = field(default_factory=dict)  # of which frame, and when
    stale: set[str] = field(default_factory=set)
    memory: dict[str, dict[str, Any]] = field(default_factory=dict)

    def refresh(self, names: Collection[str] = ()) -> None:
        """Read these dear tables (all, when none is named) afresh in the next frame."""
        self.stale.update(names or self.taken)

    def anew(self) -> Sampler:
        """One for a source that begins anew: without rates, but with what was made of texts."""
        timeless = {n: m for n, m in self.memory.items() if collect.timeless(n)}
        return Sampler(self.source, memory=timeless)

    def take(self, wanted: Collection[str], waits: Mapping[str, float] = _NONE) -> Frame:
        """One frame; of `wanted`, those in `waits` may be so many seconds old.

        A collector that fails is a sentence in `missing`, never an exception; so is what one of
        them could not read of its table (`Partly`).
        """
        source = self.source
        at = source.now()
        old = self.last
        tables: dict[str, Any] = {}
        missing: dict[str, str] = {}
        cost: dict[str, float] = {}
        todo = sorted(wanted)
        for name in todo:
            try:
                module, every, instead, memory_of, kept_open = _plan(name)
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
            begun = source.now()  # its own time: on a large host the tables of a frame lie apart
            self.stale.discard(name)
            self.taken[name] = at, begun
            try:
                if memory_of is not None:
                    rows = module.update(source, self.memory.setdefault(memory_of, {}))
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


@cache
def _plan(name: str) -> tuple[Any, float, str, str | None, tuple[str, ...]]:
    """A collector's module, seconds between readings, fallback, memory key and files kept open.

    Cached: to look up absent attributes in every frame costs as much as reading a small table.
    """
    module = collect.collector(name)
    own = getattr(module, "MEMORY", name) if hasattr(module, "update") else None
    files = getattr(module, "KEEP_OPEN", ())
    return module, getattr(module, "EVERY", 0.0), getattr(module, "ELSE", name), own, files


def frames(
    source: Source, wanted: Callable[[], Collection[str]], interval: Callable[[], float]
) -> Iterator[Frame]:
    """Frames `interval()` seconds apart on the source's clock, until a recording ends."""
    sampler = Sampler(source)
    due = source.now()
    while True:
        yield sampler.take(wanted())
        due = max(due + interval(), source.now())
        if not source.wait(due - source.now()):
            return
