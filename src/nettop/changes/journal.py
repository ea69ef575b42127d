"""The journal: JSON lines on the disk before the host is touched, so that a crash forgets nothing.

One `begin` line precedes every write, one `end` line follows it, later lines tell what became of
it. Folding the lines by id gives the entries. A line torn by a crash is ignored by readers and
removed by the next writer; a disk that is full refuses the `begin` line, and with it the change.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from ..files import bounds
from ..files.trust import trusted

OPEN = frozenset({"begun", "applied", "rounded", "pending"})
_LOCK_PAUSE = 0.02
_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
ROOTS = "/var/lib/nettop"


class Busy(OSError):  # noqa: N818
    """Another nettop is changing this host."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One change as the journal knows it. `state` is `begun` when its end was never written."""

    id: int
    at: float  # seconds since 1970
    setting: str
    before: str
    wanted: str
    state: str = "begun"
    after: str | None = None
    effect: str = "applied"  # what it is once confirmed: applied or rounded
    who: str = ""
    finding: str = ""
    shell: str = ""
    because: str = ""
    group: int = 0  # the entries that are confirmed or reverted together
    deadline: float | None = None  # seconds since 1970, to be shown
    due: float | None = None  # seconds since boot, to be acted on: clocks that jump do not matter
    boot: str = ""
    netns: str = ""  # the namespace's inode
    netns_name: str = ""
    netns_cookie: str = ""
    identity: str = ""
    asked: str = ""  # what had been asked for before, where the host may show another value
    side_effects: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    armed: bool = False  # its guard waits: `due` is counted from then
    undoes: tuple[int, ...] = ()  # entries that it takes back: undone once this one is confirmed
    ended: float | None = None  # seconds since 1970: when it was closed
    last: int = 0  # the newest entry when it was closed

    @property
    def open(self) -> bool:
        """Whether it may still have to be taken back."""
        return self.state in OPEN


def folder() -> str:
    """NETTOP_STATE, or /var/lib/nettop for root, or the user's state folder."""
    told = os.environ.get("NETTOP_STATE")
    if told:
        if not trusted(told):
            raise PermissionError(1, "NETTOP_STATE: others than root can change this folder", told)
        return told
    if os.geteuid() == 0:
        return ROOTS
    from ..config import state_folder

    return str(state_folder())


def since_boot() -> float:
    """Seconds since boot, sleep included; unlike the time of day it never jumps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Journal:
    """The journal in `folder`; nothing is made there until something is written."""

    def __init__(self, place: str | None = None) -> None:
        """`place` is the folder."""
        self.folder = place or folder()
        self.path = os.path.join(self.folder, "journal.jsonl")

    @contextlib.contextmanager
    def lock(self, seconds: float = 10.0) -> Iterator[None]:
        """Be the only nettop that writes; Busy when another one still is after `seconds`.

        The kernel lets go of the lock when its holder dies, however it dies.
        """
        self._make()
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
            yield
        finally:
            os.close(handle)

    def entries(self) -> tuple[Entry, ...]:
        """Every entry, oldest first."""
        found: dict[int, Entry] = {}
        for line in self._lines():
            _fold(found, line)
        return tuple(found[key] for key in sorted(found))

    def failures(self) -> tuple[str, ...]:
        """What guards could not do and nobody has been told yet."""
        told: list[str] = []
        for line in self._lines():
            if line.get("event") == "guard-failed":
                told.append(f"guard of change {line.get('id')}: {line.get('because')}")
            elif line.get("event") == "told":
                told.clear()
        return tuple(told)

    def told(self) -> None:
        """The failures were shown to somebody: not again."""
        if self.failures():
            with self.lock():
                self.append({"event": "told", "id": 0, "at": time.time()})

    def begin(self, entry: Entry) -> Entry:
        """Put a change on the disk before it is made; gives it its number. Call it locked."""
        number = max((e.id for e in self.entries()), default=0) + 1
        entry = replace(entry, id=number, group=entry.group or number)
        known = {
            key: value
            for key, value in asdict(entry).items()
            if key in _ALWAYS or value not in (None, "", {}, False, ())
        }
        self.append({"event": "begin", **known})
        return entry

    def note(self, number: int, event: str, **what: Any) -> None:
        """Add what became of an entry."""
        self.append({"event": event, "id": number, "at": time.time(), **what})

    def append(self, line: Mapping[str, Any]) -> None:
        """One line, on the disk when this returns; OSError leaves the file as it was."""
        self._make()
        fresh = not os.path.exists(self.path)
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        handle = os.open(self.path, _OPEN | os.O_APPEND, 0o600)
        try:
            size = _repair(handle)
            try:
                if os.write(handle, data) != len(data):
                    raise OSError(28, "No space left on device", self.path)
                os.fsync(handle)
            except OSError:
                os.ftruncate(handle, size)
                raise
        finally:
            os.close(handle)
        if fresh:
            place = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(place)
            finally:
                os.close(place)

    def _make(self) -> None:
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        status = os.stat(self.folder)
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            raise PermissionError(1, "this folder is not ours alone", self.folder)

    def _lines(self, tell: Callable[[str], None] | None = None) -> Iterator[dict[str, Any]]:
        """The lines that are understood; `tell` gets a sentence for each of the others.

        OSError when the journal cannot be read or is larger than its bound.
        """
        try:
            data = bounds.read(self.path, "journal")
        except FileNotFoundError:
            return
        *ended, last = data.split(b"\n")
        for number, raw in enumerate((*ended, last), 1):
            line = _parsed(raw)
            if line is not None:
                yield line
            elif (
                tell is not None and raw.strip() and number <= len(ended)
            ):  # a crash tears the last
                tell(f"{self.path}:{number}: not a line of the journal")

    def odd(self) -> tuple[str, ...]:
        """A sentence for each line that is not understood and left out, the first twenty."""
        found: list[str] = []
        for _ in self._lines(found.append):
            pass
        more = [f"{self.path}: {len(found) - 20:,} more lines"] if len(found) > 20 else []
        return (*found[:20], *more)


_TEXTS = "setting before wanted state effect who finding shell because boot netns netns_name asked"
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys((*_TEXTS.split(), "netns_cookie", "identity", "event"), (str,)),
    **dict.fromkeys(("id", "group", "last"), (int,)),
    **dict.fromkeys(("at",), (int, float)),
    **dict.fromkeys(("deadline", "due", "ended"), (int, float, type(None))),
    "after": (str, type(None)),
    "side_effects": (dict,),
    "armed": (bool,),
    **dict.fromkeys(("undoes", "also"), (list,)),
}


_NUMBERS = ("id", "group", "at", "deadline", "due")
_END_OF_TIME = 253_402_300_800  # the year 10000, which no calendar here prints


def _sound(line: dict[str, Any]) -> bool:
    """Whether every word of a line is of its kind: one that is not must not hide the others."""
    if not all(isinstance(line[key], kinds) for key, kinds in _TYPES.items() if key in line):
        return False
    if not all(bounds.number(line[key]) for key in _NUMBERS if line.get(key) is not None):
        return False
    if not 0 <= line.get("at", 0) < _END_OF_TIME > (line.get("deadline") or 0) >= 0:
        return False
    if not all(isinstance(one, int) for key in ("undoes", "also") for one in line.get(key, ())):
        return False
    for pair in line.get("side_effects", {}).values():
        if not isinstance(pair, list) or not all(
            isinstance(one, (str, type(None))) for one in pair
        ):
            return False
    return line.get("event") != "end" or line.get("state", "applied") in OPEN


def _parsed(raw: bytes) -> dict[str, Any] | None:
    """A line of the journal; None for anything else."""
    if len(raw) > bounds.BOUNDS["journal-line"].most:
        return None
    try:
        line = bounds.document(raw)
    except ValueError:
        return None
    if not isinstance(line, dict):
        return None
    if "beside" in line:  # the name of `side_effects` in journals of the first edition
        line["side_effects"] = line.pop("beside")
    return line if _sound(line) else None


def _whole(line: bytes) -> bool:
    try:
        return isinstance(bounds.document(line), dict)
    except ValueError:
        return False


def _repair(handle: int) -> int:
    """Cut off a line that a crash tore (or end it, when only its end is missing); the size now."""
    size = os.fstat(handle).st_size
    if not size or os.pread(handle, 1, size - 1) == b"\n":
        return size
    start = max(0, size - (1 << 20))
    tail = os.pread(handle, size - start, start)
    torn = tail.rfind(b"\n") + 1
    if _whole(tail[torn:]):
        return size + os.write(handle, b"\n")
    whole = start + torn
    os.ftruncate(handle, whole)
    return whole


_KNOWN = frozenset(f.name for f in fields(Entry))
_ALWAYS = frozenset({"id", "at", "setting", "before", "wanted"})  # "" is a value too
_ENDS = frozenset({"undone", "reverted", "void", "refused", "forgotten"})


def _fold(found: dict[int, Entry], line: dict[str, Any]) -> None:
    """Apply one line, to its entry and to those it names as `also`.

    What has another form than ours is left out. An end that was decided (undone, reverted …) is
    never taken back.
    """
    event = line.pop("event", "")
    try:
        if "side_effects" in line:
            line["side_effects"] = {
                key: (was, now) for key, (was, now) in line["side_effects"].items()
            }
        if event == "begin":
            line["undoes"] = tuple(line.get("undoes", ()))
            entry = Entry(**{key: line[key] for key in line if key in _KNOWN})
            found[entry.id] = entry
            return
        for number in (line.get("id", 0), *line.get("also", ())):
            old = found.get(number)
            if old is not None and old.open:
                _put(found, _next(old, event, line), line)
                if old.undoes and event == "confirmed" and old.state == "pending":
                    _undone(found, old, line)
    except (TypeError, AttributeError, ValueError, KeyError):
        return


def _next(old: Entry, event: str, line: Mapping[str, Any]) -> Entry:
    """What an open entry becomes by a later line."""
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


def _undone(found: dict[int, Entry], undo: Entry, line: Mapping[str, Any]) -> None:
    """An undo that was confirmed closes what it took back."""
    for number in undo.undoes:
        one = found.get(number)
        if one is not None and one.open:
            _put(found, replace(one, state="undone", deadline=None, due=None), line)


def _put(found: dict[int, Entry], entry: Entry, line: Mapping[str, Any]) -> None:
    """The entry as it is after a line; one that the line closed knows when that was."""
    if not entry.open:
        entry = replace(entry, ended=line.get("at"), last=next(reversed(found)))
    found[entry.id] = entry
