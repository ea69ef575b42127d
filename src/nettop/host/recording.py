"""Recordings: a host as one text archive; later moments hold only changed entries.

An archive stores the raw bytes of the answers, never parsed objects, so later collectors can read
old recordings. It has a comment, then entries; each begins with a line `-- NAME --`:

    -- /proc/net/softnet_stat --      a file's text
    -- /sys/class/net/ --             a listing, one name a line
    -- /sys/class/net/eth0/device@ -- where a link points
    -- netlink/ethtool/rings/eth0 --  an answer's bytes, base64
    -- bpf/drops --                   the counts of nettop's programs in the kernel
    -- nettop/ages --                 `SECONDS TABLE…`: tables that were not read at this moment
    -- close/after/netlink/… --       the same request once more in this moment (`apart`)
    -- @1.000 wall 1700000000.0 --    a new moment: its entries replace earlier ones

A body such as `!13 Permission denied` is the error of the host. A file name that ends in `.gz`
means gzip. Where a host is sampled more often than a table is read, an answer that is not in a
moment may be unchanged, or was not asked for: a table without an age was read at this moment, or
never.

`record --peer` makes a recording of each end of a transfer, each with the clock of its host, and
they are played on one time line. The comment of each has the number of the pair and the offset of
the other clock, which is known within half of a round trip. A sample reads the other end first, so
a moment of this end belongs to the last one there that is not later. What both ends lost can be
bounded only if their sockets are read within milliseconds, which whole samples are not. So they are
read again: `close/before/…` and `close/after/…` at this end, `close/there/…` at the other, between
these two.
"""

import base64
import re
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Final

from ..files import bounds
from ..terms.dataclass import dataclass
from ..terms.units import seconds
from .archive import RecordedMoment, RecordingError, load, parse
from .netlink.codec import Request
from .record import COUNTED, Record
from .source import AGES, NONE, UNRECORDED, Source, parse_ages

_ERROR = re.compile(r"!(\d{1,4}) (.*)\n?", re.ASCII)
LONGEST = 2.0  # seconds: the longest that a paced replay waits at a moment


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
        self.swift = float("-inf")  # until this moment (seconds) it plays without waiting
        self.folder = ""  # where entries are looked for: see `apart`
        self.followers: list[Callable[[int, float], None]] = []
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
                self._names = None  # names came or went, so listings change
            if body is None:
                self._tree.pop(name, None)
            else:
                self._tree[name] = body
        for follow in self.followers:
            follow(index, self._offset)

    def begin(self, moments: Iterable[RecordedMoment]) -> None:
        """Go to the first of these moments, which are played from now on."""
        self.moments = [*moments]
        self._step(0)

    def follow(self, index: int, offset: float) -> None:
        """Go to a moment, with that many seconds added to its clock: that of the other end."""
        for one in range(0 if index < self._index else self._index + 1, index + 1):
            self._step(one)
        self._offset = offset

    @property
    def length(self) -> float:
        """Seconds from its first moment to its last."""
        return self.moments[-1].at - self.moments[0].at

    @property
    def index(self) -> int:
        """The number of the moment."""
        return self._index

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
        body = self._tree.get(self.folder + AGES)
        return parse_ages(body.decode("ascii", "replace")) if body else NONE

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
            body = self._tree[self.folder + name]
        except KeyError:
            raise FileNotFoundError(2, UNRECORDED, name.removesuffix("@")) from None
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
        listed = path.rstrip("/") + "/"
        folder = self.folder + listed
        if folder in self._tree:
            return self._body(listed).decode("utf-8", "surrogateescape").splitlines()
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
            raise FileNotFoundError(2, UNRECORDED, path)
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

    def counted(self, what: str) -> str:
        """The recorded counts."""
        return self._body(COUNTED + what).decode("utf-8", "surrogateescape")

    def end_counting(self, what: str) -> None:
        """Nothing counts here."""

    def keep_open(self, paths: Collection[str]) -> None:
        """A recording holds no file open."""


__all__ = ["Record", "RecordedMoment", "RecordingError", "Replay", "load", "parse"]


FOLDER: Final = "close/"
BEFORE: Final = "before"
THERE: Final = "there"
AFTER: Final = "after"


@contextmanager
def apart(source: Source, name: str) -> Iterator[None]:
    """Put the entries of requests in this block below that name; nothing for a live host."""
    if not isinstance(source, Replay | Record):
        yield
        return
    source.folder = f"{FOLDER}{name}/"
    try:
        yield
    finally:
        source.folder = ""


def bare(name: str) -> str:
    """The name of an entry without that folder."""
    return name.split("/", 2)[2] if name.startswith(FOLDER) and name.count("/") > 1 else name


_MARK: Final = re.compile(
    r" Pair ([0-9a-f]{8}), (this|the other) end: the clock of the other host is "
    r"(\d{1,12}\.\d{4}) s (ahead|behind), within (\d{1,12}\.\d{4}) s\."
)
LATE: Final = 0.25  # of the time between samples: the clocks may drift apart by this much


@dataclass(frozen=True, slots=True)
class Mark:
    """What the comment of one end says of the pair."""

    number: str
    here: bool  # the end from which both were recorded
    ahead: float  # seconds by which the clock of the other host is ahead
    error: float  # half of the shortest round trip, seconds

    def words(self) -> str:
        """The sentence that the comment of the recording holds."""
        end = "this" if self.here else "the other"
        within = ceil(self.error * 1e4) / 1e4
        told = f"{abs(self.ahead):.4f} s {self._way}, within {within:.4f} s"
        return f" Pair {self.number}, {end} end: the clock of the other host is {told}."

    @property
    def _way(self) -> str:
        return "ahead" if self.ahead >= 0 else "behind"

    def clock(self, host: str) -> str:
        """What is known of the clock of that host."""
        within = seconds(max(self.error, 1e-4))
        if abs(self.ahead) <= max(self.error, 1e-4):
            return f"the clocks of both hosts agree within {within}"
        return f"the clock of {host} is {seconds(abs(self.ahead))} {self._way}, within {within}"


def mark_of(comment: str) -> Mark | None:
    """The mark in a comment; None in that of a recording without another end."""
    found = _MARK.search(comment)
    if found is None:
        return None
    ahead = float(found[3]) * (1 if found[4] == "ahead" else -1)
    return Mark(found[1], found[2] == "this", ahead, float(found[5]))


def other_file(path: str, *, here: bool = True) -> str:
    """The file of the other end, in the same folder: `a.peer.host.gz` for `a.host.gz`.

    Without `here` the inverse.
    """
    known = Path(path)
    stem, dot, rest = known.name.partition(".")
    if here:
        name = f"{stem}.peer{dot}{rest}"
    else:
        name = f"{stem}.{rest.removeprefix('peer').removeprefix('.')}".rstrip(".")
    return str(known.parent / name)


def other_end(near: Replay, path: str, mark: Mark | None) -> Replay:
    """The recording of the other end, kept at the moment of `near`. OSError, RecordingError."""
    far = Replay(load(path), loop=near.loop)
    its = mark_of(far.comment)
    if mark is None or its is None or its.number != mark.number:
        raise RecordingError("not the other end of this recording: both need the same pair number")
    if its.here or not mark.here:
        raise RecordingError("give the file that `record --peer` was told first, then this one")
    partner = partners(near, far, mark.ahead)

    def follow(index: int, offset: float) -> None:
        far.follow(partner[index], offset)

    near.followers.append(follow)
    follow(near.index, near.now() - near.moments[near.index].at)
    return far


def partners(near: Replay, far: Replay, ahead: float) -> list[int]:
    """For each moment of `near` the one of `far`; the first or the last where there is none.

    The clocks are compared once: later steps of either wall clock change nothing.
    """
    begin = far.moments[0].wall - ahead - near.moments[0].wall - far.moments[0].at
    times = [begin + one.at for one in far.moments]
    starts = [one.at - near.moments[0].at for one in near.moments]
    gap = min((b - a for a, b in pairwise(starts)), default=0.0)
    return [max(0, bisect_right(times, at + LATE * gap) - 1) for at in starts]
