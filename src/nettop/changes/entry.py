"""An entry of the journal, and what the lines of the file say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field, fields, replace
from typing import TYPE_CHECKING, Final

from ..terms.dataclass import dataclass
from .lines import OPEN, Line, long, parsed

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
