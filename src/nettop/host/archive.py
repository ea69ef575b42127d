"""The file of a recording: read and split into moments, or written (`recording` has the format).

Data stays bytes until it is used, so a recording takes little more memory than its size. Input
above `bounds.BOUNDS` is refused before it is unpacked. A file that is written gets its name only
when it is complete.
"""

import errno
import gzip
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, BinaryIO

from ..files import bounds
from ..files.draft import Draft
from ..terms.dataclass import dataclass

MARK = re.compile(r"^-- (.+) --\n", re.MULTILINE)
_MARK_CRLF = re.compile(rb"^-- .+ --(\r?)\n", re.MULTILINE)
_LOOKALIKE = re.compile(rb"^(?=\\*-- )", re.MULTILINE)
_ESCAPED = re.compile(rb"^\\(?=\\*-- )", re.MULTILINE)
_MOMENT = re.compile(r"@(\d{1,15}(?:\.\d{1,9})?)(?: wall (\d{1,15}(?:\.\d{1,9})?))?", re.ASCII)


class RecordingError(ValueError):
    """The recording is invalid or exceeds a bound; one sentence."""


@dataclass(frozen=True, slots=True)
class RecordedMoment:
    """The changes at `at` seconds: entry name → body (None: removed)."""

    at: float
    wall: float
    changed: dict[str, bytes | None]


def parse(archive: str | bytes) -> tuple[str, list[RecordedMoment]]:
    """The comment and the moments of an archive; `RecordingError` for another format."""
    data = archive.encode("utf-8", "surrogateescape") if isinstance(archive, str) else archive
    try:
        bounds.must_have_lines(data)
    except OSError as error:
        raise RecordingError(str(error.strerror)) from None
    _must_be_few(data)
    marks = _marks(data)
    mark = next(marks, None)
    if mark is None:
        raise RecordingError("not a recording: no line like `-- /proc/stat --` in it")
    comment = data[: mark[0]].decode("utf-8", "surrogateescape").strip()
    moments = [RecordedMoment(0.0, 0.0, {})]
    entries = 0
    while mark is not None:
        _, start, bare = mark
        mark = next(marks, None)
        end = len(data) if mark is None else mark[0]
        name = bare.decode("utf-8", "surrogateescape")
        _within("name", len(bare))
        if name.startswith("@"):
            _begin(moments, name)
            _within("moments", len(moments))
        else:
            entries += 1
            _within("entries", entries)
            _within("answer", end - start)
            body = data[start:end]
            if b"\\" in body:
                body = _ESCAPED.sub(b"", body)
            moments[-1].changed[name] = None if body == b"!gone\n" else body
    return comment, moments


def _marks(data: bytes | bytearray) -> Iterator[tuple[int, int, bytes]]:
    """Where each line `-- NAME --` begins and ends, and its name: `MARK`, but faster."""
    at = 0 if data.startswith(b"-- ") else data.find(b"\n-- ") + 1 or len(data)
    while end := data.find(b"\n", at) + 1:
        if end - at > len(b"--  --\n") and data.endswith(b" --\n", at, end):
            yield at, end, bytes(data[at + 3 : end - 4])
        at = data.find(b"\n-- ", end - 1) + 1 or len(data)


def written(moment: RecordedMoment) -> bytes:
    """The moment as a part of an archive: the inverse of `parse`."""
    parts = [b"-- @%.3f wall %.3f --\n" % (moment.at, moment.wall)]
    for name in sorted(moment.changed):
        body = moment.changed[name]
        text = b"!gone\n" if body is None else _LOOKALIKE.sub(rb"\\", body)
        parts.append(b"-- %b --\n%b" % (name.encode("utf-8", "surrogateescape"), text))
    return b"".join(parts)


def _must_be_few(data: bytes) -> None:
    """RecordingError if there are more moments or entries than the bounds allow.

    The check runs before the first moment is built and counts lines that begin with `-- `: inside
    the body of an entry, nettop escapes such a line.
    """
    moments = data.count(b"\n-- @")
    _within("moments", moments)
    _within("entries", data.count(b"\n-- ") - moments)


def _begin(moments: list[RecordedMoment], name: str) -> None:
    """Append a moment, or set the time of the first one."""
    step = _MOMENT.fullmatch(name)
    if step is None:
        raise RecordingError(f"not a moment: `-- {name[:80]} --`")
    at, wall = float(step[1]), float(step[2] or 0.0)
    if not moments[-1].changed and len(moments) == 1:
        moments[0] = RecordedMoment(at, wall, {})
    elif at < moments[-1].at:
        raise RecordingError(f"`-- {name} --` goes back in time")
    else:
        moments.append(RecordedMoment(at, wall, {}))


def _within(name: str, size: int) -> None:
    if size > bounds.BOUNDS[name].most:
        raise RecordingError(str(bounds.exceeded(name).strerror))


@dataclass(slots=True)
class Room:
    """The size of a growing archive, which must stay within the bounds that `parse` checks."""

    size: int = 0
    moments: int = 0
    entries: int = 0

    def take(self, text: str) -> bytes:
        """The bytes of `text`, to be appended; `RecordingError` if a bound would be exceeded."""
        data = text.encode("utf-8", "surrogateescape")
        lines = b"\n" + data
        moments = self.moments + lines.count(b"\n-- @")
        entries = self.moments + self.entries + lines.count(b"\n-- ") - moments
        _within("recording", self.size + len(data))
        _within("moments", moments)
        _within("entries", entries)
        self.size, self.moments, self.entries = self.size + len(data), moments, entries
        return data


def load(path: str) -> bytes:
    r"""The bytes of an archive, decompressed, with `\n` at the end of each line.

    OSError, or `RecordingError` if the file is damaged or larger than its bound.
    """
    handle = bounds.opened(path)
    with open(handle, "rb") as file:
        packed = file.peek(2)[:2] == b"\x1f\x8b"
        try:
            data = _unpacked(gzip.GzipFile(fileobj=file) if packed else file)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise RecordingError(f"the recording is cut or damaged: {error}") from None
    first = _MARK_CRLF.search(data)
    return data.replace(b"\r\n", b"\n") if first is not None and first[1] else data


def _unpacked(file: BinaryIO | gzip.GzipFile) -> bytes:
    found = bytearray()
    while piece := file.read(bounds.PIECE):
        found += piece
        _within("recording", len(found))
    return bytes(found)


class Tape:
    """An archive that is being written to a file, which gets its name when it is complete.

    A file that is not regular (a pipe, /dev/null) gets each part at once.
    """

    def __init__(self, path: str) -> None:
        """OSError if the file cannot be created."""
        self.path = path
        self.room = Room()
        self._draft: Draft | None = None
        self._file: IO[bytes]
        if _special(path):
            # neither created nor truncated: if it became a file meanwhile, that file stays as it is
            self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CLOEXEC), "wb")
        else:
            self._draft = Draft(path)
            self._file = self._draft.file
        packed = path.endswith(".gz")
        self._out = gzip.GzipFile("", "wb", fileobj=self._file, mtime=0) if packed else self._file

    def write(self, text: str) -> None:
        """Append text; the reader of a pipe gets it at once.

        RecordingError if the archive would exceed its bounds; then nothing is appended.
        """
        self._out.write(self.room.take(text))
        if self._out is self._file:
            self._file.flush()

    def keep(self) -> None:
        """Give the complete file its name."""
        if self._out is not self._file:
            self._out.close()
        if self._draft is not None:
            self._draft.keep(like=True)
        self._file.close()

    def drop(self) -> None:
        """Delete the incomplete file."""
        if self._file.closed:
            return
        if self._out is not self._file:
            with suppress(OSError, ValueError):
                self._out.close()
        if self._draft is not None:
            self._draft.drop()
        with suppress(OSError):
            self._file.close()


def _special(path: str) -> bool:
    """Whether the path is not a regular file; OSError for a symbolic link to a regular file.

    nettop does not write through such a link, because another user may have created it, and does
    not replace a link, because /dev/stdout is one.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISREG(mode) and os.path.islink(path):
        raise OSError(errno.ELOOP, "a symbolic link: name the file itself, or - for stdout", path)
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
