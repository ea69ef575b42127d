"""Processes, and the threads of the busiest: /proc/PID/stat (Documentation/filesystems/proc.rst).

There is one small file for each process. A process whose line did not change keeps its row. A
kernel thread that moves no packets (migration, cpuhp, rcu …), or a kworker that was idle for some
readings, has no row and is read again only now and then: it may become busy, and its pid may be
reused. Of the busiest processes, also the threads, the allowed CPUs (status) and the time waiting
for a CPU (schedstat) are read. A process whose line did not change keeps these too, and of a thread
that did not run in between only schedstat is read.

Of a host with many processes (`_pids.MANY`) those that ran lately or hold sockets are read each
time, the others in turn (`_pids`): they have no row, as an idle kernel thread.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Final, NamedTuple

from ..files.bounds import count, counts
from ..frame.fields import counter, gauge, label, light, maybe
from ..frame.rates import Partly, Unfinished
from ..host.source import Source
from ..terms import cpulist
from ..terms.dataclass import dataclass
from . import _pids, _sysfs, socket_owners
from ._pids import Resting
from ._table import Memory, Table, recall
from .cpu import USER_HZ

# with `socket_owners`, which knows the processes with sockets
TABLE: Final = Table(every=2.0, memory=_pids.MEMORY)

BUSIEST: Final = 16  # processes whose threads are read
THREADS: Final = 512  # threads that are read, of the busiest processes first
WAITS: Final = 32  # threads; if a process has more, their waiting time is not read
HIDDEN: Final = "processes of other users are hidden: proc(5), hidepid"
_ROUNDS: Final = 3  # readings that a process stays among the busiest, or keeps its row at rest
_KERNEL: Final = 0x00200000  # PF_KTHREAD, include/linux/sched.h
_PACKETS: Final = (
    b"ksoftirqd/", b"napi/", b"irq/", b"kswapd", b"ktimers/", b"nfsd", b"lockd",
    b"vhost-", b"kpktgend_", b"iscsi_", b"cifsd", b"ksmbd", b"drbd_", b"siw_tx", b"vif",
)  # fmt: skip
_TURNS: Final = 16  # other kernel threads are read every so many readings
_WORKERS: Final = 4  # and idle kworkers, of which each CPU has some
_WORKED: Final = 0.015  # of a core between two readings: then it gets a row


@light
@dataclass(frozen=True, slots=True)
class Row:
    """A process (`tid` equals `pid`: all its threads together) or one thread of a busy one."""

    pid: int = label("process")
    tid: int = label("thread; the process itself has its own number")
    started: int = label("start time in clock ticks after boot: identifies a reused pid")
    name: str = gauge("command name")
    thread: bool = label("one thread of several, not the process as a whole")
    state: str = gauge("R running, S sleeping, D waiting for a device …")
    user: float = counter("user time", "s")
    system: float = counter("kernel time", "s")
    cpu: int | None = maybe("CPU it last ran on")
    nice: int | None = maybe("nice value")
    threads: int | None = maybe("threads", "threads")
    kernel: bool = gauge("a kernel thread", default=False)
    allowed: tuple[int, ...] | None = maybe("allowed CPUs; None: not read")
    waited: float | None = counter("time waiting for a CPU", "s", default=None)


class _Seen(NamedTuple):
    """A process at its last reading; an idle one has no row."""

    line: bytes
    row: Row | None
    turns: int  # while idle it is read every so many readings; 1: at each one
    still: int = 0  # readings since its line changed


class _Thread(NamedTuple):
    """A thread of a busy process, and the text of its schedstat."""

    row: Row
    ran: str | None


class _Detail(NamedTuple):
    """What is read of a busy process only, as of this line of /proc/PID/stat."""

    line: bytes
    row: Row
    threads: Mapping[str, _Thread]


@dataclass
class Last:
    """The last reading, by pid."""

    turn: int = -1  # number of the reading, modulo _TURNS
    seen: dict[str, _Seen] = field(default_factory=dict)
    resting: Resting = field(default_factory=Resting)
    details: dict[str, _Detail] = field(default_factory=dict)
    busy: dict[str, int] = field(default_factory=dict)  # readings left among the busiest
    refused: bool = False  # a process may not be read

    def name(self, pid: str) -> str | None:
        """The command name of a process; None if it was not read."""
        line = self.seen[pid].line if pid in self.seen else b""
        name = line[line.find(b"(") + 1 : line.rfind(b")")]
        return name.decode("utf-8", "surrogateescape") or None


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """The processes that may use the network, then threads; OSError without /proc.

    `Unfinished` while some of many processes were never read.
    """
    last = recall(memory, Last)
    listed = _pids.pids(source, memory)
    last.turn = (last.turn + 1) % _TURNS
    many = len(listed) > _pids.MANY
    if many:
        grown = _read_due(source, last, listed, recall(memory, socket_owners.Known).holding)
    else:
        grown = _read_all(source, last, listed)
    now = last.seen
    details: dict[str, _Detail] = {}
    room = THREADS
    for pid in _busiest(last, grown):
        seen = now[pid]
        if seen.row is not None:
            known = last.details.get(pid)
            if known is None or known.line is not seen.line or len(known.threads) > room:
                known = _detail(source, seen.line, seen.row, known, room)
            room -= len(known.threads)
            details[pid] = known
    last.details = details
    rows = [
        details[pid].row if pid in details else seen.row
        for pid, seen in now.items()
        if seen.row is not None
    ]
    rows += [thread.row for known in details.values() for thread in known.threads.values()]
    if unread := len(last.resting.new) if many else 0:
        return Unfinished(rows, _pids.left(unread, len(listed), "CPU times"))
    # each PID namespace has a process 1: proc(5), hidepid=invisible, and then hidepid=noaccess
    return Partly(rows, HIDDEN) if last.refused or "1" not in listed else rows


def _read_all(source: Source, last: Last, listed: Sequence[str]) -> list[tuple[float, str]]:
    """Read each process; the CPU seconds and pids of those that ran."""
    past, turn = last.seen, last.turn
    last.refused = False
    now: dict[str, _Seen] = {}
    grown: list[tuple[float, str]] = []
    for pid in listed:
        old = past.get(pid)
        if old is not None and old.row is None and (int(pid) - turn) % old.turns:
            now[pid] = old
            continue
        try:
            line = source.data(f"/proc/{pid}/stat")
        except OSError as error:
            last.refused |= isinstance(error, PermissionError)
            continue  # or it ended meanwhile
        if old is not None and old.line == line:
            now[pid] = _rested(old)
            continue
        turns = _turns(line)
        row = parse(line) if _awake(old, line, turns) else None
        now[pid] = _Seen(line, row, turns)
        if (spent := _spent(row, old)) > 0:
            grown.append((spent, pid))
    last.seen = now
    return grown


def _read_due(
    source: Source, last: Last, listed: Sequence[str], holding: Collection[str]
) -> list[tuple[float, str]]:
    """Read the processes of a host with many that are due, as `_read_all`.

    A process that rests has no row, unless it holds a socket: then it is read each time.
    """
    seen, resting = last.seen, last.resting
    for pid in resting.list(listed, seen):
        del seen[pid]
    grown: list[tuple[float, str]] = []
    awake = [pid for pid, one in seen.items() if one.row is not None]
    for pid in resting.due(awake, holding, source.now()):
        try:
            line = source.data(f"/proc/{pid}/stat")
        except OSError as error:  # it ended meanwhile, or is hidden
            last.refused |= isinstance(error, PermissionError)
            seen.pop(pid, None)
            continue
        old, turns, holds = seen.get(pid), _turns(line), pid in holding
        if old is None:
            runs = turns == 1 and (holds or resting.whole or _runs(line))
            seen[pid] = new = _Seen(line, parse(line) if runs else None, turns)
        elif old.line == line:
            still = old.still + 1
            row = old.row if holds or still < _ROUNDS else None
            seen[pid] = new = old._replace(row=row or (parse(line) if holds else None), still=still)
        else:
            ran = old.row is not None or turns == 1 or _works(old.line, line, resting.pause)
            seen[pid] = new = _Seen(line, parse(line) if ran or holds else None, turns)
            if (spent := _spent(new.row, old)) > 0:
                grown.append((spent, pid))
        if new.row is None:
            resting.rest(pid)
    return grown


def _runs(line: bytes) -> bool:
    """Whether the process ran or waited for a device when it was read."""
    at = line.rfind(b")") + 2
    return line[at : at + 1] in b"RD"


def _spent(row: Row | None, old: _Seen | None) -> float:
    """The CPU seconds of a process since its row before; 0 for a kernel thread."""
    if row is None or row.kernel:
        return 0.0
    before = old.row if old is not None else None
    return row.user + row.system - (before.user + before.system if before else 0.0)


def _busiest(last: Last, grown: list[tuple[float, str]]) -> list[str]:
    """The busiest now or a few readings ago, so that their threads have rates."""
    busy = {pid: _ROUNDS for _, pid in sorted(grown, reverse=True)[:BUSIEST]}
    for pid, rounds in last.busy.items():
        if rounds > 1 and pid in last.seen:
            busy.setdefault(pid, rounds - 1)
    last.busy = busy
    return list(busy)


def _turns(line: bytes) -> int:
    """After how many readings an idle thread of this name is read again; 1: at each reading."""
    name = line[line.find(b"(") + 1 : line.find(b"(") + 24]
    if name.startswith(_PACKETS):
        return 1
    words = line[line.rfind(b")") + 2 :].split(None, 8)
    if len(words) > 6 and words[6].isdigit() and count(words[6]) & _KERNEL:
        return _WORKERS if name.startswith(b"kworker/") else _TURNS
    return 1


def _awake(old: _Seen | None, line: bytes, turns: int) -> bool:
    """Whether it has a row: not an idle kernel thread, nor one that moves no packets."""
    if turns == 1 or (old is not None and old.row is not None):
        return True
    return turns == _WORKERS if old is None else _works(old.line, line, turns)


def _rested(old: _Seen) -> _Seen:
    """`old` after another reading without a change; an idle kernel thread loses its row in time."""
    if old.turns == 1 or old.row is None:
        return old
    still = old.still + 1
    return old._replace(row=old.row if still < _ROUNDS else None, still=still)


def _works(before: bytes, line: bytes, turns: int) -> bool:
    """Whether this kernel thread is the same as before and used CPU time in between."""
    old, new = parse(before), parse(line)
    spent = new.user + new.system - old.user - old.system
    return old.started == new.started and spent >= _WORKED * turns * TABLE.every


def parse(line: bytes, pid: int | None = None, waited: float | None = None) -> Row:
    """The row of a stat line, of a thread of `pid` if given; ValueError for another format."""
    start, end = line.find(b"("), line.rfind(b")")
    words = line[end + 1 :].split()
    if start < 1 or end < start or len(words) < 20:
        raise ValueError(f"not a stat line: {line[:60]!r}")
    own, started, user, system, nice, threads, flags = counts(
        (line[:start].strip(), words[19], words[11], words[12], words[16], words[17], words[6])
    )
    return Row(
        own if pid is None else pid,
        own,
        started,
        line[start + 1 : end].decode("utf-8", "surrogateescape"),
        thread=pid is not None,
        state=words[0].decode("ascii", "replace"),
        user=user / USER_HZ,
        system=system / USER_HZ,
        cpu=count(words[36]) if len(words) > 36 else None,
        nice=nice,
        threads=threads,
        kernel=bool(flags & _KERNEL),
        waited=waited,
    )


def _detail(source: Source, line: bytes, row: Row, old: _Detail | None, room: int) -> _Detail:
    """The process with allowed CPUs and waiting time, and at most `room` of its threads."""
    pid = str(row.pid)
    tids = (pid,) if row.threads == 1 else _sysfs.names(source, f"/proc/{pid}/task")
    ask = 0 < len(tids) <= WAITS
    known = old.threads if old is not None and old.row.started == row.started else {}
    waits, threads = [], {}
    for tid in tids[: max(1, room)]:
        ran = _sysfs.word(source, f"/proc/{pid}/task/{tid}/schedstat") if ask else None
        waits.append(_waited(ran))
        if len(tids) == 1:
            break
        before = known.get(tid)
        if before is not None and ran is not None and before.ran == ran:
            threads[tid] = before
            continue
        try:
            thread = parse(source.data(f"/proc/{pid}/task/{tid}/stat"), row.pid, waits[-1])
            threads[tid] = _Thread(thread, ran)
        except (OSError, ValueError):
            continue  # it ended meanwhile
    whole = ask and len(waits) == len(tids) and None not in waits
    detailed = Row(
        row.pid, row.tid, row.started, row.name, row.thread, row.state, row.user, row.system,
        row.cpu, row.nice, row.threads, row.kernel,
        allowed=_allowed(_sysfs.word(source, f"/proc/{pid}/status") or ""),
        waited=sum(wait for wait in waits if wait is not None) if whole else None,
    )  # fmt: skip
    return _Detail(line, detailed, threads)


def _waited(schedstat: str | None) -> float | None:
    """The second figure of schedstat, in ns (Documentation/scheduler/sched-stats.rst)."""
    words = (schedstat or "").split()
    wait = _sysfs.whole(words[1]) if len(words) > 1 else None
    return None if wait is None else wait / 1e9


def _allowed(status: str) -> tuple[int, ...] | None:
    start = status.find("Cpus_allowed_list:")
    if start < 0:
        return None
    try:
        return cpulist.parse(status[start + 18 : status.find("\n", start)])
    except ValueError:
        return None
