"""The processes that hold sockets: the links of /proc/PID/fd (`socket:[INODE]`).

Reading all of them is expensive, so each reading covers a limited number of processes and links:
new processes first, then those known to hold sockets, then the others in turn. A process with many
descriptors waits until the others were read. An unchanged list of descriptors is trusted for some
readings. A process without sockets is read less and less often, down to every sixth time. Processes
of other users may be unreadable; the row of inode 0 has their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..frame.fields import gauge, label
from ..frame.rates import Partly
from ..host.source import Source
from . import _pids, _sysfs
from ._memory import Memory, recall

EVERY: Final = 5.0
MEMORY: Final = _pids.MEMORY  # `threads` reads it too

LISTS: Final = 400  # processes whose descriptors are listed in one reading
LINKS: Final = 4000  # links followed in one reading, before the last process of it
FEW: Final = 64  # links of a process that are followed before those of others
_TRUST: Final = 6  # readings for which a descriptor is not followed again


@dataclass(frozen=True, slots=True)
class Row:
    """One socket with a process that holds it."""

    inode: int = label("socket inode; 0: no socket, see `closed`")
    pid: int | None = gauge("process")
    name: str = gauge("command name")
    closed: int = gauge("processes that cannot be read (inode 0 only)", default=0)


@dataclass
class _ProcessSockets:
    """What is known of one process."""

    name: str | None = None
    names: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()  # descriptors whose links are to be followed
    inodes: dict[str, int] = field(default_factory=dict)
    trusted: int = _TRUST  # readings since every link was followed
    quiet: int = 0  # readings without a change of the list
    closed: bool = False
    seen: int = -1  # the reading in which it was last covered

    def rests(self, turn: int) -> bool:
        """Whether it can be skipped: it had no socket and was read recently."""
        return not self.inodes and not self.pending and turn - self.seen < self.quiet


@dataclass
class Known:
    """The processes of the last reading."""

    turn: int = -1  # number of the reading
    held: dict[str, _ProcessSockets] = field(default_factory=dict)  # by pid
    holding: Mapping[str, None] = field(default_factory=dict)  # processes with sockets


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every socket known so far whose process still lives; OSError if /proc cannot be listed.

    `Partly` while some of many processes were never covered.
    """
    last = recall(memory, Known)
    turn = last.turn = last.turn + 1
    past = last.held
    listed = _pids.pids(source, memory)
    new = [pid for pid in listed if pid not in past]
    most = LISTS if len(listed) > _pids.MANY else None
    held = {pid: past[pid] for pid in listed if pid in past}
    held |= {pid: _ProcessSockets() for pid in new[:most]}
    last.held = held
    links = LINKS
    waiting = sorted(
        (pid for pid, process in held.items() if not process.closed and not process.rests(turn)),
        key=lambda pid: (held[pid].seen >= 0, not held[pid].inodes, held[pid].seen),
    )
    known = sum(1 for pid in waiting if held[pid].inodes)
    covered = waiting[: max(LISTS, known + LISTS // 4)]
    for pid in covered:
        _look(source, pid, held[pid], turn)
        links -= 1 + _follow(source, pid, held[pid], FEW)
        if links <= 0:
            break
    for pid in covered:
        if links <= 0:
            break
        links -= _follow(source, pid, held[pid], None)
    rows = [
        Row(inode, number, process.name or "")  # one number for all sockets of a process
        for number, process in ((int(pid), process) for pid, process in held.items())
        for inode in dict.fromkeys(process.inodes.values())
    ]
    last.holding = {pid: None for pid, process in held.items() if process.inodes}
    closed = sum(process.closed for process in held.values())
    if closed:
        rows.insert(0, Row(0, None, "", closed))
    unread = len(listed) - sum(process.seen >= 0 for process in held.values())
    many = unread > 0 and len(listed) > _pids.MANY
    return Partly(rows, _pids.left(unread, len(listed), "sockets")) if many else rows


def _look(source: Source, pid: str, process: _ProcessSockets, turn: int) -> None:
    """List the descriptors of one process."""
    process.seen = turn
    try:
        names = tuple(source.listing(f"/proc/{pid}/fd"))
    except PermissionError:
        process.closed = True
        return
    except OSError:
        return  # it ended meanwhile
    if names == process.names:
        names = process.names  # the same texts as the keys of `inodes`
        process.quiet = min(process.quiet + 1, _TRUST)
    else:
        process.quiet = 0
    whole = process.trusted >= _TRUST
    process.trusted = 0 if whole else process.trusted + 1
    known = frozenset(() if whole else process.names).difference(process.pending)
    process.pending = tuple(name for name in names if name not in known)
    stay = frozenset(names)
    process.inodes = {name: inode for name, inode in process.inodes.items() if name in stay}
    process.names = names


def _follow(source: Source, pid: str, process: _ProcessSockets, most: int | None) -> int:
    """Follow at most so many links of the descriptors listed; returns their number."""
    names, process.pending = process.pending[:most], process.pending[most:] if most else ()
    for name in names:
        target = _sysfs.target(source, f"/proc/{pid}/fd/{name}") or ""
        if target.startswith("socket:[") and target[8:-1].isdecimal():
            process.inodes[name] = int(target[8:-1])
        else:
            process.inodes.pop(name, None)
    if process.inodes and process.name is None:
        process.name = _sysfs.word(source, f"/proc/{pid}/comm")
    return len(names)
