"""Work on a disk that may hang: a thread does it, and is waited for only so long.

The disk may be behind the very link that a change cut (NFS, iSCSI), or be frozen (fsfreeze(8)). A
process that reads it then stays in the kernel, and no signal ends its wait.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, Final, TypeVar

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
