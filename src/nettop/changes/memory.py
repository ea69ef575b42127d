"""A journal that is also kept in memory: the absence of a record confirms nothing.

What the journal said of an entry holds until a line of the journal says otherwise. A journal that
is gone, emptied, cut off, replaced, too large or unreadable, or that another user can change, says
nothing. Nor does one on a disk that hangs (`aside`). What is noted holds even if it cannot be
written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Final

from .aside import DISK
from .entry import JournaledChange, Line, fold
from .journal import Busy, Journal, since_boot

_HANGS: Final = 3600.0  # seconds to wait for a disk that hangs, after the revert
_PAUSES: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, *59 * (60.0,))  # between tries to write


class Memory:
    """The entries of a journal as they were last known; a `Book`."""

    def __init__(self, journal: Journal) -> None:
        """The time of changes whose start was not seen counts from now."""
        self._journal = journal
        self._known: dict[int, JournaledChange] = {}
        self._seen: tuple[int, int] = (0, 0)  # the version of the journal that is known
        self._lost = False  # the journal could not be read, or lacks entries
        self._began = since_boot()
        self._unwritten: list[Line] = []

    @contextmanager
    def lock(self, seconds: float = 10.0) -> Iterator[None]:
        """Hold the lock of the journal, if it has one; Busy as for `Journal.lock`."""
        held = ExitStack()
        try:
            DISK(lambda: self._lock(held, seconds), seconds, ExitStack.close)
        except Busy:
            raise
        except OSError:  # there is no folder to lock, or its disk hangs
            held = ExitStack()
        try:
            yield
        finally:
            with suppress(TimeoutError):
                DISK(held.close)

    def _lock(self, held: ExitStack, seconds: float) -> ExitStack:
        held.enter_context(self._journal.lock(seconds, compact=False))
        return held

    def entries(self) -> tuple[JournaledChange, ...]:
        """All entries, oldest first; never an error."""
        try:
            self._lost = not self._read()
        except Exception:
            self._lost, self._seen = True, (0, 0)
        known = (self._known[number] for number in sorted(self._known))
        return tuple(self._counted(entry) for entry in known)

    def note(self, number: int, event: str, **values: object) -> None:
        """Add an event of an entry; OSError if it holds in memory only."""
        line = {"event": event, "id": number, "at": time.time(), **values}
        fold(self._known, dict(line))
        entry = self._known.get(number)
        try:
            DISK(lambda: self._write(line, entry))
        except OSError:
            self._unwritten.append(line)
            raise

    def record(self, pause: Callable[[float], object] = lambda _: True) -> None:
        """Write what could not be written, now that there is time to make the journal smaller.

        A disk that hangs is waited for. What fails is tried again after a `pause`, until that
        returns a true value, for an hour at most.
        """
        for seconds in _PAUSES:
            if self._unwritten and not DISK.settled(_HANGS):
                return
            with suppress(Exception), self._journal.lock():
                while self._unwritten:
                    line = self._unwritten[0]
                    self._write(line, self._known.get(line["id"]))
                    self._unwritten.pop(0)
            if not self._unwritten or pause(seconds):
                return

    def _write(self, line: Line, entry: JournaledChange | None) -> None:
        """Write a line; an entry that the journal has lost is written again, once it is closed."""
        number = line["id"]
        self._journal.must_be_ours()
        there = {one.id: one for one in self._journal.entries()}
        if entry is None or (number in there and _same(there[number], entry)):
            self._journal.append(line)
        elif entry.due is None:
            self._journal.put(
                replace(entry, id=max(there) + 1, group=0) if number in there else entry
            )

    def _read(self) -> bool:
        """Read the journal if it has changed; whether it has all entries that are known."""
        seen = self._seen
        version, entries = DISK(lambda: self._look(seen))
        if entries is None:
            return not self._lost
        there = {entry.id: entry for entry in entries}
        for number, entry in there.items():
            old = self._known.get(number)
            if old is None or (_same(old, entry) and _steps(entry) >= _steps(old)):
                self._known[number] = entry
        self._seen = version
        return all(n in there and _same(there[n], e) for n, e in self._known.items() if e.open)

    def _look(
        self, seen: tuple[int, int]
    ) -> tuple[tuple[int, int], tuple[JournaledChange, ...] | None]:
        """The version of the journal, and its entries unless it is the one that was seen."""
        self._journal.must_be_ours()
        version = self._journal.version()
        same = version == seen and any(version)
        return version, None if same else self._journal.entries()

    def _counted(self, entry: JournaledChange) -> JournaledChange:
        """An open entry whose start can no longer be read: it starts with this process."""
        if not self._lost or entry.armed or entry.due is None or entry.deadline is None:
            return entry
        return replace(entry, armed=True, due=self._began + entry.deadline - entry.at)


def _same(a: JournaledChange, b: JournaledChange) -> bool:
    """Whether two entries of one number are of one change, and not of two journals."""
    mine, other = ((e.at, e.boot, e.setting, e.before, e.wanted) for e in (a, b))
    return mine == other


def _steps(entry: JournaledChange) -> tuple[bool, bool, bool]:
    """How far a change has come; a journal that was cut off, or came back, shows less."""
    return not entry.open, entry.state != "begun", entry.armed
