"""Looks at a host for whoever asks for metrics: at most one a second, however many ask."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final

from .. import __version__, collect
from ..changes import status, target
from ..changes.entry import OPEN, JournaledChange
from ..changes.journal import Journal
from ..frame.rates import Frame
from ..host.source import Source
from ..settings import Host
from ..views.enough import shortfall
from ..views.observer import Observation, Observer, watch
from . import families as f
from . import values
from .families import Sample

REST: Final = 1.0  # the least number of seconds between two looks


class Looks:
    """Observes one host, and keeps the samples of the last observation."""

    def __init__(self, source: Source, observer: Observer) -> None:
        """`observer` observes `source`."""
        self.count = 0
        self.judged = False
        self._source, self._observer = source, observer
        self._rules = {rule.id: rule for rule in observer.judge.rules}
        self._lock = threading.Lock()
        self._at = 0.0
        self.last: tuple[Sample, ...] = ()

    def observe(self, seconds: float, *, to_end: bool) -> None:
        """Observe for some seconds, as `nettop advise` does, so that there are rates.

        `to_end`: of a recording all of it, which must not be one in a loop.
        """
        with self._lock:
            until = self._source.now() + seconds
            began = time.monotonic()
            for seen in watch(self._observer, seconds):
                self.count += 1
                self._take(seen, began)
                if not to_end and self._source.now() >= until:
                    return
                began = time.monotonic()

    def samples(self) -> tuple[Sample, ...]:
        """The samples of a look that is at most a second old. Threads may call it."""
        with self._lock:
            began = time.monotonic()
            if began - self._at >= REST:
                if not self._source.live:
                    self._advance()
                self.count += 1
                self._take(self._observer.step(), began)
            return self.last

    def _advance(self) -> None:
        """Step to the next moment of a recording that is played in a loop."""
        self._source.wait(REST)
        if self._source.opening:
            self._observer.restart()
            self._source.wait(REST)

    def _take(self, seen: Observation, began: float) -> None:
        source, frame = self._source, seen.frame
        self.judged = shortfall(frame, live=source.live) is None
        found = list(values.samples(seen, self._rules, judged=self.judged, unread=_unread(frame)))
        if source.live:
            found += journaled()
        self._at = time.monotonic()
        self.last = (*self._own(self._at - began), *found)

    def _own(self, seconds: float) -> Iterator[Sample]:
        yield Sample(f.BUILD, (__version__,), 1)
        yield Sample(f.LAST_RUN, (), time.time())
        yield Sample(f.LOOKS, (), self.count)
        yield Sample(f.LOOK_SECONDS, (), seconds)


def _unread(frame: Frame) -> int:
    """The tables that could not be read, without those that most hosts lack."""
    return sum(not collect.table(name).optional for name in frame.missing)


def journaled() -> Iterator[Sample]:
    """The series of this user's journal; none if it cannot be read."""
    try:
        entries = [entry for entry in Journal().entries() if entry.open]
    except OSError:
        return
    counts = Counter(entry.state for entry in entries)
    yield from (Sample(f.CHANGES, (state,), counts[state]) for state in sorted(OPEN))
    host = Host.at()
    yield Sample(f.DRIFT, (), sum(_drifted(entry, entries, host) for entry in entries))


def _drifted(entry: JournaledChange, others: Collection[JournaledChange], host: Host) -> bool:
    """Whether the host has another value than the newest change of the setting wrote.

    A value that cannot be read, for example of a device that is gone, is no drift. Other network
    namespaces are not searched: that takes a process for each look.
    """
    if entry.after is None:
        return False
    if any(o.id > entry.id and target.same_setting(o, entry) for o in others):
        return False
    now, _ = status.shown(entry, host)
    return now is not None and now != entry.after
