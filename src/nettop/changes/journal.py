"""The journal: JSON lines on disk before each write to the host, so that a crash loses nothing.

A `begin` line precedes every write, an `end` line follows it, and later lines record confirmation
and undo. Folding the lines by id gives the entries. Readers ignore a line that a crash cut off, and
the next writer removes it. If the disk is full, the `begin` line fails, and with it the change.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, fields, replace
from typing import TYPE_CHECKING, Final, Protocol

from ..files import bounds, draft
from ..files.trust import trusted
from ..terms.dataclass import dataclass
from .lines import LONGEST, OPEN, Line, long, parsed, repair, rows

if TYPE_CHECKING:
    from ..settings import Address

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
        """`path` is the folder; by default `folder()`."""
        self.folder = path or folder()
        self.path = os.path.join(self.folder, "journal.jsonl")

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
        return self._entries(_MOST)

    def _entries(self, most: int) -> tuple[JournaledChange, ...]:
        entries: dict[int, JournaledChange] = {}
        for line in self._lines(most):
            fold(entries, line)
        return tuple(entries[key] for key in sorted(entries))

    def failures(self) -> tuple[str, ...]:
        """Messages about failed guards that no user has seen yet."""
        lines = self._failures(_MOST)
        return tuple(f"guard of change {line.get('id')}: {line.get('because')}" for line in lines)

    def _failures(self, most: int) -> list[Line]:
        found: list[Line] = []
        for line in self._lines(most):
            if line.get("event") == "guard-failed":
                found.append(line)
            elif line.get("event") == "told":
                found.clear()
        return found

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
            why = "the journal is full: close changes with nettop undo ID, or undo ID --forget"
            raise OSError(27, why, self.path)
        number = max((e.id for e in self.entries()), default=0) + 1
        entry = replace(entry, id=number, group=entry.group or number)
        self.put(entry)
        return entry

    def put(self, entry: JournaledChange) -> None:
        """Write an entry as it is, in one line."""
        self.append(_line(entry))

    def note(self, number: int, event: str, **values: object) -> None:
        """Add an event of an entry, with its fields; OSError if it cannot be written."""
        self.append({"event": event, "id": number, "at": time.time(), **values})

    def append(self, line: Mapping[str, object]) -> None:
        """Write one line and wait until it is on disk; OSError leaves the file unchanged."""
        self._create()
        fresh = not os.path.exists(self.path)
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        handle = os.open(self.path, _OPEN | os.O_APPEND, 0o600)
        try:
            size = repair(handle)
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
            parent = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(parent)
            finally:
                os.close(parent)

    def _create(self) -> None:
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        self.must_be_ours()

    def must_be_ours(self) -> None:
        """PermissionError if another user can change the journal; OSError without a folder."""
        status = os.stat(self.folder)
        if status.st_uid != os.geteuid() or status.st_mode & 0o022 or not trusted(self.path):
            raise PermissionError(1, "another user can change this folder", self.folder)

    def _lines(
        self, most: int = _MOST, report: Callable[[str], None] | None = None
    ) -> Iterator[Line]:
        """The valid lines; `report` gets a sentence for each of the others.

        OSError if the journal cannot be read or has more than `most` bytes.
        """
        try:
            handle = bounds.opened(self.path)
        except FileNotFoundError:
            return
        with open(handle, "rb") as file:
            if os.fstat(handle).st_size > most:
                raise bounds.exceeded("journal", self.path)
            for number, raw in enumerate(rows(file), 1):
                line = parsed(raw.removesuffix(b"\n"))
                if line is not None:
                    yield line
                elif report is not None and raw.strip() and (raw.endswith(b"\n") or long(raw)):
                    report(f"{self.path}:{number}: not a line of the journal")

    def _compact(self) -> None:
        """Write each entry as one line, and leave out the oldest that nothing depends on.

        The file as it was stays beside it. The caller holds the lock.
        """
        entries = self._entries(_READABLE)
        needed = _needed(entries)
        texts = {e.id: json.dumps(_line(e), separators=(",", ":")) for e in entries}
        room = _MOST // 2 - sum(len(texts[number]) + 1 for number in needed)
        kept: list[str] = []
        for number in sorted(texts, reverse=True):
            room -= 0 if number in needed else len(texts[number]) + 1
            if room >= 0 or number in needed:
                kept.append(texts[number])
        failures = [json.dumps(line) for line in self._failures(_READABLE)]
        old = self.path + ".old"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(old)
        os.link(self.path, old)
        draft.write(self.path, "".join(text + "\n" for text in (*reversed(kept), *failures)))

    def odd(self) -> tuple[str, ...]:
        """A sentence for each of the first twenty lines that are not valid and are left out."""
        messages: list[str] = []
        for _ in self._lines(report=messages.append):
            pass
        more = len(messages) - 20
        return (*messages[:20], *([f"{self.path}: {more:,} more lines"] if more > 0 else []))


def _line(entry: JournaledChange) -> Line:
    """The line of an entry as it is."""
    values = asdict(entry).items()
    known = {k: v for k, v in values if k in _ALWAYS or v not in (None, "", {}, False, ())}
    return {"event": "begin", **known}


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


_KNOWN = frozenset(f.name for f in fields(JournaledChange))
_ALWAYS = frozenset({"id", "at", "setting", "before", "wanted"})  # "" is a value too
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
