"""End all processes that a trial left behind, with their children.

Each end closes what it started. This handles a tool that left its process group, or an end that did
not answer. psutil identifies a process by number and start time, because numbers are reused.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from ..files import bounds

if TYPE_CHECKING:
    from psutil import Process

GRACE: Final = 2.0  # seconds between SIGTERM and SIGKILL
STEP: Final = 0.02


@contextmanager
def none_left() -> Iterator[None]:
    """At the end of the block, end all descendants of nettop that did not exist before it.

    OSError where /proc/stat cannot be read, or has no boot time, by which psutil numbers processes:
    it reads the file without a bound when it is imported.
    """
    if b"\nbtime " not in bounds.read("/proc/stat", "host-file"):
        raise OSError(errno.ENODATA, "the time of the boot is not there", "/proc/stat")
    from psutil import Error

    before = descendants()
    try:
        yield
    finally:
        left: set[Process] = set()
        deadline = time.monotonic() + GRACE
        while True:
            new = descendants() - before - left
            for process in new:
                with suppress(Error):
                    process.terminate()
            left |= new  # an orphan is no longer a descendant
            if not any(map(_runs, left)) or time.monotonic() >= deadline:
                break
            time.sleep(STEP)  # psutil.wait_procs would reap the exit code that Popen needs
        _kill({process for process in left if _runs(process)}, before)


def _kill(left: set[Process], before: set[Process]) -> None:
    """End these processes and all that they start meanwhile: a stopped process starts none."""
    from psutil import Error

    halted: set[Process] = set()
    while new := (left | (descendants() - before)) - halted:
        for process in new:
            with suppress(Error):
                process.suspend()
        halted |= new
    for process in halted:
        with suppress(Error):
            process.kill()


def descendants() -> set[Process]:
    """All running descendants of this process."""
    import psutil

    return {child for child in psutil.Process().children(recursive=True) if _runs(child)}


def _runs(process: Process) -> bool:
    """Whether the process runs; a zombie does not."""
    import psutil

    try:
        return process.is_running() and process.status() not in (
            psutil.STATUS_ZOMBIE,
            psutil.STATUS_DEAD,
        )
    except psutil.NoSuchProcess:
        return False
