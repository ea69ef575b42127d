"""Moments of segments, one at a time, so that reading hours takes the memory of one sample.

A segment stands alone: its first moment has everything. Of several segments the first moment in the
stretch has everything that was known then, and each other one only what changed.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..files import bounds
from ..host.archive import RecordedMoment, RecordingError, parse

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
