"""What the threads that feed or drain flows wait for: /proc/PID/task/TID/syscall, and descriptors.

Of each process that moves network data (`threads`), and of the programs at the other end of its
pipes and its children, one sample a reading: the system call in which a thread sleeps
(fs/proc/base.c, proc_pid_syscall()) with the file or pipe behind its descriptor, and the bytes that
the process moves to and from devices (/proc/PID/io, Documentation/filesystems/proc.rst). A named
pipe has the path of a file: the function of the kernel in which its reader sleeps tells it apart
(/proc/PID/wchan; fs/pipe.c, anon_pipe_read(), pipe_read()), as it does for a frozen thread. Who
holds a lock of a file, /proc/locks says; who serves a FUSE mount has /dev/fuse open. Reading these
needs the rights of ptrace(2). Other programs join those of `threads`.

In /proc/locks (fs/locks.c, lock_get_status()) each lock has a number, and those that wait for it
follow with the same number and an arrow:

    2: FLOCK  ADVISORY  WRITE 812 fe:00:1311 0 EOF
    2: -> FLOCK  ADVISORY  WRITE 640 fe:00:1311 0 EOF

The number of a process is 0 where its namespace does not show it, and -1 for locks of open files.
The file that msync() writes, or in which a futex lies that programs share, is that at its address.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

from ..frame.fields import altered, counter, gauge, label, light, maybe
from ..frame.rates import Partly
from ..host.source import Source
from ..terms.dataclass import dataclass
from ..terms.errors import sentence
from . import (
    _descriptors,
    _group_limits,
    _lines,
    _mapped,
    _sysfs,
    processes,
    socket_owners,
    sockets_udp,
    threads,
)
from ._descriptors import File, Host, Known
from ._table import Memory, Table, recall

TABLE: Final = Table(every=0.45, optional=True, memory=threads.TABLE.memory)

PROCESSES: Final = 16  # that are looked at
FEW: Final = 4  # behind a process: they are looked at next; more, as of a shell, come last
THREADS: Final = 32  # of a process
_COMPAT: Final = 1 << 32  # a stack below: a 32-bit program, whose calls have other numbers
_MILLISECONDS: Final = ("poll", "epoll_wait", "epoll_pwait")  # other calls point to their time
_PRIVATE: Final = 128  # FUTEX_PRIVATE_FLAG: threads of one program use it
_NEVER: Final = (0, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One thread, at the moment of the reading."""

    pid: int = label("process")
    tid: int = label("thread")
    started: int = label("start time in clock ticks after boot: identifies a reused number")
    name: str = gauge("name of the process")
    state: str = gauge("R running, S sleeping, D waiting for a device, T stopped …")
    call: str | None = maybe(
        "system call in which it sleeps; empty: none, None: it may not be read"
    )
    kind: str = gauge(
        "input output both sync lock opens timer pause events child memory signal (an eventfd of "
        "several programs); empty: another call", default="",
    )  # fmt: skip
    object: str = gauge(
        "file, pipe or socket of the call, or the file for whose growth it waits (inotify); of an "
        "eventfd, and of a semaphore of System V, its number", default="",
    )  # fmt: skip
    type: str = gauge(
        "of that object: file pipe (also one with the path of a file) socket inotify eventfd "
        "semaphore anon_inode", default="",
    )  # fmt: skip
    path: str = gauge(
        "path of that socket, or of its other end, if it is a Unix socket", default=""
    )
    remote: str = gauge(
        "address to which that socket is connected, if it is a UDP socket", default=""
    )
    port: int = gauge("port there; its own one where it is not connected; 0: no UDP", default=0)
    word: int = gauge(
        "address of the futex, if it is a lock for which it waits, or of the path that it opens",
        default=0,
    )
    filesystem: str = gauge("type of file system of that file", default="")
    device: str = gauge("device of that file, MAJOR:MINOR", default="")
    direct: bool = gauge("the file is read and written past the page cache", default=False)
    synced: bool = gauge("each write to the file waits for the device (O_DSYNC)", default=False)
    throttled: str = gauge("limit of a cgroup on that device, with its file", default="")
    mapped: str = gauge(
        "largest file of data that is mapped, if it waits for a device in no file", default=""
    )
    frozen: str = gauge("cgroup with which it is frozen", default="")
    ends: bool = gauge("the call ends after a time", default=False)
    after: int | None = maybe("that time, if nothing comes; None: the call has it in memory", "ms")
    tracer: int = gauge("process that stops it by ptrace(2), if it is stopped", default=0)
    feeds: tuple[int, ...] = gauge("processes that write into the pipes it reads", default=())
    drains: tuple[int, ...] = gauge("processes that read the pipes it writes", default=())
    holders: tuple[int, ...] = gauge(
        "processes with the lock of a file it waits for, that map the file of its futex, or share "
        "memory of System V; if it sleeps for a time, with a lock of a file that it has open",
        default=(),
    )  # fmt: skip
    children: tuple[int, ...] = gauge("children that it waits for", default=())
    read: int | None = counter("read from devices, whole process", "bytes", default=None)
    written: int | None = counter("written to devices, whole process", "bytes", default=None)
    evicted: int | None = counter(
        "pages that its memory cgroup read again soon after it had evicted them", "pages",
        default=None,
    )  # fmt: skip
    memory: str = gauge("limit of the memory of its cgroup, with its file", default="")


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """One row for each thread; none while no process moves data.

    `Partly` where the calls of a process may not be read. OSError when there is no /proc.
    """
    if threads.Moving not in memory:
        source.listing("/proc")
    moving, known = recall(memory, threads.Moving), recall(memory, Known)
    if known.machine is None:
        known.machine = _descriptors.machine(source)
    moving.others = {pid: left - 1 for pid, left in moving.others.items() if left > 1}
    if not moving.rounds:
        moving.others = {}
        known.files.clear()
        known.devices = frozenset()
        return []
    owners = recall(memory, socket_owners.Known)
    if known.turn != owners.turn:
        known.turn, known.peers, known.holders, known.paths = owners.turn, None, {}, {}
        for holder, process in owners.held.items():
            for what, inodes in (("pipe", process.pipes), ("socket", process.inodes)):
                for number, inode in inodes.items():
                    known.holders.setdefault(f"{what}:[{inode}]", []).append((holder, number))
    datagrams = recall(memory, sockets_udp.Known).rows
    known.datagrams = {f"socket:[{row.inode}]": row for row in datagrams}
    host = Host(source, known, owners, [])
    rows, seen = list[Row](), set[int]()
    waiting: deque[int] = deque(moving.rounds)
    while waiting and len(seen) < PROCESSES:
        pid = waiting.popleft()
        if pid in seen:
            continue
        seen.add(pid)
        found = _process(host, pid)
        rows += found
        others = sorted({
            *(one for row in found for one in (*row.feeds, *row.drains, *row.holders)),
            *(_behind(host, str(pid)) if any(row.state == "R" for row in found) else ()),
        })  # fmt: skip
        behind = sorted({*others, *(one for row in found for one in row.children)})
        (waiting.extendleft if len(behind) <= FEW else waiting.extend)(behind)
        moving.others |= dict.fromkeys(others, threads.LATER)
    known.files = {key: file for key, file in known.files.items() if int(key[0]) in seen}
    known.devices = frozenset(row.device for row in rows if row.device)
    if not host.refused:
        return rows
    many = len({row.pid for row in rows if row.call is None})
    whose = "1 process waits" if many == 1 else f"{many} processes wait"
    return Partly(rows, f"what {whose} for: {host.refused[0]}")


def _behind(host: Host, pid: str) -> tuple[int, ...]:
    """Who writes into the input of a filter that runs now, and waits there in other samples."""
    file = host.filtered(pid)
    return () if file is None else host.at(pid, [file], writes=True)


def _process(host: Host, number: int) -> list[Row]:
    pid, source = str(number), host.source
    rows = []
    groups = _sysfs.word(source, f"/proc/{pid}/cgroup") or ""
    frozen: str | None = None  # all threads of a process are in one cgroup: one tells
    for tid in _sysfs.names(source, f"/proc/{pid}/task")[:THREADS]:
        try:
            stat = processes.parse(source.data(f"/proc/{pid}/task/{tid}/stat"), number)
        except (OSError, ValueError):
            continue  # it ended meanwhile
        if frozen is None and groups and stat.state in "SD":
            frozen = _group_limits.frozen(source, groups, pid, tid, stat.state)
        row = _waits(host, pid, tid, Row(number, stat.tid, stat.started, stat.name, stat.state))
        if row.state == "t":
            words = _lines.named(_sysfs.word(source, f"/proc/{pid}/status") or "")
            row = altered(row, tracer=_sysfs.whole(words.get("TracerPid")) or 0)
        if frozen and row.state in "SD":
            row = altered(row, frozen=frozen)
        elif groups and row.state == "D" and _group_limits.short(source, groups, pid, tid):
            row = altered(row, kind="memory", memory=_group_limits.memory(source, groups)[0])
        elif groups and (row.state == "D" or (row.kind == "events" and row.device)):
            row = _limited(source, groups, row)
        rows.append(row)
    if rows and rows[0].tid == number:
        words = _lines.named(_sysfs.word(source, f"/proc/{pid}/io") or "")
        limit, evicted = _group_limits.memory(source, groups)
        rows[0] = altered(
            rows[0],
            read=_sysfs.whole(words.get("read_bytes")),
            written=_sysfs.whole(words.get("write_bytes")),
            evicted=evicted, memory=limit,
        )  # fmt: skip
    return rows


def _limited(source: Source, groups: str, row: Row) -> Row:
    """The row of a thread that waits for a device, with what a cgroup allows of that device.

    Outside a call that uses a file, it waits for a page of a mapped file, or for a folder.
    """
    device, ways = (
        row.device,
        {"input": ["read"], "events": ["read", "write"]}.get(row.kind, ["write"]),
    )
    if row.kind != "events" and row.type != "file" and row.kind != "sync":
        mapped, device = _mapped.largest(source, row.pid)
        row, ways = altered(row, mapped=mapped), ["read"]
    limits = (_group_limits.throttle(source, groups, device, way) for way in ways)
    limit = next(filter(None, limits), "")
    return altered(row, throttled=limit) if limit else row


def _waits(host: Host, pid: str, tid: str, row: Row) -> Row:
    """The row with the call in which the thread sleeps."""
    try:
        words = host.source.text(f"/proc/{pid}/task/{tid}/syscall").split()
    except PermissionError as error:
        host.refused.append(sentence(error))
        return row
    except OSError:  # it ended, or the kernel has no such file (CONFIG_HAVE_ARCH_TRACEHOOK)
        return row
    if not words:
        return row
    if words[0] == "running":
        return altered(row, call="", state="R" if row.state in "SD" else row.state)
    values = [_sysfs.whole(word) or 0 for word in words]
    if len(values) < 9 or values[7] < _COMPAT or not host.known.machine:
        return altered(row, call="")
    call = _descriptors.TABLES[host.known.machine].get(values[0])
    if call is None:
        return altered(row, call=f"call {values[0]}")
    arguments = values[1:7]
    known = altered(
        row,
        call=call.name, kind=call.kind,
        ends=call.ends is not None and arguments[call.ends] not in _NEVER,
    )  # fmt: skip
    if known.ends and call.ends is not None and call.name in _MILLISECONDS:
        known = altered(known, after=arguments[call.ends])
    return _for(host, pid, tid, known, call, arguments)


def _for(
    host: Host, pid: str, tid: str, row: Row, call: _descriptors.Call, arguments: Sequence[int]
) -> Row:  # fmt: skip
    """The row with that for which the call waits."""
    if call.kind == "events":
        return _on_events(host, pid, row, call, arguments)
    if call.kind == "file":
        return _opening(host, pid, row, arguments)
    if call.kind == "child":
        names = _sysfs.word(host.source, f"/proc/{pid}/task/{tid}/children") or ""
        return altered(row, children=tuple(int(n) for n in names.split() if n.isdecimal()))
    if call.name.startswith("sem"):
        name, others = str(arguments[0]), host.sharing(pid)
        return altered(row, type="semaphore", object=name, holders=others)
    if call.name == "futex":
        row = altered(row, word=_contended(arguments))
    if call.name == "msync" or (call.name == "futex" and not arguments[1] & _PRIVATE):
        return _in_memory(host, pid, row, arguments[0])
    if call.kind == "timer":
        file, others = host.locked(pid)
        return row if file is None else altered(_named(row, file), holders=others)
    if call.kind == "lock" and call.uses is not None:
        row = altered(row, holders=holders(host.source, row.pid))
    return row if call.uses is None else _on(host, pid, row, call, arguments)


def _in_memory(host: Host, pid: str, row: Row, address: int) -> Row:
    """The row of a call for shared memory: its file, and of a futex who else maps that."""
    one = _mapped.shared(host.source, pid, address)
    if one is None:
        return row
    others = host.mapping(pid, one) if row.kind == "lock" else ()
    return altered(row, type="file", object=one.path, device=one.device, holders=others)


def _opening(host: Host, pid: str, row: Row, arguments: Sequence[int]) -> Row:
    """The row of a thread that opens a file: the path is in the memory of its program."""
    if not host.opens_pipe(pid, str(row.tid)):
        return altered(row, kind="")
    path, flags = arguments[1:3] if row.call == "openat" else arguments[:2]
    writes = flags & _descriptors.ACCESS == _descriptors.WRITES
    return altered(row, kind="output" if writes else "input", type="pipe", word=path)


def _contended(arguments: Sequence[int]) -> int:
    """The address of a futex that is a lock; 0 for one at which idle threads may sleep for long.

    A mutex that others wait for has the value 2 (nptl/lowlevellock.h of the GNU C library); the
    lock of an interpreter is asked for again after a time.
    """
    word, operation, value, timeout = arguments[:4]
    return word if timeout or (operation & 0x7F == 0 and value == 2) else 0


def _on_events(
    host: Host, pid: str, row: Row, call: _descriptors.Call, arguments: Sequence[int]
) -> Row:  # fmt: skip
    """The row of a thread that waits for several things; for none of them it is a timer.

    A call that waits for requests in the background has no descriptor of a file: it is that of the
    only file that the process has open past the page cache, if there is one. The pipe from which a
    filter reads is its standard input.
    """
    if call.many is not None and not arguments[call.many] and row.ends:
        return altered(row, kind="timer")
    streams = host.streams(pid)
    row = altered(
        row, feeds=host.at(pid, streams, writes=True), drains=host.at(pid, streams, writes=False)
    )
    file = host.direct(pid) if call.name.startswith("io_") else host.filtered(pid)
    return _on_change(host, pid, row) if file is None else _named(row, file)


def _on_change(host: Host, pid: str, row: Row) -> Row:
    """The row of a thread that waits until a file grows, with the programs that write it."""
    file = host.watched(pid)
    if file is None:
        return row
    host.opened(file.target, file.target)
    writers = host.at(pid, [file], writes=True)
    return altered(row, kind="events", type="inotify", object=file.target, feeds=writers)


def _named(row: Row, file: File) -> Row:
    return altered(row, type=file.type, object=file.target, filesystem=file.filesystem,
                   device=file.device, direct=file.direct, synced=file.synced)  # fmt: skip


def _on(host: Host, pid: str, row: Row, call: _descriptors.Call, arguments: Sequence[int]) -> Row:
    """The row with the file of the call.

    Of two it is the one that it reads, unless that is a socket, or a pipe while it waits for the
    device of the other.
    """
    files = [
        None if at is None else host.file(pid, str(arguments[at] & 0xFFFFFFFF))
        for at in (call.uses, call.writes)
    ]
    file, kind = files[0], call.kind
    if kind == "both":
        kind = "input"
        if file is not None and files[1] is not None and (
            file.type == "socket" or (row.state == "D" and file.type == "pipe")
        ):  # fmt: skip
            file, kind = files[1], "output"
    if file is None:
        return altered(row, kind=kind)
    read = kind == "input"
    if file.target == _descriptors.INOTIFY:
        return _on_change(host, pid, row)
    if file.target == _descriptors.EVENT and file.event:
        pipes = host.signalling(pid, file)
        row = altered(row, type="eventfd", object=file.event)
        return altered(row, feeds=pipes, drains=pipes, kind="signal" if pipes and read else "lock")
    moves = kind in ("input", "output") and row.state == "S" and file.type == "file"
    if moves and host.sleeps_at_pipe(pid, str(row.tid), file.target):
        file = file._replace(type="pipe")
    pipes = host.servers(file) if file.type == "file" else host.at(pid, [file], writes=read)
    known = host.known.datagrams.get(file.target)
    if known is not None:
        port = known.remote_port or known.local_port
        row = altered(row, port=port, remote=known.remote if known.remote_port else "")
    return altered(
        _named(row, file), kind=kind, path=host.path(file.target, pipes),
        feeds=pipes if read else (), drains=() if read else pipes,
    )  # fmt: skip


def holders(source: Source, pid: int) -> tuple[int, ...]:
    """The processes with the lock that `pid` waits for; none where the kernel does not say."""
    lines = (_sysfs.word(source, "/proc/locks") or "").splitlines()
    parts = [(line.split() + [""] * 6)[:6] for line in lines]
    waited = {one[0] for one in parts if one[1] == "->" and one[5] == str(pid)}
    found = (_sysfs.whole(one[4]) for one in parts if one[1] != "->" and one[0] in waited)
    return tuple(dict.fromkeys(one for one in found if one is not None and one > 0))
