"""Which processes that would revert changes run: guards, and keepers of held changes.

They are found by their command lines, because they hold no file. A process of a PID namespace that
is not below this one cannot be seen.
"""

from __future__ import annotations

import os

from ..terms.errors import absent

GUARD = "nettop.changes.guard"
KEEPER = "nettop.trials.lever"


def running(module: str, folder: str) -> frozenset[str]:
    """What processes `python -m MODULE FOLDER WHAT …` revert; without those that are stopped.

    OSError if that cannot be read.
    """
    found = set()
    for pid in os.listdir("/proc"):
        words = _words(pid) if pid.isdigit() else []
        if module in words[1:-2]:
            where, what = words[words.index(module) + 1 :][:2]
            if os.path.realpath(where) == os.path.realpath(folder) and not _stopped(pid):
                found.add(what)
    return frozenset(found)


def _words(pid: str) -> list[str]:
    """The words of a command line; none if the process has ended or is hidden."""
    return os.fsdecode(_data(pid, "cmdline")).split("\0")[:-1]


def _stopped(pid: str) -> bool:
    """Whether a process is stopped by a signal (proc(5), state T)."""
    return _data(pid, "stat").rpartition(b")")[2].split()[:1] == [b"T"]


def _data(pid: str, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError as error:
        if not absent(error) and not isinstance(error, PermissionError):
            raise
        return b""
