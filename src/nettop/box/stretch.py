"""Moments of segments, one at a time, so that reading hours takes the memory of one sample.

A segment stands alone: its first moment has everything. Of several segments the first moment in the
stretch has everything that was known then, and each other one only what changed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..files import bounds
from ..host.archive import RecordedMoment, RecordingError, parse

_MARK: Final = b"-- @"


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


def _parts(path: Path) -> Iterator[bytes]:
    """The comment, and the text of each moment that is there to its end."""
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
                return
    if unpack.eof and rest:
        yield bytes(rest)


def _up_to_the_fault(unpack: zlib._Decompress, packed: bytes) -> bytes:
    """What the bytes before the damaged one give."""
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
    shown: dict[str, bytes | None] = {}  # what the moments given so far amount to
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
    """The moments of a segment; what was `known` of the one before is forgotten with the first."""
    try:
        for number, moment in enumerate(moments(path)):
            if not number:
                known.clear()
            yield moment
    except (OSError, RecordingError):
        return
