"""The processes that hold sockets: the links of /proc/PID/fd (`socket:[INODE]`).

Reading all of them is expensive, so each reading covers a limited number of processes and links:
new processes first, then those known to hold sockets, then the others in turn. A process with many
descriptors waits until the others were read. An unchanged list of descriptors is trusted for some
readings. A process without sockets is read less and less often, down to every sixth time; so is one
with thousands of descriptors while the kernel shows no new TCP socket. Processes of other users may
be unreadable; the row of inode 0 has their number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import chain
from typing import Final

from ..frame.fields import gauge, label, light
from ..frame.rates import Partly
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _pids, _sysfs, sockets_tcp
from ._table import Memory, Table, recall

TABLE: Final = Table(every=5.0, memory=_pids.MEMORY)  # `threads` reads it too

LISTS: Final = 400  # processes whose descriptors are listed in one reading
LINKS: Final = 4000  # links followed in one reading, before the last process of it
LISTED: Final = 8  # descriptors that are listed in the time of following one link
FEW: Final = 64  # links of a process that are followed before those of others
_TUN: Final = "tun"  # /dev/net/tun: the last component of the link
_TRUST: Final = 6  # readings for which a descriptor is not followed again


@light
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
    pipes: dict[str, int] = field(default_factory=dict)  # by descriptor, for `waits`
    tuns: tuple[str, ...] = ()  # descriptors of /dev/net/tun, for `tun_readers`
    rows: tuple[Row, ...] = ()  # of these sockets
    trusted: int = _TRUST  # readings since every link was followed
    quiet: int = 0  # readings without a change of the list
    closed: bool = False
    seen: int = -1  # the reading in which it was last covered

    def rests(self, turn: int, *, opened: bool) -> bool:
        """Whether it can be skipped: it was read recently, and had no socket or the same many.

        `opened`: sockets appeared since the last reading.
        """
        many = len(self.names) > LINKS and not opened
        return (many or not self.inodes) and not self.pending and turn - self.seen < self.quiet

    def renew(self, pid: int) -> bool:
        """Make the rows again; whether they have changed."""
        inodes = tuple(dict.fromkeys(self.inodes.values()))
        if inodes == tuple([row.inode for row in self.rows]):
            return False
        old = {row.inode: row for row in self.rows}
        self.rows = tuple([old.get(inode) or Row(inode, pid, self.name or "") for inode in inodes])
        return True


@dataclass
class Known:
    """The processes of the last reading."""

    turn: int = -1  # number of the reading
    held: dict[str, _ProcessSockets] = field(default_factory=dict)  # by pid
    holding: Mapping[str, None] = field(default_factory=dict)  # processes with sockets
    changes: int = 0  # of the owners of sockets: how often a reading found others
    opened: int = 0  # sockets that had appeared at the last reading


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
    known_opened, last.opened = last.opened, recall(memory, sockets_tcp.Known).opened
    opened = last.opened != known_opened
    links = LINKS
    waiting = sorted(
        (
            pid for pid, process in held.items()
            if not process.closed and not process.rests(turn, opened=opened)
        ),
        key=lambda pid: (held[pid].seen >= 0, not held[pid].inodes, held[pid].seen),
    )  # fmt: skip
    known = sum(1 for pid in waiting if held[pid].inodes)
    covered = waiting[: max(LISTS, known + LISTS // 4)]
    looked = []
    for pid in covered:
        looked.append(pid)
        if len(held[pid].pending) <= FEW:
            first = held[pid].seen < 0  # each process is listed once without delay
            _look(source, pid, held[pid], turn)
            links -= 1 + (0 if first else len(held[pid].names) // LISTED)
        links -= _follow(source, pid, held[pid], FEW)
        if links <= 0:
            break
    for pid in looked:
        if held[pid].pending:
            links -= _follow(source, pid, held[pid], None)
        if links <= 0:
            break
    renewed = [pid for pid in looked if held[pid].renew(int(pid))]
    if renewed or any(process.inodes for pid, process in past.items() if pid not in held):
        last.changes += 1
    last.holding = {pid: None for pid, process in held.items() if process.inodes}
    rows = list(chain.from_iterable(process.rows for process in held.values()))
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
    process.pipes = {name: inode for name, inode in process.pipes.items() if name in stay}
    process.tuns = tuple(name for name in process.tuns if name in stay)
    process.names = names


def _follow(source: Source, pid: str, process: _ProcessSockets, most: int | None) -> int:
    """Follow at most so many links of the descriptors listed; returns their number."""
    names, process.pending = process.pending[:most], process.pending[most:] if most else ()
    for name in names:
        target = _sysfs.target(source, f"/proc/{pid}/fd/{name}") or ""
        if (target == _TUN) != (name in process.tuns):
            process.tuns = tuple({*process.tuns} ^ {name})
        kind, _, number = target.partition(":")
        for what, known in (("socket", process.inodes), ("pipe", process.pipes)):
            if kind == what and number[1:-1].isdecimal():
                known[name] = int(number[1:-1])
            else:
                known.pop(name, None)
    if process.inodes and process.name is None:
        process.name = _sysfs.word(source, f"/proc/{pid}/comm")
    return len(names)
