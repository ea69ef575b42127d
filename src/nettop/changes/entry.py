"""An entry of the journal, and what the lines of the file say of it.

A line is JSON with fields of known types. Other lines are left out.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field, fields, replace
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from ..files import bounds
from ..terms.dataclass import dataclass

if TYPE_CHECKING:
    from ..settings import Address


_ALWAYS: Final = frozenset({"id", "at", "setting", "before", "wanted"})  # "" is a value too


@dataclass(frozen=True, slots=True)
class JournaledChange:
    """One change in the journal. `state` is `begun` while it has no `end` line."""

    id: int
    at: float  # seconds since 1970
    setting: str
    before: str
    wanted: str
    state: str = "begun"
    after: str | None = None
    effect: str = "applied"  # its state once confirmed: applied or rounded
    who: str = ""
    finding: str = ""
    shell: str = ""
    because: str = ""
    group: int = 0  # the entries that are confirmed or reverted together
    deadline: float | None = None  # seconds since 1970, for users
    due: float | None = None  # seconds since boot, for the guard: this clock never jumps
    boot: str = ""
    netns: str = ""  # the namespace's inode
    netns_name: str = ""
    netns_cookie: str = ""
    identity: str = ""
    asked: str = ""  # the text written before, if the host may show another value
    side_effects: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    devices: Mapping[str, str] = field(default_factory=dict)  # identity of other interfaces in it
    armed: bool = False  # its guard runs; `due` counts from then
    undoes: tuple[int, ...] = ()  # entries that it reverts: undone once this one is confirmed
    keeper: str = ""  # names the process that reverts it when its nettop ends
    ended: float | None = None  # seconds since 1970: when it was closed
    last: int = 0  # the newest entry when it was closed

    @property
    def address(self) -> Address:
        """The setting, parsed; settings.UnknownError for one that this nettop does not know."""
        from .. import settings

        return settings.parse(self.setting)

    @property
    def open(self) -> bool:
        """Whether the change may still have to be reverted."""
        return self.state in OPEN


def begin(entry: JournaledChange) -> Line:
    """The line of an entry as it is."""
    values = asdict(entry).items()
    known = {k: v for k, v in values if k in _ALWAYS or v not in (None, "", {}, False, ())}
    return {"event": "begin", **known}


class Contents:
    """What the lines of a journal say. It does not change once a journal knows it."""

    def __init__(self) -> None:
        """Of no line."""
        self.entries: dict[int, JournaledChange] = {}
        self.failures: list[Line] = []  # of guards, as long as they are not told and hold
        self.odd: list[int] = []  # the numbers of the lines that are left out
        self.lines = self.size = self.checksum = 0  # `size` in bytes

    def all(self) -> tuple[JournaledChange, ...]:
        """The entries, oldest first."""
        return tuple(self.entries[number] for number in sorted(self.entries))

    def copy(self) -> Contents:
        """The same, to be added to."""
        other = Contents()
        other.entries, other.lines = dict(self.entries), self.lines
        other.failures, other.odd = [*self.failures], [*self.odd]
        return other

    def add(self, row: bytes) -> None:
        """Add what one line says."""
        self.lines += 1
        line = parsed(row.removesuffix(b"\n"))
        if line is None:
            if row.strip() and (row.endswith(b"\n") or long(row)):
                self.odd.append(self.lines)
            return
        event, number, because = line.get("event"), line.get("id"), line.get("because")
        if event == "guard-failed":
            self.failures.append(dict(line))
        elif event == "told":
            self.failures.clear()
        elif event in _ENDS:  # what failed before it was closed holds no longer, if it is not why
            self.failures = [
                f for f in self.failures if f.get("id") != number or f.get("because") == because
            ]
        fold(self.entries, line)


_KNOWN = frozenset(f.name for f in fields(JournaledChange))
_ENDS = frozenset({"undone", "reverted", "void", "refused", "forgotten", "conflict"})


def fold(entries: dict[int, JournaledChange], line: Line) -> None:
    """Apply one line to its entry and to those in `also`.

    A line of an unknown form is left out. A closed entry (undone, reverted, …) never changes.
    """
    event = line.pop("event", "")
    try:
        if "side_effects" in line:
            line["side_effects"] = {
                key: (old, new) for key, (old, new) in line["side_effects"].items()
            }
        if event == "begin":
            line["undoes"] = tuple(line.get("undoes", ()))
            entry = JournaledChange(**{key: line[key] for key in line if key in _KNOWN})
            entries[entry.id] = entry
            return
        for number in (line.get("id", 0), *line.get("also", ())):
            old = entries.get(number)
            if old is not None and old.open:
                _put(entries, _next(old, event, line), line)
                if old.undoes and event == "confirmed" and old.state == "pending":
                    _undone(entries, old, line)
    except (TypeError, AttributeError, ValueError, KeyError):
        return


def _next(old: JournaledChange, event: str, line: Line) -> JournaledChange:
    """An open entry after a later line."""
    if event == "end":
        known = ("state", "effect", "after", "because", "side_effects")
        return replace(old, **{"state": "applied"} | {k: line[k] for k in known if k in line})
    if event == "armed":
        return replace(old, due=line["due"], deadline=line["deadline"], armed=True)
    if event == "confirmed":
        state = old.effect if old.state == "pending" else old.state
        if old.undoes and old.state == "pending":
            state = "undone"
        return replace(old, state=state, deadline=None, due=None)
    if event in _ENDS:
        because = line.get("because", "")
        return replace(old, state=event, because=because, deadline=None, due=None)
    return old


def _undone(entries: dict[int, JournaledChange], undo: JournaledChange, line: Line) -> None:
    """Close the entries that a confirmed undo reverted."""
    for number in undo.undoes:
        entry = entries.get(number)
        if entry is not None and entry.open:
            _put(entries, replace(entry, state="undone", deadline=None, due=None), line)


def _put(entries: dict[int, JournaledChange], entry: JournaledChange, line: Line) -> None:
    """Store an entry; if the line closed it, with the time and the newest entry then."""
    if not entry.open:
        entry = replace(entry, ended=line.get("at"), last=next(reversed(entries)))
    entries[entry.id] = entry


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
