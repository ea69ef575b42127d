"""Recordings: a host as one text archive; later moments hold only changed entries.

An archive stores the raw bytes of the answers, never parsed objects, so later collectors can read
old recordings. It has a comment, then entries; each begins with a line `-- NAME --`:

    -- /proc/net/softnet_stat --      a file's text
    -- /sys/class/net/ --             a listing, one name a line
    -- /sys/class/net/eth0/device@ -- where a link points
    -- netlink/ethtool/rings/eth0 --  an answer's bytes, base64
    -- bpf/drops --                   the counts of nettop's program in the kernel
    -- nettop/ages --                 the tables that were not read at this moment (`ages`)
    -- @1.000 wall 1700000000.0 --    a new moment: its entries replace earlier ones

A body such as `!13 Permission denied` is the error of the host. A file name that ends in `.gz`
means gzip.
"""

from __future__ import annotations

import base64
import errno
import re
import threading
from bisect import bisect_left
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ..files import bounds
from . import ages
from .archive import RecordedMoment, RecordingError, load, parse
from .request import Request
from .source import Batches, Source

_LOOKALIKE = re.compile(r"^(?=\\*-- )", re.MULTILINE)
DROPS = "bpf/drops"
_ERROR = re.compile(r"!(\d{1,4}) (.*)\n?", re.ASCII)
LONGEST = 2.0  # seconds that a paced replay lingers at a moment, however long the host stood still


class Replay:
    """A recording as a source: `wait` steps to its next moment.

    `pace` 1.0 plays it at the recorded speed, 0.0 without waiting. The first moment, which has no
    rates, is not waited for. With `loop` it starts again after the end and the clock goes on.
    """

    live = False
    ends = True
    batches = None

    def __init__(self, archive: str | bytes, *, pace: float = 0.0, loop: bool = False) -> None:
        """`archive` is a decompressed recording; `RecordingError` for another format."""
        self.comment, self.moments = parse(archive)
        self.pace, self.loop = pace, loop
        self.woken = threading.Event()
        self.swift = float("-inf")  # up to this moment (seconds) it plays without lingering
        self._offset = 0.0
        self._index = self._first = 0
        self._tree: dict[str, bytes] = {}
        self._names: list[str] | None = None  # of the tree, sorted; made when a listing needs them
        self._step(0)
        name = self._tree.get("/proc/sys/kernel/hostname", b"")
        self.host = name[:256].decode("utf-8", "surrogateescape").strip() or "recording"

    def _step(self, index: int) -> None:
        if index == 0:
            self._tree = {}
            self._first = 0
        self._index = index
        for name, body in self.moments[index].changed.items():
            if body is None or name not in self._tree:
                self._names = None  # names come or go: listings are others
            if body is None:
                self._tree.pop(name, None)
            else:
                self._tree[name] = body

    def skip(self, at: float) -> None:
        """Begin at the last moment of `at` seconds or before instead of at the first."""
        for index in range(self._index + 1, len(self.moments) - 1):
            if self.moments[index].at > at:
                break
            self._step(index)
        self._first = self._index

    def then(self, moment: RecordedMoment) -> None:
        """Go to a moment that is not in the archive, and forget those before."""
        self.moments = [self.moments[self._index], moment]
        self._first = -1
        self._step(1)

    def body(self, name: str) -> bytes | None:
        """The bytes of an entry at this moment; None if it is not there."""
        return self._tree.get(name)

    @property
    def opening(self) -> bool:
        """Whether this is the first moment of several."""
        return self._index == self._first and len(self.moments) > 1

    @property
    def ages(self) -> Mapping[str, float]:
        """Seconds since each table was read that was not read at this moment."""
        body = self._tree.get(ages.ENTRY)
        return ages.parse(body.decode("ascii", "replace")) if body else ages.NONE

    def keep_ages(self, ages: Mapping[str, float]) -> None:
        """Nothing is recorded."""

    def now(self) -> float:
        """The moment's seconds."""
        return self._offset + self.moments[self._index].at

    def wall(self) -> float:
        """The moment's wall clock."""
        return self._offset + self.moments[self._index].wall

    def wait(self, seconds: float) -> bool:  # noqa: ARG002
        """Step to the next moment, after its recorded delay divided by `pace`; False at the end."""
        before = self.moments[self._index].at
        if self._index + 1 < len(self.moments):
            gap = self.moments[self._index + 1].at - before
            following = self._index + 1
        elif self.loop and len(self.moments) > 1:
            gap, following = self.moments[1].at - self.moments[0].at, 0
            self._offset += before - self.moments[0].at + gap
        else:
            return False
        quick = self.opening or before < self.swift
        linger = 0.0 if quick or not self.pace else min(gap / self.pace, LONGEST)
        if linger and self.woken.wait(linger):
            self.woken.clear()
        self._step(following)
        return True

    def _body(self, name: str, bound: str = "host-file") -> bytes:
        try:
            body = self._tree[name]
        except KeyError:
            raise FileNotFoundError(2, "not in the recording", name.removesuffix("@")) from None
        if len(body) > bounds.BOUNDS[bound].most:
            raise bounds.exceeded(bound, name)
        if body.startswith(b"!"):
            found = _ERROR.fullmatch(body[:512].decode("utf-8", "surrogateescape"))
            if found is not None:
                raise OSError(int(found[1]), found[2], name)
        return body

    def data(self, path: str) -> bytes:
        """The file's bytes."""
        return self._body(path, "interrupts" if path == "/proc/interrupts" else "host-file")

    def text(self, path: str) -> str:
        """The file's text."""
        return self.data(path).decode("utf-8", "surrogateescape")

    def listing(self, path: str) -> list[str]:
        """The names in a directory: as recorded, else the recorded entries below it."""
        folder = path.rstrip("/") + "/"
        if folder in self._tree:
            return self._body(folder).decode("utf-8", "surrogateescape").splitlines()
        if self._names is None:
            self._names = sorted(self._tree)
        found = set()
        at = bisect_left(self._names, folder)
        while at < len(self._names) and self._names[at].startswith(folder):
            name, slash, _ = self._names[at][len(folder) :].partition("/")
            found.add(name if slash else name.rstrip("@"))
            # past all that is below it: "0" comes after "/"
            at = bisect_left(self._names, f"{folder}{name}0", at) if slash else at + 1
        if not found:
            raise FileNotFoundError(2, "not in the recording", path)
        return sorted(found)

    def link(self, path: str) -> str:
        """Where a symbolic link points."""
        return self._body(path + "@").decode("utf-8", "surrogateescape").rstrip("\n")

    def netlink(self, request: Request) -> bytes:
        """The recorded answer."""
        return base64.b64decode(self._body(f"netlink/{request.name}", "answer"))

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:  # noqa: ARG002
        """The recorded answer."""
        return base64.b64decode(self._body(f"ioctl/{name}", "answer"))

    def drops(self) -> str:
        """The recorded counts."""
        return self._body(DROPS).decode("utf-8", "surrogateescape")

    def end_drops(self) -> None:
        """Nothing counts here."""

    def keep_open(self, paths: Collection[str]) -> None:
        """A recording holds no file open."""


def _lines(data: bytes) -> str:
    text = base64.b64encode(data).decode()
    return "".join(text[i : i + 96] + "\n" for i in range(0, len(text), 96)) or "\n"


@dataclass
class Record:
    """A source that records another one: each answer of `inner` becomes part of the recording."""

    inner: Source
    comment: str = "A host recorded by nettop."
    began: float | None = None  # seconds of its clock that moments count from; None: the first
    woken: threading.Event = field(default_factory=threading.Event)
    _known: dict[str, str] = field(default_factory=dict)
    _now: dict[str, str] = field(default_factory=dict)
    _done: list[str] = field(default_factory=list)
    _head: list[str] = field(init=False)
    _mark: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Write the comment first."""
        self.anew()

    def anew(self) -> None:
        """Begin another archive, which needs nothing of the one before.

        Its first moment has what is read from now on, so the caller reads everything again.
        """
        self._known, self._now, self._done = {}, {}, []
        # a line of the comment is never read as the start of an entry
        self._head = [_LOOKALIKE.sub(lambda _: "\\", self.comment.strip()) + "\n"]

    @property
    def live(self) -> bool:
        """Whether the recorded source is this machine."""
        return self.inner.live

    @property
    def host(self) -> str:
        """The recorded host's name."""
        return self.inner.host

    @property
    def ends(self) -> bool:
        """Whether the recorded source ends."""
        return self.inner.ends

    @property
    def batches(self) -> Batches | None:
        """How requests of the recorded source are sent together."""
        return self.inner.batches

    @property
    def opening(self) -> bool:
        """Whether the recorded source has just begun."""
        return self.inner.opening

    @property
    def ages(self) -> Mapping[str, float]:
        """Those of the recorded source, if it is a recording."""
        return self.inner.ages

    def keep_ages(self, seconds: Mapping[str, float]) -> None:
        """Record which tables were not read at this moment; of a recording as it has them."""
        if body := ages.written(self.inner.ages if self.inner.ends else seconds):
            self._keep(ages.ENTRY, body)
        elif self._known.pop(ages.ENTRY, ""):
            self._now[ages.ENTRY] = "!gone\n"

    def _keep(self, name: str, body: str) -> None:
        if self._mark is None:
            at = self.inner.now()
            self.began = at if self.began is None else self.began
            self._mark = (at - self.began, self.inner.wall())
        if body and not body.endswith("\n"):
            body += "\n"
        if len(body) > bounds.BOUNDS["answer"].most:  # it could not be read again
            body = f"!{errno.EFBIG} {bounds.exceeded('answer').strerror}\n"
        if self._known.get(name) != body:
            self._known[name] = body
            self._now[name] = body

    def _fail(self, name: str, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            self._keep(name, f"!{error.errno or 5} {error.strerror or error}")
        elif name in self._known:
            del self._known[name]
            self._now[name] = "!gone\n"

    def now(self) -> float:
        """The inner clock."""
        return self.inner.now()

    def wall(self) -> float:
        """The inner wall clock."""
        return self.inner.wall()

    def wait(self, seconds: float) -> bool:
        """End this moment and let the inner source go on."""
        self._close()
        return self.inner.wait(seconds)

    def _close(self) -> None:
        if self._mark is None:
            return
        self._done.append(f"-- @{self._mark[0]:.3f} wall {self._mark[1]:.3f} --\n")
        for name in sorted(self._now):
            body = _LOOKALIKE.sub(lambda _: "\\", self._now[name])
            self._done.append(f"-- {name} --\n{body}")
        self._now, self._mark = {}, None

    def archive(self) -> str:
        """The recording so far, or since the last `taken`."""
        self._close()
        return "".join([*self._head, *self._done])

    def taken(self) -> str:
        """As `archive`, and drop it from memory, for a caller that writes it to a file."""
        text = self.archive()
        self._head, self._done = [], []
        return text

    def data(self, path: str) -> bytes:
        """The file's bytes."""
        return self.text(path).encode("utf-8", "surrogateescape")

    def text(self, path: str) -> str:
        """The file's text."""
        try:
            body = self.inner.text(path)
        except OSError as error:
            self._fail(path, error)
            raise
        self._keep(path, body)
        return body

    def listing(self, path: str) -> list[str]:
        """The names in a directory."""
        folder = path.rstrip("/") + "/"
        try:
            names = self.inner.listing(path)
        except OSError as error:
            self._fail(folder, error)
            raise
        self._keep(folder, "".join(f"{name}\n" for name in names))
        return names

    def link(self, path: str) -> str:
        """Where a symbolic link points."""
        try:
            target = self.inner.link(path)
        except OSError as error:
            self._fail(path + "@", error)
            raise
        self._keep(path + "@", target)
        return target

    def netlink(self, request: Request) -> bytes:
        """The kernel's answer."""
        name = f"netlink/{request.name}"
        try:
            answer = self.inner.netlink(request)
        except OSError as error:
            self._fail(name, error)
            raise
        self._keep(name, _lines(answer))
        return answer

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:
        """The driver's answer."""
        entry = f"ioctl/{name}"
        try:
            answer = self.inner.statistics(interface, request, name)
        except OSError as error:
            self._fail(entry, error)
            raise
        self._keep(entry, _lines(answer))
        return answer

    def drops(self) -> str:
        """The kernel's counts."""
        try:
            counts = self.inner.drops()
        except OSError as error:
            self._fail(DROPS, error)
            raise
        self._keep(DROPS, counts)
        return counts

    def end_drops(self) -> None:
        """End the counting of the recorded source."""
        self.inner.end_drops()

    def keep_open(self, paths: Collection[str]) -> None:
        """The recorded source opens them once."""
        self.inner.keep_open(paths)


__all__ = ["DROPS", "Record", "RecordedMoment", "RecordingError", "Replay", "load", "parse"]
