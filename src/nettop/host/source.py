"""The only access to a host: text, bytes, listings, links, netlink replies and the clock.

A `Source` is this machine (`Live`), a copy of /proc and /sys (`Live(root)`), or a recording
(`recording.Replay`). `recording.Record` records another source. A missing file raises
FileNotFoundError, a forbidden one PermissionError; an error is never an empty answer.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol

from ..files import bounds
from ..terms.errors import Refused
from .request import Request

if TYPE_CHECKING:
    from .bpf.drops import Counter
    from .netlink.kernel import Kernel


class HostLostError(Refused):
    """Another host cannot be read (any more); one sentence, exit code 3."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, 3)


NOT_ROOT: Final = "not root there, so some figures cannot be read"

Ask = tuple[bytes, bytes]
"""A request to another host: its kind and what it is about (`far.reader`)."""


class Batches(Protocol):
    """The requests to another host, which cost a round trip each unless they go together."""

    @property
    def name(self) -> str:
        """The command prefix that leads to the host."""

    @property
    def root(self) -> bool:
        """Whether they are answered by root."""

    def fetch(self, asks: Iterable[Ask]) -> float:
        """Begin a frame: ask for all of these; seconds of the clock there. HostLostError."""

    def add(self, asks: Iterable[Ask]) -> None:
        """Ask for these too, in the same frame. HostLostError."""

    def asked(self) -> Collection[Ask]:
        """What was asked since this was last called."""

    def rehearse(self, work: Callable[[], object]) -> Collection[Ask]:
        """Do `work` with the answers of this frame; what it asked beyond them."""


class Source(Protocol):
    """What a collector may ask of a host."""

    @property
    def batches(self) -> Batches | None:
        """How requests are sent together; None for what answers at once."""

    @property
    def live(self) -> bool:
        """Whether it is this running machine: only then may anything be changed."""

    @property
    def host(self) -> str:
        """The host's name as shown."""

    @property
    def ends(self) -> bool:
        """Whether it is a recording, whose moments follow each other to an end."""

    @property
    def opening(self) -> bool:
        """Whether this is a recording's first moment of several: nothing to compare with."""

    def now(self) -> float:
        """Monotonic seconds."""

    def wall(self) -> float:
        """Seconds since 1970."""

    def wait(self, seconds: float) -> bool:
        """Let `seconds` pass (a recording steps to its next moment); False when it has ended."""

    def data(self, path: str) -> bytes:
        """The file's bytes."""

    def text(self, path: str) -> str:
        """The file's text; bytes that are not UTF-8 survive as surrogates."""

    def keep_open(self, paths: Collection[str]) -> None:
        """Open each of these kernel files once: opening one costs as much as reading it."""

    def listing(self, path: str) -> list[str]:
        """The names in a directory, sorted."""

    def link(self, path: str) -> str:
        """Where a symbolic link points, as written."""

    def netlink(self, request: Request) -> bytes:
        """All reply messages, headers included, without the final acknowledgement."""

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:
        """Answer of an ethtool ioctl (SIOCETHTOOL) whose buffer is `request`."""

    def drops(self) -> str:
        """Packets the kernel dropped since it was first asked, a line `REASON COUNT` each.

        To ask is to begin: from then on a small program counts inside the kernel.
        """

    def end_drops(self) -> None:
        """Take that program out of the kernel again."""


_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_RECORD: Final = ("/stat", "/status", "/schedstat", "/comm")


def _one_record(path: str) -> bool:
    """Whether the kernel gives the file in one read where that holds it (fs/seq_file.c)."""
    return path.endswith(_RECORD) or not path.startswith("/proc/") or path.startswith("/proc/sys/")


class Live:
    """This machine, or any directory that looks like one."""

    ends = False
    opening = False
    batches = None

    def __init__(self, root: str = "/", host: str | None = None) -> None:
        """`root` is the directory to read; netlink is asked only when it is `/`."""
        self.root = root.rstrip("/")
        self.live = not self.root
        self.host = host or (os.uname().nodename if self.live else os.path.basename(self.root))
        self.woken = threading.Event()
        self._open: dict[str, int] = {}
        self._kept_open: set[str] = set()
        self._large: set[str] = set()
        self._kernel: Kernel | None = None
        self._drops: Counter | None = None

    def __del__(self) -> None:
        """A source that nobody holds leaves no file open."""
        for handle in self._open.values():
            os.close(handle)

    def now(self) -> float:
        """Monotonic seconds."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def wait(self, seconds: float) -> bool:
        """Sleep, or less when `woken` is set; a still directory has no next moment to offer."""
        if self.woken.wait(max(0.0, seconds)):
            self.woken.clear()
        return True

    def data(self, path: str) -> bytes:
        """The file's bytes, in as many reads as the kernel wants, within `bounds.BOUNDS`.

        A file of this kernel is asked what it is only when its answer is empty or long: to ask
        costs a third of reading it.
        """
        if path in self._kept_open and not self.root:
            again = self._again(path)
            if again is not None:
                return again
        handle = os.open(self.root + path, _FLAGS)
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
            os.close(handle)

    def _again(self, path: str) -> bytes | None:
        """What stays open, in one read; None where one is not enough: that is opened each time."""
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
        """From now on these files are opened once; they must exist as long as the kernel runs."""
        self._kept_open.update(paths)

    def text(self, path: str) -> str:
        """The file's text."""
        return self.data(path).decode("utf-8", "surrogateescape")

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
        """Ask the kernel; OSError carries its number and, where given, its own sentence."""
        return self._netlink().ask(request)

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:  # noqa: ARG002
        """Ask the driver by ioctl."""
        return self._netlink().ioctl(interface, request)

    def drops(self) -> str:
        """Ask the counter in the kernel, which the first question starts."""
        if not self.live:
            raise FileNotFoundError(2, "a directory drops no packets", self.root)
        if self._drops is None:
            from .bpf.drops import Counter

            self._drops = Counter()
        return self._drops.text()

    def end_drops(self) -> None:
        """Take the counter out of the kernel again; so does the end of nettop, however it ends."""
        if self._drops is not None:
            self._drops.close()
            self._drops = None

    def _netlink(self) -> Kernel:
        if not self.live:
            raise FileNotFoundError(2, "a directory has no netlink", self.root)
        if self._kernel is None:
            from .netlink.kernel import Kernel

            self._kernel = Kernel()
        return self._kernel
