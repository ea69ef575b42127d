"""The ring: each moment goes to disk at once, in segments of some minutes; the oldest is deleted.

A moment is in the page cache when `add` returns, so a killed process loses none that was added. The
disk has it after `SYNC` seconds, so a power failure loses no more than these.

A segment is a gzip file that is complete after each write (RFC 1952). Each part ends with a sync
flush of deflate, followed by an empty last block and the trailer. The next part overwrites those
few bytes. So a killed process leaves a file that every gzip reads.

Segments are read one moment at a time, so that reading hours takes the memory of one sample. A
segment stands alone: its first moment has everything. Of several segments the first moment in the
stretch has everything that was known then, and each other one only what changed.
"""

from __future__ import annotations

import errno
import os
import re
import struct
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..files import bounds
from ..files.bounds import BOUNDS
from ..host.archive import RecordedMoment, RecordingError, parse, written
from .folder import BLOCK, Folder, blocks

LENGTH: Final = 300.0  # seconds of a segment
SYNC: Final = 5.0  # seconds between two waits for the disk
_SHARE: Final = 16  # a segment takes this part of the box at most, so that little goes at once
_MOST: Final = BOUNDS["recording"].most // 4  # bytes of a segment before compression


class Ring:
    """The segment that is being written."""

    def __init__(self, folder: Folder) -> None:
        """The folder is open."""
        self._folder = folder
        self._file: Growing | None = None
        self.path: Path | None = None
        self._begun = self._synced = 0.0
        self._first = 0
        for last in folder.segments()[-1:]:
            mend(last)

    def full(self, at: float) -> bool:
        """Whether the next moment, at `at` seconds, begins a segment and must have everything."""
        file = self._file
        if file is None or not 0 <= at - self._begun < LENGTH or file.raw > _MOST:
            return True
        return file.size > max(self._folder.size // _SHARE, 4 * self._first)

    def add(self, at: float, text: bytes, *, new: bool) -> None:
        """Append the moment at `at` seconds, as the first of a segment if `new`.

        OSError: the disk is full, for example; then the next moment must be the first of a segment.
        """
        try:
            if new or self._file is None or self.path is None:
                self.path, self._file = self._begin(at)
            part = self._file.packed(text)
            size = blocks(self._file.size + len(part) + OVERHEAD)
            if grows := size - blocks(self._file.size):
                self._folder.make_room(grows, {self.path})
            self._file.append(part)
            self._first = self._first or self._file.size
            if at - self._synced >= SYNC:
                self._file.sync()
                self._synced = at
        except OSError as error:
            self.close()
            if error.errno == errno.ENOSPC:  # the next attempt may find space; the newest stays
                for oldest in self._folder.segments()[:-1][:1]:
                    oldest.unlink(missing_ok=True)
            raise

    def _begin(self, at: float) -> tuple[Path, Growing]:
        self.close()
        self._folder.renew()
        path = self._folder.next_segment()
        self._folder.make_room(BLOCK)
        file = Growing(path)
        self._begun, self._first = at, 0
        self._folder.sync()
        return path, file

    def close(self) -> None:
        """End the segment; an empty one is deleted."""
        file, path = self._file, self.path
        self._file = self.path = None
        if file is None or path is None:
            return
        if file.size:
            with suppress(OSError):
                file.sync()
        else:
            path.unlink(missing_ok=True)
        file.close()


def mend(path: Path) -> None:
    """Write a segment again up to the last whole moment, if the end was lost.

    Without a whole moment it is deleted. OSError.
    """
    import gzip
    import zlib

    try:
        with gzip.open(path) as packed:
            while packed.read(1 << 20):
                pass
        if path.stat().st_size:
            return
    except (EOFError, zlib.error, gzip.BadGzipFile):
        pass
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    file = Growing(part)
    try:
        with suppress(RecordingError):
            for moment in moments(path):
                file.append(file.packed(written(moment)))
        file.sync()
    finally:
        file.close()
    if file.size:
        os.replace(part, path)
    else:
        part.unlink()
        path.unlink()


LEVEL: Final = 6
_HEADER: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_LAST: Final = b"\x03\0"  # an empty last block
OVERHEAD: Final = len(_HEADER) + len(_LAST) + 8  # bytes beside the parts
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Growing:
    """The file; only its owner can read it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """OSError if the file exists or cannot be created."""
        self._handle = os.open(path, _NEW, 0o600)
        self._pack = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._crc = 0
        self._last = b""  # the end of the file
        self.raw = 0  # bytes before compression
        self.size = 0  # bytes of the parts, with the header

    def packed(self, data: bytes) -> bytes:
        """The compressed part, which must be appended next."""
        self._crc = zlib.crc32(data, self._crc)
        self.raw += len(data)
        part = self._pack.compress(data) + self._pack.flush(zlib.Z_SYNC_FLUSH)
        return part if self.size else _HEADER + part

    def append(self, part: bytes) -> None:
        """Write a part. OSError: the file stays as it was before, and takes no more parts."""
        end = _LAST + struct.pack("<II", self._crc, self.raw & 0xFFFFFFFF)
        try:
            self._write(part + end)
        except OSError:
            with suppress(OSError):
                self._write(self._last)
                os.ftruncate(self._handle, self.size + len(self._last))
            raise
        self.size += len(part)
        self._last = end

    def _write(self, data: bytes) -> None:
        at = self.size
        while data:
            count = os.pwrite(self._handle, data, at)
            at, data = at + count, data[count:]

    def sync(self) -> None:
        """Wait until the disk has it. OSError, also if the file was removed."""
        os.fdatasync(self._handle)
        if not os.fstat(self._handle).st_nlink:
            raise FileNotFoundError(errno.ENOENT, "the segment was removed")

    def close(self) -> None:
        """Close the file, which is complete."""
        os.close(self._handle)


_MARK: Final = b"-- @"
_TIME: Final = re.compile(
    rb"-- @\d{1,15}(?:\.\d{1,9})? wall (\d{1,15}(?:\.\d{1,9})?) --\n", re.ASCII
)
_HEAD: Final = 4096  # bytes: the comment and the first time are far shorter


def moments(path: Path) -> Iterator[RecordedMoment]:
    """The moments of one compressed recording; it ends before the first part that is damaged.

    OSError if it cannot be read, RecordingError if it is none or exceeds a bound.
    """
    for text in _parts(path):
        if text.startswith(_MARK):  # else it is the comment
            yield parse(text)[1][0]


def first(path: Path) -> RecordedMoment | None:
    """The first moment; None if it cannot be read."""
    try:
        return next(moments(path), None)
    except (OSError, RecordingError):
        return None


def walls(path: Path) -> tuple[list[float], bool]:
    """The wall clock of each moment, and whether the file is whole; errors as of `moments`."""
    known: list[float] = []
    parts = _parts(path)
    while True:
        try:
            text = next(parts)
        except StopIteration as end:
            return known, end.value
        if time := _TIME.match(text):
            known.append(float(time[1]))


def first_wall(path: Path) -> float | None:
    """The wall clock of the first moment, from the first bytes; None if it cannot be read."""
    try:
        with open(bounds.opened(path), "rb") as file:
            head = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(file.read(_HEAD), _HEAD)
    except (OSError, zlib.error):
        return None
    time = _TIME.search(head)
    return None if time is None else float(time[1])


def _parts(path: Path) -> Generator[bytes, None, bool]:
    """The comment, and the text of each moment that is there to its end; whether none is lost."""
    rest, total = bytearray(), 0
    with open(bounds.opened(path), "rb") as file:
        unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not unpack.eof and (packed := unpack.unconsumed_tail or file.read(bounds.PIECE)):
            before = unpack.copy()
            try:
                piece = unpack.decompress(packed, bounds.PIECE * 16)
            except zlib.error:
                unpack, piece = before, _up_to_the_fault(before, packed)
            total += len(piece)
            if total > bounds.BOUNDS["recording"].most:
                raise RecordingError(str(bounds.exceeded("recording").strerror))
            begin = max(0, len(rest) - len(_MARK))
            rest += piece
            while (cut := rest.find(b"\n" + _MARK, begin)) >= 0:
                yield bytes(rest[: cut + 1])
                del rest[: cut + 1]
                begin = 1
            if unpack is before:
                return False
    if unpack.eof and rest:
        yield bytes(rest)
    return unpack.eof


def _up_to_the_fault(unpack: zlib._Decompress, packed: bytes) -> bytes:
    """The decompressed data of the bytes before the damaged one."""
    whole = bytearray()
    with suppress(zlib.error):
        for at in range(len(packed)):
            whole += unpack.decompress(packed[at : at + 1])
    return bytes(whole)


def stretch(
    paths: Iterable[Path], inside: Callable[[RecordedMoment], bool]
) -> Iterator[RecordedMoment]:
    """The moments of these segments, in order, for which `inside` is true.

    A segment that cannot be read, or is gone meanwhile, is left out.
    """
    known: dict[str, bytes | None] = {}
    shown: dict[str, bytes | None] = {}  # the entries after the moments given so far
    for path in paths:
        joined = False  # whether `shown` was all that was known at the moment before
        for moment in _readable(path, known):
            known.update(moment.changed)
            if not inside(moment):
                joined = False
                continue
            names = moment.changed if joined else known
            changed = {name: known[name] for name in names if shown.get(name) != known[name]}
            if not joined:
                changed |= dict.fromkeys(shown.keys() - known.keys())
            shown.update(changed)
            joined = True
            yield RecordedMoment(moment.at, moment.wall, changed)


def _readable(path: Path, known: dict[str, bytes | None]) -> Iterator[RecordedMoment]:
    """The moments of a segment; the first one clears `known`, the entries of the one before."""
    try:
        for number, moment in enumerate(moments(path)):
            if not number:
                known.clear()
            yield moment
    except (OSError, RecordingError):
        return
