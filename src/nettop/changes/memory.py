"""A journal that is also kept in memory: the absence of a record confirms nothing.

What the journal said of an entry holds until a line of the journal says otherwise. A journal that
is gone, emptied, cut off, replaced, too large or unreadable, or that another user can change, says
nothing. Nor does one on a disk that hangs (`aside`). What is noted holds even if it cannot be
written.

The disk may be behind the very link that a change cut (NFS, iSCSI), or be frozen (fsfreeze(8)). A
process that reads it then stays in the kernel, and no signal ends its wait: so a thread does the
work on a disk that may hang, and is waited for only so long.
"""

import errno
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, Final, TypeVar

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


T = TypeVar("T")
PATIENCE: Final = 5.0  # seconds for a read or a write


class _Job:
    """Work, and what became of it. `drop` gets a result for which nobody waits any more."""

    def __init__(self, work: Callable[[], Any], drop: Callable[[Any], object]) -> None:
        self.work, self.drop = work, drop
        self.done, self.lock = Event(), Lock()
        self.left = False
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self.work()
        except BaseException as error:
            self.error = error
        with self.lock:
            self.done.set()
        if self.left and self.error is None:
            self.drop(self.result)

    def leave(self) -> bool:
        """Wait no longer; False if it is done."""
        with self.lock:
            self.left = not self.done.is_set()
        return self.left


class Aside:
    """One thread, which is started by the first work."""

    def __init__(self) -> None:
        """Nothing runs."""
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._thread: Thread | None = None
        self._last: _Job | None = None

    def __call__(
        self, work: Callable[[], T], more: float = 0.0,
        drop: Callable[[T], object] = lambda _: None,
    ) -> T:  # fmt: skip
        """The result or error of `work`; TimeoutError if it, or what was begun before, hangs.

        `more`: seconds that the work itself may wait.
        """
        if not self.settled(0.0):
            raise TimeoutError(errno.ETIMEDOUT, "the disk does not answer")
        if self._thread is None or not self._thread.is_alive():  # or it was that of a parent
            self._thread = Thread(target=self._work, daemon=True)
            self._thread.start()
        self._last = job = _Job(work, drop)
        self._jobs.put(job)
        if not job.done.wait(PATIENCE + more) and job.leave():
            raise TimeoutError(errno.ETIMEDOUT, "the disk does not answer")
        if job.error is not None:
            raise job.error
        result: T = job.result
        return result

    def settled(self, seconds: float) -> bool:
        """Whether nothing hangs, after these seconds at most."""
        return self._last is None or self._last.done.wait(seconds)

    def _work(self) -> None:
        while True:
            self._jobs.get().run()


DISK: Final = Aside()  # of this process
