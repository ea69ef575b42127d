"""Changes that nothing reverts any more, and what users are told of them.

Processes that revert changes are guards, and keepers of held changes. They are found by their
command lines, because they hold no file. A process of a PID namespace that is not below this one
cannot be seen.
"""

import os
import time
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from ..files import own
from ..files.bounds import BOUNDS
from ..settings import Host
from ..terms.errors import absent
from . import chain, context, status
from .chain import READY
from .entry import JournaledChange
from .journal import NEARLY, Journal, since_boot

_LATE: Final = 6.0  # seconds after the deadline until a guard that runs is late


def unguarded(journal: Journal, entries: Sequence[JournaledChange]) -> frozenset[int]:
    """The unconfirmed changes that no guard would revert: each guard has ended, or is stopped."""
    armed = any(chain.unconfirmed(entry) and entry.armed for entry in entries)
    return _without(entries, running(GUARD, journal.folder) if armed else frozenset())


def _without(entries: Sequence[JournaledChange], groups: Collection[str]) -> frozenset[int]:
    """The unconfirmed changes that the guards of these groups do not revert."""
    pending = [entry for entry in entries if chain.unconfirmed(entry) and entry.armed]
    return frozenset(
        entry.id
        for entry in pending
        if not any(str(e.group) in groups for e in chain.of_group(entries, entry.group))
    )


def over(entry: JournaledChange, entries: Sequence[JournaledChange]) -> float:
    """Seconds since the time to confirm an unconfirmed change ended; negative before."""
    return since_boot() - chain.expiry(chain.of_group(entries, entry.group))


def lost(journal: Journal, entries: Sequence[JournaledChange]) -> tuple[str, ...]:
    """A message for each guard that runs for a change that the journal lacks."""
    return _lost(entries, running(GUARD, journal.folder))


def _lost(entries: Sequence[JournaledChange], groups: Collection[str]) -> tuple[str, ...]:
    numbers = {int(group) for group in groups if group.isdecimal()}
    missing = sorted(numbers - {entry.id for entry in entries})
    why = "the journal lacks it, because it was removed, emptied or replaced"
    return tuple(f"change {n} reverts by itself and cannot be confirmed: {why}" for n in missing)


def notices(journal: Journal) -> tuple[str, ...]:
    """Messages to show at the start: failed guards, overdue changes, interrupted changes."""
    messages = list(journal.failures())
    if (size := journal.version()[1]) >= NEARLY:
        bound = BOUNDS["journal"]
        messages.append(
            f"the journal has {size >> 20} MiB of at most {bound}: "
            f"close changes with {own.called()} undo ID, or undo ID --forget"
        )
    entries = journal.entries()
    guards = running(GUARD, journal.folder)
    dead = _without(entries, guards)
    messages += _lost(entries, guards)
    host = Host.at()
    held = any(entry.open and entry.keeper for entry in entries)
    kept = running(KEEPER, journal.folder) if held else frozenset()
    for entry in entries:
        if not entry.open or not context.maybe_this_boot(entry.boot):
            continue
        name = f"change {entry.id} ({entry.setting})"
        overdue = entry.due is not None and since_boot() > entry.due + _LATE
        if (entry.id in dead or overdue) and over(entry, entries) >= 0 and _back(entry, host):
            messages.append(
                f"{name} was reverted, and the journal could not record it: "
                f"{own.called()} undo {entry.id} closes it"
            )
        elif entry.id in dead and over(entry, entries) >= 0:
            messages.append(
                f"{name} was neither confirmed nor reverted in time, because its guard has ended "
                f"or is stopped: {own.called()} undo {entry.id}"
            )
        elif entry.id in dead:
            messages.append(
                f"{name} does not revert by itself, because its guard has ended or is stopped: "
                f"{own.called()} undo {entry.id}, or {own.called()} confirm {entry.id}"
            )
        elif overdue:
            messages.append(
                f"{name} was neither confirmed nor reverted in time: "
                f"{own.called()} undo {entry.id}, or {own.called()} confirm {entry.id}"
            )
        elif entry.keeper and entry.keeper not in kept:
            messages.append(
                f"{name} was made for a test, and not reverted because its nettop and the process "
                f"that would revert it have ended or are stopped: {own.called()} undo {entry.id}"
            )
        elif entry.state == "begun" and time.time() - entry.at > READY:
            messages.append(
                f"{name} was interrupted: {own.called()} undo {entry.id} restores the old value"
            )
    return tuple(messages)


def _back(entry: JournaledChange, host: Host) -> bool:
    """Whether a change that was made is not in place any more."""
    return entry.after is not None and status.shown(entry, host)[0] == entry.before


GUARD = "nettop.changes.guard"
KEEPER = "nettop.trials.lever"
NAME: Final = "nettop:"  # of the process, before a number
# in a network namespace this process has another /sys, without control groups
_ROOTS = ("", f"/proc/{os.getppid()}/root", "/proc/1/root")


def running(module: str, folder: str) -> frozenset[str]:
    """What processes `python -m MODULE FOLDER WHAT …` revert; without stopped and frozen ones.

    OSError if that cannot be read.
    """
    return frozenset(what for _, what in _running(module, folder))


def _running(module: str, folder: str) -> Iterator[tuple[str, str]]:
    """The number of each such process, and what it reverts."""
    for pid in os.listdir("/proc"):
        words = _words(pid) if pid.isdigit() else []
        if module in words[1:-2]:
            where, what = words[words.index(module) + 1 :][:2]
            if _same_folder(pid, where, folder) and not (_stopped(pid) or _frozen(pid)):
                yield pid, what


def known(folder: str, group: int) -> int:
    """The newest change that the guard of a group says it knows; -1 if none runs, 0 if unknown."""
    numbers = [-1]
    for pid, what in _running(GUARD, folder):
        if what == str(group):
            number = os.fsdecode(_data(f"/proc/{pid}/comm")).strip().removeprefix(NAME)
            numbers.append(int(number) if number.isdecimal() else 0)
    return max(numbers)


def _words(pid: str) -> list[str]:
    """The words of a command line; none if the process has ended or is hidden."""
    return os.fsdecode(_data(f"/proc/{pid}/cmdline")).split("\0")[:-1]


def _same_folder(pid: str, where: str, folder: str) -> bool:
    """Whether the folder of a process is this one: in a container the same path is another."""
    if os.path.realpath(where) != os.path.realpath(folder):
        return False
    seen = f"/proc/{pid}/root{os.path.realpath(where)}"  # what the process has there
    if not os.path.exists(seen) and not os.path.exists(folder):  # it was removed meanwhile
        folder, seen = "/", f"/proc/{pid}/root"
    try:
        return os.path.samefile(folder, seen)
    except PermissionError:  # another user's process
        return True
    except OSError:
        return False


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
