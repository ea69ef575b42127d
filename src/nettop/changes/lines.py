"""A line of the journal: JSON with fields of known types. Other lines are left out."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final

from ..files import bounds

OPEN = frozenset({"begun", "applied", "rounded", "held", "pending", "conflict"})
LONGEST: Final = bounds.BOUNDS["journal-line"].most
Line = dict[str, Any]  # of the file; `_valid` has checked the types of its fields

_TEXTS = "setting before wanted state effect who finding shell because boot netns netns_name asked"
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys((*_TEXTS.split(), "netns_cookie", "keeper", "identity", "event"), (str,)),
    **dict.fromkeys(("id", "group", "last"), (int,)),
    **dict.fromkeys(("at",), (int, float)),
    **dict.fromkeys(("deadline", "due", "ended"), (int, float, type(None))),
    "after": (str, type(None)),
    "side_effects": (dict,),
    "devices": (dict,),
    "armed": (bool,),
    **dict.fromkeys(("undoes", "also"), (list,)),
}


_NUMBERS = ("id", "group", "at", "deadline", "due")
_END_OF_TIME = 253_402_300_800  # the year 10000: a date has four digits


def _valid(line: Line) -> bool:
    """Whether all fields of a line have their types and bounds; other lines are left out."""
    if not all(isinstance(line[key], kinds) for key, kinds in _TYPES.items() if key in line):
        return False
    if not all(bounds.number(line[key]) for key in _NUMBERS if line.get(key) is not None):
        return False
    if not 0 <= line.get("at", 0) < _END_OF_TIME > (line.get("deadline") or 0) >= 0:
        return False
    if not all(isinstance(n, int) for key in ("undoes", "also") for n in line.get(key, ())):
        return False
    if not all(isinstance(identity, str) for identity in line.get("devices", {}).values()):
        return False
    for pair in line.get("side_effects", {}).values():
        if not isinstance(pair, list) or not all(
            isinstance(value, (str, type(None))) for value in pair
        ):
            return False
    return line.get("event") != "end" or line.get("state", "applied") in OPEN


def rows(file: BinaryIO) -> Iterator[bytes]:
    """The rows of a file; of one that is too long for a line of the journal, the beginning."""
    while row := file.readline(LONGEST + 2):
        rest = row
        while long(rest):
            rest = file.readline(LONGEST + 2)
        yield row


def long(row: bytes) -> bool:
    """Whether a row goes on after what was read of it."""
    return len(row) > LONGEST + 1 and not row.endswith(b"\n")


def checksum(file: BinaryIO, size: int, start: int = 0) -> int:
    """The CRC-32 of the next `size` bytes, after that of those before."""
    while size and (part := file.read(min(size, 1 << 20))):
        start, size = zlib.crc32(part, start), size - len(part)
    return start


def parsed(raw: bytes) -> Line | None:
    """A line of the journal; None if it is not valid."""
    if len(raw) > LONGEST:
        return None
    try:
        line = bounds.document(raw)
    except ValueError:
        return None
    if not isinstance(line, dict):
        return None
    if "beside" in line:  # the name of `side_effects` in journals of the first version
        line["side_effects"] = line.pop("beside")
    return line if _valid(line) else None


def _whole(line: bytes) -> bool:
    try:
        return isinstance(bounds.document(line), dict)
    except ValueError:
        return False


def repair(handle: int) -> int:
    """Remove a partial last line, or complete it if only its line end is missing; the file size."""
    size = os.fstat(handle).st_size
    if not size or os.pread(handle, 1, size - 1) == b"\n":
        return size
    start = max(0, size - 2 * LONGEST)
    tail = os.pread(handle, size - start, start)
    last = tail.rfind(b"\n") + 1
    if _whole(tail[last:]):
        return size + os.write(handle, b"\n")
    os.ftruncate(handle, start + last)
    return start + last
