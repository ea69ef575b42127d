"""End all processes that a trial left behind, with their children.

Each end already closes what it started; this is for a tool that forked away from its group, or an
end that could not answer. psutil knows a process by its number and start time: numbers come again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from psutil import Process

GRACE: Final = 2.0  # seconds a process has to end by itself after SIGTERM
STEP: Final = 0.02


@contextmanager
def ended() -> Iterator[None]:
    """Descendants of nettop that were not there before are gone after the block."""
    from psutil import Error

    before = descendants()
    try:
        yield
    finally:
        left = descendants() - before
        for process in left:
            with suppress(Error):
                process.terminate()
        deadline = time.monotonic() + GRACE
        while (left := {one for one in left if _lives(one)}) and time.monotonic() < deadline:
            time.sleep(STEP)  # not psutil.wait_procs: it takes the exit code away from Popen
        for process in left:
            with suppress(Error):
                process.kill()


def descendants() -> set[Process]:
    """The children of this process, theirs, and so on, as far as they have not ended."""
    import psutil

    return {one for one in psutil.Process().children(recursive=True) if _lives(one)}


def _lives(process: Process) -> bool:
    """Whether it runs; one that has ended and waits for its parent does not."""
    import psutil

    try:
        return process.is_running() and process.status() not in (
            psutil.STATUS_ZOMBIE,
            psutil.STATUS_DEAD,
        )
    except psutil.NoSuchProcess:
        return False
