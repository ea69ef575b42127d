"""Which processes that would revert changes run: guards, and keepers of held changes.

They are found by their command lines, because they hold no file. A process of a PID namespace that
is not below this one cannot be seen.
"""

from __future__ import annotations

import os

from ..terms.errors import absent

GUARD = "nettop.changes.guard"
KEEPER = "nettop.trials.lever"
# in a network namespace this process has another /sys, without control groups
_ROOTS = ("", f"/proc/{os.getppid()}/root", "/proc/1/root")


def running(module: str, folder: str) -> frozenset[str]:
    """What processes `python -m MODULE FOLDER WHAT …` revert; without stopped and frozen ones.

    OSError if that cannot be read.
    """
    found = set()
    for pid in os.listdir("/proc"):
        words = _words(pid) if pid.isdigit() else []
        if module in words[1:-2]:
            where, what = words[words.index(module) + 1 :][:2]
            if os.path.realpath(where) == os.path.realpath(folder) and not (
                _stopped(pid) or _frozen(pid)
            ):
                found.add(what)
    return frozenset(found)


def _words(pid: str) -> list[str]:
    """The words of a command line; none if the process has ended or is hidden."""
    return os.fsdecode(_data(f"/proc/{pid}/cmdline")).split("\0")[:-1]


def _stopped(pid: str) -> bool:
    """Whether a process is stopped by a signal (proc(5), state T)."""
    return _data(f"/proc/{pid}/stat").rpartition(b")")[2].split()[:1] == [b"T"]


def _frozen(pid: str) -> bool:
    """Whether a process is in a frozen control group (cgroups(7)): it does nothing until thawed."""
    for row in os.fsdecode(_data(f"/proc/{pid}/cgroup")).splitlines():
        _, controllers, group = row.split(":", 2)
        for groups in (f"{root}/sys/fs/cgroup" for root in _ROOTS):
            old = controllers == "freezer" and _data(f"{groups}/freezer{group}/freezer.state")
            new = not controllers and _data(f"{groups}{group}/cgroup.events")
            if (old and old[:1] == b"F") or (new and b"frozen 1" in new):
                return True
    return False


def _data(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        if not absent(error) and not isinstance(error, PermissionError):
            raise
        return b""
