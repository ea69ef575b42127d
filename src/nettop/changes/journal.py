"""The journal: JSON lines on disk before each write to the host, so that a crash loses nothing.

A `begin` line precedes every write, an `end` line follows it, and later lines record confirmation
and undo. Folding the lines by id gives the entries. Readers ignore a line that a crash cut off, and
the next writer removes it. If the disk is full, the `begin` line fails, and with it the change.
"""

import contextlib
import errno
import fcntl
import json
import os
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from ..files import bounds, descriptors, draft, own
from ..files.trust import trusted
from .entry import (
    LONGEST,
    Contents,
    JournaledChange,
    Line,
    begin,
    checksum,
    long,
    parsed,
    repair,
    rows,
)  # fmt: skip

_LOCK_PAUSE = 0.02
_MOST: Final = bounds.BOUNDS["journal"].most
NEARLY: Final = _MOST * 4 // 5  # bytes from which it is compacted, and from which users are told
_SPARE: Final = _MOST // 10  # bytes that a new change leaves, so that all can be undone
_SPARE_OF_UNDO: Final = 4 * LONGEST  # the lines of one change
_READABLE: Final = 16 * _MOST  # bytes that are compacted, if others made the file too large
_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
ROOTS = "/var/lib/nettop"


class Busy(OSError):  # noqa: N818
    """Another nettop is changing this host."""


def folder() -> str:
    """NETTOP_STATE, or /var/lib/nettop for root, or the state folder of the user.

    PermissionError: NETTOP_STATE is relative, or another user than root can write to it.
    """
    chosen = os.environ.get("NETTOP_STATE")
    if chosen:
        if not os.path.isabs(chosen):
            raise PermissionError(1, "NETTOP_STATE must be an absolute path", chosen)
        if not trusted(chosen):
            why = "NETTOP_STATE: others than root can change this folder"
            raise PermissionError(1, why, chosen)
        return chosen
    if os.geteuid() == 0:
        return ROOTS
    from ..config import state_folder

    return str(state_folder())


def since_boot() -> float:
    """Seconds since boot, with sleep; unlike the time of day this clock never jumps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Book(Protocol):
    """What a revert needs of a journal."""

    def lock(self, seconds: float = ...) -> contextlib.AbstractContextManager[None]:
        """Hold the lock for writing; Busy if another nettop holds it."""

    def entries(self) -> tuple[JournaledChange, ...]:
        """All entries, oldest first."""

    def note(self, number: int, event: str, **values: object) -> None:
        """Add an event of an entry."""


class Journal:
    """The journal in a folder, which is created by the first write."""

    def __init__(self, path: str | None = None) -> None:
        """`path` is the folder; by default `folder()`. A symbolic link is followed here only."""
        self.folder = os.path.realpath(path or folder())
        self.path = os.path.join(self.folder, "journal.jsonl")
        self._known = Contents()

    def version(self) -> tuple[int, int]:
        """Changes with each line: time of modification in ns, and size; zeros without a file."""
        try:
            known = os.stat(self.path)
        except OSError:  # a folder that may not be read: `entries` says so
            return 0, 0
        return known.st_mtime_ns, known.st_size

    @contextlib.contextmanager
    def lock(self, seconds: float = 10.0, *, compact: bool = True) -> Iterator[None]:
        """Hold the lock for writing; Busy if another nettop still holds it after `seconds`.

        A journal that is nearly full is made smaller first, unless that has to wait.

        The kernel releases the lock (flock(2)) when its holder ends for any reason.
        """
        self._create()
        handle = os.open(os.path.join(self.folder, "lock"), _OPEN, 0o600)
        end = time.monotonic() + seconds
        try:
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= end:
                        raise Busy(16, "another nettop is changing this host") from None
                    time.sleep(_LOCK_PAUSE)
            if compact and self.version()[1] >= NEARLY:
                self._compact()
            yield
        finally:
            os.close(handle)

    def make_room(self) -> None:
        """Compact the journal if it is nearly full; OSError if it cannot be read or written."""
        if self.version()[1] >= NEARLY:
            with self.lock():
                pass

    def entries(self) -> tuple[JournaledChange, ...]:
        """All entries, oldest first; OSError if the journal cannot be read."""
        return self._read(_MOST).all()

    def failures(self) -> tuple[str, ...]:
        """Messages about failed guards that no user has seen yet."""
        lines = self._read(_MOST).failures
        return tuple(f"guard of change {line.get('id')}: {line.get('because')}" for line in lines)

    def mark_shown(self) -> None:
        """Record that the failures were shown, so that they are not shown again."""
        if self.failures():
            with self.lock():
                self.append({"event": "told", "id": 0, "at": time.time()})

    def begin(self, entry: JournaledChange) -> JournaledChange:
        """Write a change to disk before it is made; the entry with its number.

        The caller holds the lock.
        """
        if _MOST - self.version()[1] < (_SPARE_OF_UNDO if entry.undoes else _SPARE):
            why = "the journal is full: close changes with "
            why += f"{own.called()} undo ID, or undo ID --forget"
            raise OSError(27, why, self.path)
        number = max((e.id for e in self.entries()), default=0) + 1
        entry = replace(entry, id=number, group=entry.group or number)
        line = begin(entry)
        if len(_text(line)) > LONGEST // 2:  # the line after the write is longer
            raise OSError(errno.EFBIG, "too many other settings change with this one")
        self.append(line)
        return entry

    def put(self, entry: JournaledChange) -> None:
        """Write an entry as it is, in one line."""
        self.append(begin(entry))

    def note(self, number: int, event: str, **values: object) -> None:
        """Add an event of an entry, with its fields; OSError if it cannot be written."""
        self.append({"event": event, "id": number, "at": time.time(), **values})

    def append(self, line: Mapping[str, object]) -> None:
        """Write one line and wait until it is on disk; OSError leaves the file unchanged."""
        self._create()
        fresh = not os.path.exists(self.path)
        data = _text(line)
        if parsed(data[:-1]) is None:
            raise OSError(errno.EINVAL, "such a line of the journal would be left out", self.path)
        with self._written() as handle:
            size = repair(handle)
            try:
                if os.write(handle, data) != len(data):
                    raise OSError(28, "No space left on device", self.path)
                os.fsync(handle)
            except OSError:
                os.ftruncate(handle, size)
                raise
        if fresh:
            parent = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(parent)
            finally:
                os.close(parent)

    def ready(self) -> None:
        """Open the file to read and to write it, as what is noted later needs it."""
        self.entries()
        with self._written():
            pass

    def _written(self) -> contextlib.AbstractContextManager[int]:
        """The file to add lines; it is created if there is none."""
        return descriptors.closing(descriptors.opened(self.path, _OPEN | os.O_APPEND, 0o600))

    def _create(self) -> None:
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        self.must_be_ours()

    def must_be_ours(self) -> None:
        """PermissionError if another user can change the journal; OSError without a folder.

        OSError also for a symbolic link: each reader and writer means the file of this name.
        """
        self._must_be_no_link()
        status = os.stat(self.folder)
        if status.st_uid != os.geteuid() or status.st_mode & 0o022 or not trusted(self.path):
            raise PermissionError(1, "another user can change this folder", self.folder)

    def _must_be_no_link(self) -> None:
        if os.path.islink(self.path):
            why = "a symbolic link is no journal: put the file itself there"
            raise OSError(errno.ELOOP, why, self.path)

    def _read(self, most: int) -> Contents:
        """What the file says; lines that were read before, and are still there, count as read.

        OSError if it cannot be read or has more than `most` bytes.
        """
        self._must_be_no_link()
        try:
            handle = bounds.opened(self.path)
        except FileNotFoundError:
            return Contents()
        with descriptors.closing(handle), open(handle, "rb", closefd=False) as file:
            if os.fstat(handle).st_size > most:
                raise bounds.exceeded("journal", self.path)
            begun = self._known
            if checksum(file, begun.size) != begun.checksum:
                begun = Contents()
                file.seek(0)
            known, rest, end = begun.copy(), b"", begun.size
            for row in rows(file):
                if not row.endswith(b"\n") and not long(row):
                    rest = row  # it is being written, or was cut off
                    break
                known.add(row)
                end = file.tell()
            file.seek(begun.size)
            known.checksum = checksum(file, end - begun.size, begun.checksum)
            known.size = end
        self._known = known
        if rest:
            known = known.copy()
            known.add(rest)
        return known

    def _compact(self) -> None:
        """Write each entry as one line, and leave out the oldest that nothing depends on.

        The file as it was stays beside it. The caller holds the lock.
        """
        known = self._read(_READABLE)
        text = smaller(known.all(), known.failures, _MOST // 2)
        old = self.path + ".old"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(old)
        os.link(self.path, old)
        draft.write(self.path, text)

    def odd(self) -> tuple[str, ...]:
        """A sentence for each of the first twenty lines that are not valid and are left out."""
        found = [
            f"{self.path}:{number}: not a line of the journal" for number in self._read(_MOST).odd
        ]
        more = len(found) - 20
        return (*found[:20], *([f"{self.path}: {more:,} more lines"] if more > 0 else []))


def smaller(entries: Sequence[JournaledChange], failures: Sequence[Line], most: int) -> str:
    """The text of a journal of at most `most` bytes, without the oldest entries.

    Those that an undo may need, and the failures, are kept whatever their size.
    """
    needed = _needed(entries)
    texts = {e.id: json.dumps(begin(e), separators=(",", ":")) for e in entries}
    room = most - sum(len(texts[number]) + 1 for number in needed)
    kept: list[str] = []
    for number in sorted(texts, reverse=True):
        room -= 0 if number in needed else len(texts[number]) + 1
        if room >= 0 or number in needed:
            kept.append(texts[number])
    rows = (*reversed(kept), *(json.dumps(line) for line in failures))
    return "".join(row + "\n" for row in rows)


def _needed(entries: Sequence[JournaledChange]) -> set[int]:
    """The entries that an undo may need: open ones, and what was reverted under an open one.

    The newest is one of them, because the next has the number after it.
    """
    still_open = [entry.id for entry in entries if entry.open]
    needed = {*still_open, *(entry.id for entry in entries[-1:])}
    for entry in entries:
        at = bisect_right(still_open, entry.id)
        if still_open[at : at + 1] and still_open[at] <= entry.last:
            needed.add(entry.id)
    return needed


def _text(line: Mapping[str, object]) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"
