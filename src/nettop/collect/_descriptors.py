"""What the descriptors of programs lead to: files, pipes, sockets, and who is at their other end.

`waits` asks for them. A descriptor is read once as long as it leads to the same file.

A thread waits for another program, a device or a time in one of these system calls (numbers:
arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h, which ARM uses).
`uses` names the argument with the descriptor that the call waits for; of those with two, the one
that it reads.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from itertools import islice
from typing import Final, NamedTuple

from ..files.bounds import count
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _lines, _sysfs, socket_owners, sockets_udp, sockets_unix
from ._mapped import Mapped, files, segment

INPUT: Final = "0"  # standard input
MESSAGES: Final = "2"  # standard error: nobody waits for what it tells
PIPES: Final = 8  # of a process that waits for events
NAMED: Final = 4_000  # descriptors that are followed to find the other ends of a named pipe
MANY: Final = 64  # files of a process among which one is looked for
_FUSE: Final = "/dev/fuse"
INOTIFY: Final = "anon_inode:inotify"
EVENT: Final = "anon_inode:[eventfd]"
PROGRAMS: Final = 256  # whose mapped files are read to find who shares one
_PIPE: Final = "pipe_"  # in the name of the function: pipe_read, anon_pipe_write
_PARTNER: Final = ("wait_for_partner", "fifo_open")  # fs/pipe.c
ACCESS: Final = 0o3  # O_ACCMODE
WRITES: Final = 0o1  # O_WRONLY
_SYNCED: Final = 0o10000  # O_DSYNC, which is a part of O_SYNC; the same for each architecture here


class File(NamedTuple):
    """What does not change while a descriptor is open."""

    type: str  # file, pipe, socket or anon_inode
    target: str
    writes: bool = False
    reads: bool = True
    filesystem: str = ""
    device: str = ""
    direct: bool = False
    synced: bool = False
    inode: str = ""  # of a file: since Linux 5.14
    event: str = ""  # number of an eventfd: fs/eventfd.c, eventfd_show_fdinfo()


@dataclass
class Known:
    """What the last readings found."""

    machine: str | None = None  # its architecture
    files: dict[tuple[str, str], File] = field(default_factory=dict)  # by process and descriptor
    turn: int = -1  # of `socket_owners`, when its pipes were listed
    # of each pipe or socket, by its name; a named pipe once its reader sleeps
    holders: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    peers: Mapping[int, int] | None = None  # of Unix sockets; None: not asked
    paths: dict[str, str] = field(default_factory=dict)  # of Unix sockets; empty: without a name
    datagrams: Mapping[str, sockets_udp.Row] = field(default_factory=dict)  # UDP sockets
    devices: frozenset[str] = frozenset()  # for which a thread waits, for `disks`


class Host(NamedTuple):
    source: Source
    known: Known
    owners: socket_owners.Known
    refused: list[str]  # why calls could not be read

    def file(self, pid: str, number: str) -> File | None:
        """What a descriptor leads to; None if it is closed, or may not be read."""
        target = self._target(pid, number)
        if target is None:
            return None
        old = self.known.files.get((pid, number))
        if old is None or old.target != target:
            old = self._opened(pid, number, target)
            if old is not None:
                self.known.files[pid, number] = old
        return old

    def _opened(self, pid: str, number: str, target: str) -> File | None:
        """A descriptor; None before another host has answered, which it does in the next sample."""
        told = _sysfs.word(self.source, f"/proc/{pid}/fdinfo/{number}")
        mounts = _sysfs.word(self.source, f"/proc/{pid}/mountinfo") if target[:1] == "/" else ""
        if self.source.batches is not None and None in (told, mounts):
            return None
        words = _lines.named(told or "")
        try:
            flags = int(words.get("flags", "0"), 8)
        except ValueError:
            flags = 0
        access = flags & ACCESS
        filesystem = device = ""
        if target.startswith("/dev/"):  # a block device has the number of the device itself
            name = target.removeprefix("/dev/").replace("/", "!")
            device = _sysfs.word(self.source, f"/sys/class/block/{name}/dev") or ""
        for line in (mounts or "").splitlines():
            parts = line.split()
            if "-" in parts[3:-1] and parts[0] == words.get("mnt_id"):
                at = parts.index("-", 3)
                filesystem, device = parts[at + 1], device or parts[2]
        direct = DIRECT.get(self.known.machine or "", 0)
        kind = "file" if target.startswith("/") else target.partition(":")[0]
        return File(kind, target, access > 0, access != WRITES, filesystem, device,
                    bool(flags & direct), bool(access and flags & _SYNCED),
                    words.get("ino", ""), words.get("eventfd-id", ""))  # fmt: skip

    def direct(self, pid: str) -> File | None:
        """The only file that a process reads or writes past the page cache; None of several."""
        process = self.owners.held.get(pid)
        numbers = islice(process.names, MANY) if process is not None else ()
        files = (
            self.file(pid, number) for number in numbers
            if process is None
            or (number not in process.pipes and number not in process.inodes)
        )  # fmt: skip
        found = {one.target: one for one in files if one is not None and one.direct}
        return next(iter(found.values())) if len(found) == 1 else None

    def watched(self, pid: str) -> File | None:
        """The file that a process without sockets has open, and of whose changes it is told.

        fs/notify/fdinfo.c, inotify_fdinfo(). None: none, or several, or before Linux 5.14.
        """
        process = self.owners.held.get(pid)
        if process is None or process.inodes:
            return None
        numbers = [number for number in process.names if number not in process.pipes][:MANY]
        at = next((one for one in numbers if self._target(pid, one) == INOTIFY), None)
        words = _sysfs.word(self.source, f"/proc/{pid}/fdinfo/{at}") if at is not None else None
        told = {word.partition(":")[2] for word in (words or "").split() if word[:4] == "ino:"}
        files = (self.file(pid, number) for number in numbers if number != at)
        found = {
            one.target: one for one in files
            if one is not None and one.inode.isdecimal() and f"{int(one.inode):x}" in told
        }  # fmt: skip
        return next(iter(found.values())) if len(found) == 1 else None

    def at(self, pid: str, files: Iterable[File], *, writes: bool) -> tuple[int, ...]:
        """The other processes that write into these pipes and Unix sockets, or read them."""
        found = dict[int, None]()
        for mine in files:
            name = mine.target
            if mine.type == "socket":
                name = f"socket:[{self.peers().get(_inode(name), -1)}]"
            elif not (mine.reads if writes else mine.writes):
                continue
            for other, number in self.known.holders.get(name, ()):
                file = self.file(other, number) if other != pid else None
                if file is None or (name == mine.target and file.inode != mine.inode):
                    continue  # of another file of that name
                if file.writes if writes else file.reads:
                    found[int(other)] = None
        return tuple(found)

    def path(self, target: str, others: Iterable[int]) -> str:
        """The path to which a Unix socket, or its other end, is bound: unix(7), /proc/net/unix."""
        if target.startswith("socket:") and target not in self.known.paths:
            ends = {str(end) for end in (_inode(target), self.peers().get(_inode(target)))}
            texts = (_sysfs.word(self.source, f"/proc/{other}/net/unix") or "" for other in others)
            lines = (line.split(None, 7) for text in texts for line in text.splitlines())
            found = (words[7] for words in lines if len(words) == 8 and words[6] in ends)
            self.known.paths[target] = next(found, "")
        return self.known.paths.get(target, "")

    def sleeps_at_pipe(self, pid: str, tid: str, path: str) -> bool:
        """Whether a thread sleeps at a named pipe; then those that have it open are looked for."""
        place = _sysfs.word(self.source, f"/proc/{pid}/task/{tid}/wchan") or ""
        if _PIPE not in place:
            return False
        self.opened(path, path)
        return True

    def opens_pipe(self, pid: str, tid: str) -> bool:
        """Whether a thread waits until another one opens the other end of a named pipe."""
        place = _sysfs.word(self.source, f"/proc/{pid}/task/{tid}/wchan") or ""
        return place in _PARTNER

    def opened(self, name: str, path: str) -> list[tuple[str, str]]:
        """The processes that have this file open, with its number there; remembered by `name`."""
        if name not in self.known.holders:
            others = (
                (holder, number)
                for holder, process in self.owners.held.items() for number in process.names
                if number not in process.pipes and number not in process.inodes
            )  # fmt: skip
            self.known.holders[name] = [
                (holder, number) for holder, number in islice(others, NAMED)
                if self._target(holder, number) == path
            ]  # fmt: skip
        return self.known.holders[name]

    def signalling(self, pid: str, mine: File) -> tuple[int, ...]:
        """The other processes that have the same eventfd."""
        others = ((other, self.file(other, at)) for other, at in self.opened(EVENT, EVENT)
                  if other != pid)  # fmt: skip
        found = (int(other) for other, file in others if file and file.event == mine.event)
        return tuple(dict.fromkeys(found))

    def mapping(self, pid: str, mine: Mapped) -> tuple[int, ...]:
        """The other processes that map the same file; remembered."""
        name, file = f"mapped:{mine.device}:{mine.inode}", (mine.device, mine.inode)
        if name not in self.known.holders:
            self.known.holders[name] = [
                (other, "") for other in islice(self.owners.held, PROGRAMS)
                if any((one.device, one.inode) == file for one in files(self.source, other))
            ]  # fmt: skip
        return tuple(int(other) for other, _ in self.known.holders[name] if other != pid)

    def sharing(self, pid: str) -> tuple[int, ...]:
        """The other processes with its memory of System V; its number holds in a namespace."""
        memory = segment(self.source, pid)
        space = _sysfs.target(self.source, f"/proc/{pid}/ns/ipc")
        return tuple(
            other for other in (self.mapping(pid, memory) if memory is not None else ())
            if _sysfs.target(self.source, f"/proc/{other}/ns/ipc") == space
        )  # fmt: skip

    def locked(self, pid: str) -> tuple[File | None, tuple[int, ...]]:
        """A file that a process has open and others have locked for themselves, and these.

        /proc/locks names the device as MAJOR:MINOR, in hexadecimal digits, and the inode.
        """
        held = dict[str, list[int]]()
        for line in (_sysfs.word(self.source, "/proc/locks") or "").splitlines():
            parts = line.split()
            if len(parts) < 6 or parts[3] != "WRITE" or not parts[4].isdecimal():
                continue  # or one that waits, or a lock of an open file, which has no process
            if parts[4] not in (pid, "0"):
                *device, inode = parts[5].split(":")
                numbers = [str(_sysfs.whole(f"0x{one}")) for one in device]
                held.setdefault(":".join((*numbers, inode)), []).append(int(parts[4]))
        process = self.owners.held.get(pid) if held else None
        for number in islice(process.names, MANY) if process is not None else ():
            file = self.file(pid, number)
            others = held.get(f"{file.device}:{file.inode}", ()) if file is not None else ()
            if others:
                return file, tuple(dict.fromkeys(others))
        return None, ()

    def servers(self, file: File) -> tuple[int, ...]:
        """The program that serves the file system of a file (FUSE); none if it is not certain.

        Its connection has the minor number of the mount (fuse_dev_show_fdinfo() in fs/fuse/dev.c).
        Without that, of older kernels, it is the only program with /dev/fuse open.
        """
        if not file.filesystem.startswith("fuse"):
            return ()
        found = dict[str, str | None]()
        for pid, number in self.opened(_FUSE, _FUSE):
            words = _lines.named(_sysfs.word(self.source, f"/proc/{pid}/fdinfo/{number}") or "")
            found[pid] = words.get("fuse_connection", found.get(pid))
        told = [pid for pid, one in found.items() if one == file.device.rpartition(":")[2]]
        alone = len(found) == 1 and None in found.values()
        return tuple(map(int, told or (found if alone else ())))

    def _target(self, pid: str, number: str) -> str | None:
        """Where a descriptor leads; None if it is closed, or may not be read."""
        try:
            return self.source.link(f"/proc/{pid}/fd/{number}")
        except OSError:
            return None

    def streams(self, pid: str) -> list[File]:
        """The pipes and sockets of a process."""
        process = self.owners.held.get(pid)
        if process is None:
            return []
        numbers = [
            number
            for known in (process.pipes, process.inodes)
            for number in [*known][:PIPES]
            if number != MESSAGES
        ]
        return [file for number in numbers if (file := self.file(pid, number)) is not None]

    def filtered(self, pid: str) -> File | None:
        """The pipe from which a filter reads: its standard input; it has one socket at most."""
        process = self.owners.held.get(pid)
        if process is None or INPUT not in process.pipes or len(process.inodes) > 1:
            return None
        return self.file(pid, INPUT)

    def peers(self) -> Mapping[int, int]:
        """The inode at the other end of each Unix socket, as of the last list of descriptors."""
        if self.known.peers is None:
            try:
                self.known.peers = sockets_unix.peers(self.source)
            except (OSError, ValueError):  # no module unix_diag
                self.known.peers = {}
        return self.known.peers


def _inode(target: str) -> int:
    """The inode of `socket:[INODE]`; -1 of another form."""
    number = target.partition(":")[2][1:-1]
    return count(number) if number.isdecimal() else -1


class Call(NamedTuple):
    """A system call: what it waits for, and the places of its arguments."""

    name: str
    kind: str  # input output both sync lock opens file timer pause events child
    uses: int | None = None  # the argument with the descriptor
    writes: int | None = None  # the argument with the descriptor to which it writes, of two
    ends: int | None = None  # the argument with the time after which it ends
    many: int | None = None  # the argument with the number of descriptors


# kind: NAME[:DESCRIPTOR[:WRITES]][@TIME[*NUMBER OF DESCRIPTORS]]=x86-64/ARM; `-`: it has none
_TABLE: Final = {
    "input": "read:0=0/63 pread64:0=17/67 readv:0=19/65 preadv:0=295/69 preadv2:0=327/286 "
             "recvfrom:0=45/207 recvmsg:0=47/212 recvmmsg:0=299/243 getdents64:0=217/61",
    "output": "write:0=1/64 pwrite64:0=18/68 writev:0=20/66 pwritev:0=296/70 pwritev2:0=328/287 "
              "sendto:0=44/206 sendmsg:0=46/211 sendmmsg:0=307/269",
    "both": "sendfile:1:0=40/71 splice:0:2=275/76 tee:0:1=276/77 copy_file_range:0:2=326/285",
    "sync": "fsync:0=74/82 fdatasync:0=75/83 syncfs:0=306/267 sync_file_range:0=277/84 "
            "sync=162/81 msync=26/227 ftruncate:0=77/46 fallocate:0=285/47",
    "lock": "futex@3=202/98 futex_waitv=449/449 flock:0=73/32 fcntl:0=72/25 semop=65/193 "
            "semtimedop=220/192",
    "opens": "connect:0=42/203",
    "file": "open=2/- openat=257/56",
    "timer": "nanosleep=35/101 clock_nanosleep=230/115",
    "pause": "pause=34/- rt_sigsuspend=130/133 rt_sigtimedwait=128/137",
    "events": "poll@2*1=7/- ppoll@2*1=271/73 select@4*0=23/- pselect6@4*0=270/72 "
              "epoll_wait@3=232/- "
              "epoll_pwait@3=281/22 epoll_pwait2@3=441/441 io_getevents@4=208/4 "
              "io_pgetevents@4=333/292 io_uring_enter=426/426",
    "child": "wait4=61/260 waitid=247/95",
}  # fmt: skip


def _calls(place: int) -> Mapping[int, Call]:
    found = {}
    for kind, words in _TABLE.items():
        for word in words.split():
            told, _, numbers = word.partition("=")
            number = numbers.split("/")[place]
            told, _, many = told.partition("*")
            told, _, ends = told.partition("@")
            name, *at = told.split(":")
            if number != "-":
                found[int(number)] = Call(
                    name, kind, int(at[0]) if at else None, int(at[1]) if len(at) > 1 else None,
                    int(ends) if ends else None, int(many) if many else None,
                )  # fmt: skip
    return found


DIRECT: Final = {"x86_64": 0o40000, "aarch64": 0o200000}  # O_DIRECT
TABLES: Final = {"x86_64": _calls(0), "aarch64": _calls(1)}


def machine(source: Source) -> str:
    """Its architecture if it has a table; else empty. /proc/sys/kernel/arch: Linux 6.1."""
    arch = _sysfs.word(source, "/proc/sys/kernel/arch")
    if arch is None:
        cpus = _sysfs.word(source, "/proc/cpuinfo") or ""
        arch = "aarch64" if "CPU implementer" in cpus else "x86_64" if "flags\t" in cpus else ""
    return arch if arch in TABLES else ""
