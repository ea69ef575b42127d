"""Nothing of a trial stays behind: whatever it started and did not end is ended, with its children.

Each end already closes what it started; this is for a tool that forked away from its group, or an
end that could not answer. Parents stand in /proc/PID/stat of every kernel; the list of children
(/proc/PID/task/TID/children) only where CONFIG_PROC_CHILDREN is set.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

Process = tuple[int, int]  # number, and the clock tick it began in: numbers come again

GRACE: Final = 2.0  # seconds a process has to end by itself after SIGTERM
STEP: Final = 0.02


@contextmanager
def ended() -> Iterator[None]:
    """Descendants of nettop that were not there before are gone after the block."""
    before = descendants()
    try:
        yield
    finally:
        left = descendants() - before
        _signal(left, signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while left and time.monotonic() < deadline:
            time.sleep(STEP)
            left &= _living().keys()
        _signal(left, signal.SIGKILL)


def descendants() -> set[Process]:
    """The children of this process, theirs, and so on."""
    children: dict[int, list[Process]] = {}
    for process, parent in _living().items():
        children.setdefault(parent, []).append(process)
    found: set[Process] = set()
    below = children.get(os.getpid(), [])
    while below:
        found.update(below)
        below = [child for pid, _ in below for child in children.get(pid, ())]
    return found


def _signal(processes: Iterable[Process], number: signal.Signals) -> None:
    for pid, _ in processes:
        with suppress(OSError):
            os.kill(pid, number)


def _living() -> dict[Process, int]:
    """Every process and its parent; one that has ended and waits for its parent lives no more."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                said = file.read()
        except OSError:  # it has just ended
            continue
        fields = said.rpartition(b")")[2].split()  # the name before may hold blanks and brackets
        if fields and fields[0] not in (b"Z", b"X"):
            found[int(name), int(fields[19])] = int(fields[1])
    return found
