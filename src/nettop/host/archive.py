"""The text of a recording: read from a file, taken apart into moments (`recording` has the form).

Everything is bytes until it is asked for, so that a recording takes little more memory than it has
bytes. What exceeds `bounds.BOUNDS` is refused before it is unpacked or held.
"""

from __future__ import annotations

import gzip
import re
import zlib
from dataclasses import dataclass
from typing import BinaryIO

from ..files import bounds

MARK = re.compile(r"^-- (.+) --\n", re.MULTILINE)
_MARK = re.compile(rb"^-- (.+) --\n", re.MULTILINE)
_MARK_CRLF = re.compile(rb"^-- .+ --(\r?)\n", re.MULTILINE)
_ESCAPED = re.compile(rb"^\\(?=\\*-- )", re.MULTILINE)
_MOMENT = re.compile(r"@(\d{1,15}(?:\.\d{1,9})?)(?: wall (\d{1,15}(?:\.\d{1,9})?))?", re.ASCII)


class RecordingError(ValueError):
    """A recording that cannot be read: what is wrong, or which bound it exceeds."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What changed at `at` seconds: entry name → body (None: it is gone)."""

    at: float
    wall: float
    changed: dict[str, bytes | None]


def parse(archive: str | bytes) -> tuple[str, list[Moment]]:
    """The comment and the moments of an archive; `RecordingError` when it is none."""
    data = archive.encode("utf-8", "surrogateescape") if isinstance(archive, str) else archive
    try:
        bounds.must_have_lines(data)
    except OSError as error:
        raise RecordingError(str(error.strerror)) from None
    mark = _MARK.search(data)
    if mark is None:
        raise RecordingError("not a recording: no line like `-- /proc/stat --` in it")
    comment = data[: mark.start()].decode("utf-8", "surrogateescape").strip()
    moments = [Moment(0.0, 0.0, {})]
    entries = 0
    while mark is not None:
        following = _MARK.search(data, mark.end())
        end = len(data) if following is None else following.start()
        name = mark[1].decode("utf-8", "surrogateescape")
        _within("name", len(mark[1]))
        if name.startswith("@"):
            _begin(moments, name)
            _within("moments", len(moments))
        else:
            entries += 1
            _within("entries", entries)
            _within("answer", end - mark.end())
            body = data[mark.end() : end]
            gone = body == b"!gone\n"
            moments[-1].changed[name] = None if gone else _ESCAPED.sub(b"", body)
        mark = following
    return comment, moments


def _begin(moments: list[Moment], name: str) -> None:
    """A new moment after these, or the time of the first one."""
    step = _MOMENT.fullmatch(name)
    if step is None:
        raise RecordingError(f"not a moment: `-- {name[:80]} --`")
    at, wall = float(step[1]), float(step[2] or 0.0)
    if not moments[-1].changed and len(moments) == 1:
        moments[0] = Moment(at, wall, {})
    elif at < moments[-1].at:
        raise RecordingError(f"`-- {name} --` goes back in time")
    else:
        moments.append(Moment(at, wall, {}))


def _within(name: str, size: int) -> None:
    if size > bounds.BOUNDS[name].most:
        raise RecordingError(str(bounds.exceeded(name).strerror))


def load(path: str) -> bytes:
    """The archive's bytes, unpacked when gzipped, lines ended as nettop ends them.

    OSError, or `RecordingError` when it is damaged or larger than its bound.
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
