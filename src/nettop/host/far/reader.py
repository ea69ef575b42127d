"""Answer batches of requests with raw bytes until standard input ends.

A request is the path of a file (`t`), a directory (`l`) or a link (`k`), a netlink message (`n`) or
an ethtool command (`i`). In a path below /proc a part `#` stands for each number; `!` stands for
each process whose /proc/PID/stat has changed since the batch before.
"""

import base64
import os
import select
import signal
import struct
import sys
import time
from typing import TYPE_CHECKING, Callable, Dict, Iterator, List, Optional, Set, Tuple

from nettop.host.far import allowed, mirror, wire
from nettop.host.far.kernel import Kernel

if TYPE_CHECKING:
    from nettop.host.far.options import Options

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_PIECE = 1 << 16
_ASK = 1 << 24  # bytes of a batch of requests
_RECORD = (b"/stat", b"/status", b"/schedstat", b"/comm")  # one read gives the whole short file
_BUSY = b"/proc/#/stat"
_FEW = 64  # of each process, before all of one
_KERNEL = 0x00200000  # PF_KTHREAD, include/linux/sched.h
_TRUST = 3  # readings until links of open files are read again although their list is unchanged
_PATHS = (b"t", b"l", b"k")


class Host:
    """This host: the raw bytes of one answer. Each method raises OSError."""

    def __init__(self, options: "Options") -> None:
        """`options` has the bounds."""
        self._bounds = options
        # no user can make a link in procfs, whose root has inode 1 (fs/proc/root.c)
        self._procfs = os.stat("/proc").st_ino == 1
        self._kernel = Kernel(options["netlink"])

    def file(self, path: bytes) -> bytes:
        """The bytes of a file."""
        allowed.file(path)
        handle = os.open(path, _FLAGS)
        try:
            if not self._procfs or not path.startswith(b"/proc/") or b"/root" in path:
                real = os.readlink(b"/proc/self/fd/%d" % handle)
                allowed.file(real)
                allowed.mode(real, os.fstat(handle).st_mode)
            found = os.read(handle, _PIECE)
            if len(found) < 4096 and path.endswith(_RECORD):
                return found
            most = self._bounds["interrupts" if path == b"/proc/interrupts" else "file"]
            piece = found
            while piece:
                piece = os.read(handle, _PIECE)
                found += piece
                if len(found) > most:
                    raise OSError(27, "larger than its bound")
            return found
        finally:
            os.close(handle)

    def folder(self, path: bytes) -> bytes:
        """The names in a directory, sorted, one per line."""
        allowed.folder(path)
        handle = os.open(path, _FLAGS | os.O_DIRECTORY)
        try:
            allowed.folder(os.readlink(b"/proc/self/fd/%d" % handle))
            names = sorted(os.fsencode(name) for name in os.listdir(handle))
        finally:
            os.close(handle)
        if len(names) > self._bounds["names"]:
            raise OSError(27, "more names than the bound")
        return b"".join([name + b"\n" for name in names])

    def link(self, path: bytes) -> bytes:
        """Where a symbolic link points."""
        allowed.link(path)
        if path.startswith(b"/proc/"):  # no part of such a path is a link of a user
            return os.readlink(path)
        folder, _, name = path.rpartition(b"/")
        handle = os.open(folder, os.O_PATH | os.O_CLOEXEC | os.O_DIRECTORY)
        try:
            allowed.link(os.readlink(b"/proc/self/fd/%d" % handle) + b"/" + name)
            return os.readlink(name, dir_fd=handle)
        finally:
            os.close(handle)

    def netlink(self, payload: bytes) -> bytes:
        """The answer to a message: family, its type, `d` for a dump, body."""
        family, kind, dump, body = payload.split(b"\0", 3)
        return self._kernel.ask(family.decode("ascii"), int(kind), dump == b"d", body)

    def ioctl(self, payload: bytes) -> bytes:
        """The answer to an ethtool command: interface, size of the buffer, its first bytes."""
        interface, size, request = payload.split(b"\0", 2)
        most = 32 * self._bounds["statistics"] + (1 << 16)
        if int(size) > most:
            raise OSError(22, "an ethtool request of this size is not sent")
        return self._kernel.ioctl(interface, request.ljust(int(size), b"\0"))

    def monotonic(self) -> float:
        """Seconds."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()


class Reader:
    """Answers batches, and remembers what the other end has."""

    def __init__(self, host: Host) -> None:
        """Requests are answered from `host`."""
        self._mirror = mirror.Mirror()
        self._host = host
        self._calls: Dict[bytes, Callable[[bytes], bytes]] = {
            b"t": host.file,
            b"l": host.folder,
            b"k": host.link,
            b"n": host.netlink,
            b"i": host.ioctl,
        }
        self._matched: Dict[wire.Ask, Set[bytes]] = {}
        self._numbers: Dict[bytes, List[bytes]] = {}
        self._listed: Dict[bytes, bytes] = {}
        self._still: Set[bytes] = set()  # directories without a change
        self._busy: List[bytes] = []
        self._turn = 0

    def answer(self, data: bytes) -> bytes:
        """The message that answers a batch of requests."""
        changes: List[wire.Change] = []
        for kind, payload in self._mirror.begin():
            self._matched.pop((kind, payload), None)
            changes.append((wire.FORGOTTEN, mirror.GONE, kind + payload, b""))
        self._numbers.clear()
        self._listed.clear()
        self._still.clear()
        self._busy = []
        monotonic, wall = self._host.monotonic(), self._host.wall()
        for ref, ask in enumerate(wire.unpack_asks(data)):
            kind, path = ask
            if kind in _PATHS and b"/!" in path:
                for pid in self._busy:
                    changes += self._each(ref, (kind, path.replace(b"!", pid, 1)))
            elif kind in _PATHS and b"/#" in path:
                changes += self._each(ref, ask)
            else:
                change = self._change(ask)
                if change is not None:
                    changes.append((ref, change[0], b"", change[1]))
        pids = [int(pid) for pid in self._busy]
        return wire.pack_answer(self._mirror.number, monotonic, wall, pids, changes)

    def _change(self, ask: wire.Ask) -> Optional[Tuple[int, bytes]]:
        self._mirror.use(ask)
        now = self._read(ask)
        change = self._mirror.change(ask, now)
        if ask[0] == b"l":
            self._listed[ask[1]] = now
            if change is None:
                self._still.add(ask[1])
        return change

    def _read(self, ask: wire.Ask) -> bytes:
        call = self._calls.get(ask[0])
        try:
            if call is None:
                raise allowed.NotAllowedError("a far reader has no such request")
            return b"+" + call(ask[1])
        except OSError as error:
            text = error.strerror or str(error)
            return b"!%d %s" % (error.errno or 5, text.encode("utf-8", "replace"))
        except (ValueError, struct.error):
            return b"!22 the request is invalid"

    def _each(self, ref: int, ask: wire.Ask) -> Iterator[wire.Change]:
        """The changes of all that match a pattern; a plain path matches itself."""
        kind, pattern = ask
        found: Set[bytes] = set()
        first = ask not in self._matched
        self._mirror.use(ask)
        # a descriptor number may be reused for another file, so all are read at intervals
        self._turn += kind == b"k"
        rests = kind == b"k" and self._turn % _TRUST
        for path in self._paths(pattern) if pattern.startswith(b"/proc/") else ():
            if len(found) >= wire.MATCHES:
                yield ref, mirror.CUT, b"", b""
                break
            one = kind, path
            before = self._mirror.answers.get(one)
            if rests and before is not None and path.rpartition(b"/")[0] in self._still:
                self._mirror.use(one)
                found.add(path)
                continue
            change = self._change(one)
            if self._mirror.answers[one].startswith((b"!2 ", b"!3 ")):  # it ended meanwhile
                self._mirror.remove(one)
                if before is not None:
                    yield ref, mirror.GONE, path, b""
                continue
            found.add(path)
            if change is not None:
                yield ref, change[0], path, change[1]
                wanted = pattern == _BUSY and not first and len(self._busy) < wire.LOOKED_INTO
                if wanted and _ran(before, self._mirror.answers[one]):
                    self._busy.append(path.split(b"/")[2])
        for path in self._matched.get(ask, found) - found:
            if (kind, path) in self._mirror.answers:
                self._mirror.remove((kind, path))
                yield ref, mirror.GONE, path, b""
        self._matched[ask] = found

    def _paths(self, pattern: bytes) -> List[bytes]:
        """The paths that a pattern stands for."""
        head, found, rest = pattern.partition(b"/#")
        if not found:
            return [pattern]
        paths = [head + b"/" + number + rest for number in self._numbers_in(head)]
        if b"/#" not in rest:
            return paths
        each = [self._paths(path) for path in paths]
        # one process with very many descriptors must not use up the matches of the others
        return [path for few in each for path in few[:_FEW]] + [
            path for many in each for path in many[_FEW:]
        ]

    def _numbers_in(self, folder: bytes) -> List[bytes]:
        """The numbers among the names in a directory, read once per batch."""
        if folder not in self._numbers:
            answer = self._listed.get(folder) or self._read((b"l", folder))
            names = answer[1:].split(b"\n") if answer[:1] == b"+" else []
            self._numbers[folder] = sorted((name for name in names if name.isdigit()), key=int)
        return self._numbers[folder]


def _ran(before: Optional[bytes], now: bytes) -> bool:
    """Whether a process, no kernel thread, used CPU time between two lines of /proc/PID/stat."""
    words = now[now.rfind(b")") :].split(None, 14)
    if len(words) < 14 or not words[7].isdigit() or int(words[7]) & _KERNEL:
        return False
    return before is None or before[before.rfind(b")") :].split(None, 14)[12:14] != words[12:14]


def _take(size: int, seconds: float) -> bytes:
    """So many bytes of standard input; the end of it, or silence, ends this process."""
    data = b""
    while len(data) < size:
        if not select.select([0], [], [], seconds)[0]:
            os._exit(0)
        piece = os.read(0, min(size - len(data), 1 << 20))
        if not piece:
            os._exit(0)
        data += piece
    return data


def _send(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(1, left) :]


def main(options: "Options") -> None:
    """Print the token, then answer batches; any signal and any error ends this process."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    reader = Reader(Host(options))
    packer, unpacker = wire.Packer(), wire.Unpacker(_ASK)
    hello = "\nnettop {} {} {}\n".format(options["token"], sys.byteorder, os.geteuid())
    _send(hello.encode("ascii"))
    _send(packer.pack(reader.answer(base64.b64decode(options["first"]))))
    try:
        while True:
            size = wire.LENGTH.unpack(_take(wire.LENGTH.size, options["idle"]))[0]
            if size > _ASK:
                raise wire.UnreadableError("a batch of {:,} bytes".format(size))
            asks = unpacker.unpack(_take(size, options["idle"]))
            _send(packer.pack(reader.answer(asks)))
    except wire.UnreadableError as error:
        raise SystemExit("the far reader ended: {}".format(error)) from None
