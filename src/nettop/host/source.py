"""The only access to a host: text, bytes, listings, links, netlink replies and the clock.

A `Source` is this machine (`Live`), a copy of /proc and /sys (`Live(root)`), or a recording
(`recording.Replay`). `recording.Record` records another source. A missing file raises
FileNotFoundError, a forbidden one PermissionError; an error is never an empty answer.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ..files import bounds, descriptors
from ..terms.errors import Refused
from .netlink.codec import Request

if TYPE_CHECKING:
    from .bpf import Counter
    from .netlink.kernel import Kernel
AGES: Final = "nettop/ages"
STATVFS: Final = "statvfs"  # before the path of a file, as a name: what statvfs(3) says of it
NONE: Final[Mapping[str, float]] = MappingProxyType({})
SAME: Final = 0.005  # seconds: times of one reading differ by less, because they are rounded
_LINE: Final = re.compile(r"(\d{1,9}\.\d{3})((?: \w{1,64})+)", re.ASCII)


class HostLostError(Refused):
    """Another host cannot be read (any more); one sentence, exit code 3."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, 3)


UNRECORDED: Final = "not in the recording"  # the text of the error: nobody read it then
NOT_ROOT: Final = "not root there, so some figures cannot be read"
ORDINARY: Final = "not root, so some figures cannot be read: sudo nettop reads all"

Ask = tuple[bytes, bytes]
"""A request to another host: its kind and what it is about (`far.reader`)."""


class Lead(NamedTuple):
    """Requests of a frame that are answered before all others, as close as possible to a moment."""

    asks: Collection[Ask]
    before: Callable[[], None]  # called before they are sent
    answered: Callable[[], None]  # called as soon as they are answered


class Batches(Protocol):
    """The requests to another host, which cost a round trip each unless they go together."""

    @property
    def name(self) -> str:
        """The command prefix that leads to the host, as text for sentences."""

    @property
    def prefix(self) -> tuple[str, ...]:
        """Its words; empty where no command can be run there."""

    @property
    def root(self) -> bool:
        """Whether root answers the requests."""

    def fetch(self, asks: Iterable[Ask], lead: Lead | None = None) -> float:
        """Begin a frame: ask for all of these; seconds of the clock there. HostLostError."""

    def end(self) -> None:
        """The frame is complete."""

    def add(self, asks: Iterable[Ask]) -> None:
        """Ask for these too, in the same frame. HostLostError."""

    def asked(self) -> Collection[Ask]:
        """What was asked since this was last called."""

    def rehearse(self, work: Callable[[], object]) -> Collection[Ask]:
        """Do `work` with the answers of this frame; returns what it asked beyond them."""


class Source(Protocol):
    """The requests of collectors to a host. A failed request raises OSError."""

    @property
    def batches(self) -> Batches | None:
        """How requests are sent together; None for what answers at once."""

    @property
    def live(self) -> bool:
        """Whether it is this running machine; settings of other sources cannot be changed."""

    @property
    def host(self) -> str:
        """The displayed name of the host."""

    @property
    def ends(self) -> bool:
        """Whether it is a recording, which has a last moment."""

    @property
    def opening(self) -> bool:
        """Whether this is the first of several moments of a recording: it has no rates."""

    @property
    def ages(self) -> Mapping[str, float]:
        """Seconds since tables were read that a recording did not read at this moment."""

    def keep_ages(self, ages: Mapping[str, float]) -> None:
        """What is recorded gets the seconds since each table was read."""

    def now(self) -> float:
        """Monotonic seconds."""

    def wall(self) -> float:
        """Seconds since 1970."""

    def wait(self, seconds: float) -> bool:
        """Wait for `seconds`, or step to the next moment of a recording; False after the last."""

    def data(self, path: str) -> bytes:
        """The file's bytes.

        After `STATVFS` six numbers of its file system: bytes of a block; blocks, free ones, those
        free for all; inodes, free ones. One that a server has (NFS) may never answer.
        """

    def text(self, path: str) -> str:
        """The text of a file; bytes that are not UTF-8 become surrogates."""

    def keep_open(self, paths: Collection[str]) -> None:
        """Keep these kernel files open, because opening one takes as long as reading it."""

    def listing(self, path: str) -> list[str]:
        """The names in a directory, sorted."""

    def link(self, path: str) -> str:
        """The target of a symbolic link, unresolved."""

    def netlink(self, request: Request) -> bytes:
        """All reply messages, headers included, without the final acknowledgement.

        A request with a `space` raises PermissionError where that namespace may not be entered.
        """

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:
        """The answer of an ethtool ioctl (SIOCETHTOOL) whose buffer is `request`."""

    def counted(self, what: str) -> str:
        """What programs in the kernel counted since the first call; `what` is one of `host.bpf`.

        The first call loads them.
        """

    def end_counting(self, what: str) -> None:
        """Remove these programs from the kernel."""


_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_RECORD: Final = ("/stat", "/status", "/schedstat", "/comm")


def _one_record(path: str) -> bool:
    """Whether one large enough read gives the whole file (fs/seq_file.c)."""
    return path.endswith(_RECORD) or not path.startswith("/proc/") or path.startswith("/proc/sys/")


class Live:
    """This machine, or a directory with a copy of /proc and /sys."""

    ends = False
    opening = False
    batches = None
    ages = NONE

    def __init__(self, root: str = "/", host: str | None = None) -> None:
        """`root` is the directory to read; netlink is used only if it is `/`."""
        self.root = root.rstrip("/")
        self.live = not self.root
        self.host = host or (os.uname().nodename if self.live else os.path.basename(self.root))
        self.woken = threading.Event()
        self._open: dict[str, int] = {}
        self._kept_open: set[str] = set()
        self._large: set[str] = set()
        self._kernel: Kernel | None = None
        self._counters: dict[str, Counter] = {}

    def __del__(self) -> None:
        """Close the files that `keep_open` opened."""
        for handle in self._open.values():
            os.close(handle)

    def now(self) -> float:
        """Monotonic seconds."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def wait(self, seconds: float) -> bool:
        """Sleep until `seconds` have passed or `woken` is set; always True."""
        if self.woken.wait(max(0.0, seconds)):
            self.woken.clear()
        return True

    def data(self, path: str) -> bytes:
        """The bytes of a file, read in several parts if needed, within `bounds.BOUNDS`.

        The type of a kernel file is checked only if its content is empty or long, because the
        check takes a third of the time of the read.
        """
        if path.startswith(STATVFS):
            return _free(self.root + path.removeprefix(STATVFS))
        if path in self._kept_open and not self.root:
            again = self._again(path)
            if again is not None:
                return again
        handle = descriptors.opened(self.root + path, _FLAGS)
        try:
            kernel = not self.root and path.startswith(("/proc/", "/sys/"))
            if not kernel:
                bounds.must_be_regular(handle, path)
            first = os.read(handle, bounds.PIECE)
            if first and len(first) < 4096 and _one_record(path):
                return first
            if kernel:
                bounds.must_be_regular(handle, path)
            if not first:
                return first
            bound = "interrupts" if path == "/proc/interrupts" else "host-file"
            found = bounds.rest(handle, bound, path, first)
            bounds.must_have_lines(found, path)
            return found
        finally:
            descriptors.close(handle)

    def _again(self, path: str) -> bytes | None:
        """The content of a file that is kept open; None if one read is not enough for it."""
        handle = self._open.get(path)
        if handle is None:
            mine = bounds.opened(path)
            handle = self._open.setdefault(path, mine)
            if handle != mine:  # another thread was quicker
                os.close(mine)
        if path in self._large:
            return None
        data = os.pread(handle, bounds.PIECE, 0)
        if (len(data) < 4096 and _one_record(path)) or not os.pread(handle, 1, len(data)):
            return data
        self._large.add(path)
        return None

    def keep_open(self, paths: Collection[str]) -> None:
        """Keep these files open; they must exist as long as the kernel runs."""
        self._kept_open.update(paths)

    def text(self, path: str) -> str:
        """The file's text."""
        return self.data(path).decode("utf-8", "surrogateescape")

    def keep_ages(self, ages: Mapping[str, float]) -> None:
        """Nothing is recorded."""

    def listing(self, path: str) -> list[str]:
        """The names in a directory, sorted."""
        if not self.root:
            return sorted(os.listdir(path))
        with os.scandir(self.root + path) as found:
            names = [entry.name for entry in islice(found, bounds.BOUNDS["listing"].most + 1)]
        if len(names) > bounds.BOUNDS["listing"].most:
            raise bounds.exceeded("listing", path)
        return sorted(names)

    def link(self, path: str) -> str:
        """Where a symbolic link points."""
        return os.readlink(self.root + path)

    def netlink(self, request: Request) -> bytes:
        """Send the request; OSError has the errno of the kernel and its message, if it gave one."""
        if request.space is not None and self.live:
            from .netlink import elsewhere

            return elsewhere.ask(request, request.space)
        return self._netlink().ask(request)

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:  # noqa: ARG002
        """Send the ioctl to the driver."""
        return self._netlink().ioctl(interface, request)

    def counted(self, what: str) -> str:
        """Read the counters in the kernel; the first call loads the programs."""
        if not self.live:
            raise FileNotFoundError(2, "in a directory no kernel counts", self.root)
        if what not in self._counters:
            from . import bpf

            self._counters[what] = bpf.counter(what)
        return self._counters[what].text()

    def end_counting(self, what: str) -> None:
        """Remove the programs from the kernel. The end of the process removes them as well."""
        if what in self._counters:
            self._counters.pop(what).close()

    def _netlink(self) -> Kernel:
        if not self.live:
            raise FileNotFoundError(2, "a directory has no netlink", self.root)
        if self._kernel is None:
            from .netlink.kernel import Kernel

            self._kernel = Kernel()
        return self._kernel


def _free(path: str) -> bytes:
    found = os.statvfs(path)
    numbers = (found.f_frsize, found.f_blocks, found.f_bfree, found.f_bavail, found.f_files,
               found.f_ffree)  # fmt: skip
    return " ".join(map(str, numbers)).encode()


def ages_text(ages: Mapping[str, float]) -> str:
    """The body of the entry; empty if all tables were read now."""
    lines: dict[str, list[str]] = {}
    for table, age in ages.items():
        if age >= SAME:
            lines.setdefault(f"{age:.3f}", []).append(table)
    return "".join(f"{age} {' '.join(lines[age])}\n" for age in lines)


def parse_ages(body: str) -> dict[str, float]:
    """Seconds by table; other lines are ignored."""
    found = filter(None, map(_LINE.fullmatch, body.splitlines()))
    return {table: float(line[1]) for line in found for table in line[2].split()}
