"""What began, and the recording of the time around it.

The first moment of an incident has an entry `nettop/incident` with what began, so the file alone
says it. Scrubbing replaces the names and addresses in it as in every other entry.
"""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from itertools import count
from pathlib import Path
from typing import Final

from ..files import bounds
from ..files.draft import Draft, write
from ..host.archive import RecordedMoment, RecordingError, Room, written
from ..host.pseudonyms import Names
from ..host.recording import Replay
from ..host.scrub import scrub
from ..terms.dataclass import dataclass
from .folder import BLOCK, Folder, blocks
from .ring import first, moments, stretch

ENTRY: Final = "nettop/incident"
BOOT: Final = "/proc/sys/kernel/random/boot_id"
LEAD: Final = 60.0  # seconds: the graphs of an incident begin this long before it
ALSO: Final = 20  # further findings that one incident names
COMMENT: Final = b"Incident of nettop.\n"


@dataclass(frozen=True, slots=True)
class Incident:
    """A finding that began."""

    rule: str
    target: str
    severity: str
    title: str
    at: float  # seconds of the recording's clock
    wall: float  # seconds since 1970
    boot: str = ""
    also: tuple[str, ...] = ()  # other findings that began before its recording ended
    held: float = 0.0  # seconds that its condition held before it was reported

    @property
    def id(self) -> str:
        """The finding: `RULE@TARGET`."""
        return f"{self.rule}@{self.target}"

    @property
    def reported(self) -> float:
        """When the finding was reported, in seconds of the recording's clock."""
        return self.at + self.held

    @property
    def name(self) -> str:
        """`TIME-RULE`, the beginning of the file's name."""
        when = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(max(0.0, self.wall)))
        return f"{when}-{re.sub('[^a-z0-9-]', '-', self.rule)}"

    def joined(self, finding: str) -> Incident:
        """The incident, which names that finding too."""
        if finding == self.id or finding in self.also or len(self.also) >= ALSO:
            return self
        return replace(self, also=(*self.also, finding))


_ABSENT: Final = {"also": (), "held": 0.0}  # values of files of earlier versions


def encode(incident: Incident) -> str:
    """The incident as one line of JSON."""
    return json.dumps(asdict(incident)) + "\n"


def decode(text: str | bytes) -> Incident:
    """The incident in a JSON text; ValueError (one sentence) for any other text."""
    found = bounds.document(text)
    if not isinstance(found, Mapping):
        raise ValueError("not an incident")  # noqa: TRY004 - as for any other text
    values: dict[str, str | float | tuple[str, ...]] = {}
    for f in fields(Incident):
        value = found.get(f.name, _ABSENT.get(f.name, ""))
        if f.name in ("at", "wall", "held"):
            if not bounds.number(value) or (f.name == "held" and value < 0):
                raise ValueError(f"not an incident: {f.name} is {value!r}")
            values[f.name] = float(value)
        elif f.name == "also":
            if not isinstance(value, list | tuple):
                raise ValueError(f"not an incident: also is {value!r}")
            values[f.name] = tuple(map(str, value))[:ALSO]
        else:
            values[f.name] = str(value)
    return Incident(**values)  # type: ignore[arg-type]


def of(moment: RecordedMoment) -> Incident:
    """The incident whose recording begins with this moment; ValueError if there is none."""
    body = moment.changed.get(ENTRY)
    if body is None:
        raise ValueError("not an incident: it does not say what began")
    return decode(body)


def read(path: Path) -> Incident | None:
    """The incident in a file; None if it cannot be read or is none."""
    moment = first(path)
    with suppress(ValueError):
        return None if moment is None else of(moment)
    return None


def enter(replay: Replay) -> None:
    """Open the recording of an incident at the moment it began, with the time just before it."""
    body = replay.body(ENTRY)
    with suppress(ValueError):
        if body is not None:
            replay.swift = decode(body).at
            replay.skip(replay.swift - LEAD)


def save(path: Path, incident: Incident, kept: Iterable[RecordedMoment], most: int) -> bool:
    """Write the recording to a new file, its moments after a comment and what began.

    False, and no file, if it takes more than `most` bytes on disk or exceeds the bounds of
    recordings. OSError.
    """
    room, any_yet = Room(), False
    draft = Draft(path, 0o600)
    try:
        with gzip.GzipFile("", "wb", fileobj=draft.file, mtime=0) as out:
            out.write(room.take(COMMENT.decode()))
            for moment in kept:
                if not any_yet:
                    moment.changed[ENTRY] = encode(incident).encode()
                any_yet = True
                out.write(room.take(written(moment).decode("utf-8", "surrogateescape")))
                if blocks(draft.file.tell() + bounds.PIECE) > most:
                    return False
        if not any_yet or blocks(draft.file.tell()) > most:
            return False
        draft.keep(over=False)
    except RecordingError:
        return False
    finally:
        draft.drop()
    return True


def scrubbed(path: Path, names: Names) -> Iterator[str]:
    """The parts of the incident's archive without names and addresses, as `nettop record` does it.

    OSError, RecordingError.
    """
    yield COMMENT.decode()
    for moment in moments(path):
        yield scrub(written(moment).decode("utf-8", "surrogateescape"), names)


_SHARES: Final = tuple(0.5**n for n in range(9))  # of the minutes around an incident


class Waiting:
    """The incidents that wait, by the name of their file in `waiting/`."""

    def __init__(self, folder: Folder, before: float, after: float) -> None:
        """Take up those of the last run; `before` and `after` are seconds."""
        self._folder, self._before, self._after = folder, before, after
        self._begins: dict[Path, tuple[float, str]] = {}  # of segments
        self.all: dict[Path, Incident] = {}
        for path in folder.waiting():
            try:
                self.all[path] = decode(bounds.read(path, "state"))
            except (OSError, ValueError):
                path.unlink(missing_ok=True)

    def add(self, incident: Incident) -> None:
        """Let it wait. OSError."""
        path = self._folder.path / "waiting" / f"{incident.name}.json"
        self._folder.make_room(BLOCK)
        self.all[path] = incident
        write(path, encode(incident), 0o600)

    def join(self, finding: str) -> None:
        """Name a finding that began meanwhile in all that wait. OSError."""
        for path, incident in self.all.items():
            if (joined := incident.joined(finding)) is not incident:
                self.all[path] = joined
                write(path, encode(joined), 0o600)

    def due(self, at: float, boot: str) -> list[Path]:
        """Incidents whose recorded time ended before `at` (seconds since the boot `boot`)."""
        return [
            path for path, incident in self.all.items()
            if incident.boot != boot or not incident.at <= at < incident.reported + self._after
        ]  # fmt: skip

    def segments(self, incident: Incident, share: float = 1.0) -> list[Path]:
        """The segments with that share of the time around it, oldest first."""
        low, high = self._around(incident, share)
        paths: list[Path] = []
        for path in reversed(self._folder.segments()):
            at, boot = self._begin(path)
            if boot != incident.boot:
                if paths:  # this one and those before are of an earlier boot
                    break
                continue
            if at <= high:
                paths.append(path)
            if at <= low:
                break
        return paths[::-1]

    def _around(self, incident: Incident, share: float) -> tuple[float, float]:
        """Begin and end of that share of the time around it, in seconds since the boot."""
        before, after = self._before * share, self._after * share
        return incident.at - before, incident.reported + after

    def _begin(self, path: Path) -> tuple[float, str]:
        """When a segment begins and its boot; it never changes."""
        if path not in self._begins:
            moment = first(path)
            if moment is None:
                return 0.0, "none"
            self._begins[path] = moment.at, _boot(moment)
        return self._begins[path]

    def complete(self, path: Path) -> str:
        """Write the incident; its file's name, or empty if nothing of it is left. OSError."""
        incident = self.all[path]
        target, there = self._name(incident)
        written = there or self._write(target, incident)
        path.unlink(missing_ok=True)
        del self.all[path]
        return target.name if written else ""

    def _name(self, incident: Incident) -> tuple[Path, bool]:
        """A free name; or that of the incident, if a run that was killed has written it already."""
        for number in count(1):
            more = "" if number == 1 else f".{number}"
            path = self._folder.path / f"{incident.name}{more}.host.gz"
            if not path.exists():
                break
            if (there := read(path)) is not None and (there.id, there.at, there.boot) == (
                incident.id, incident.at, incident.boot,
            ):  # fmt: skip
                return path, True
        return path, False

    def _write(self, path: Path, incident: Incident) -> bool:
        """Write as much of the time around it as fits; False if nothing of it is left. OSError."""
        half = self._folder.size // 2
        for share in _SHARES:
            segments = self.segments(incident, share)
            used = self._folder.used(segments)
            # while it is written, it stands beside these segments and the one that is open
            kept = {*segments, *self._folder.segments()[-1:]}
            room = self._folder.size - self._folder.used(kept) - 8 * BLOCK
            most = min(half, room, used * 5 // 4 + 2 * bounds.PIECE)
            if most < BLOCK:
                continue
            self._folder.make_room(most, kept)
            low, high = self._around(incident, share)
            if save(path, incident, _within(segments, low, high), most):
                self._drop_oldest(path, half)
                return True
        return False

    def _drop_oldest(self, newest: Path, most: int) -> None:
        """Delete the oldest incidents until all take no more than `most` bytes."""
        paths = self._folder.incidents()
        while self._folder.used(paths) > most and len(paths) > 1:
            oldest = next(path for path in paths if path != newest)
            oldest.unlink(missing_ok=True)
            paths.remove(oldest)


def _within(segments: Sequence[Path], low: float, high: float) -> Iterator[RecordedMoment]:
    return stretch(segments, lambda moment: low <= moment.at <= high)


def _boot(moment: RecordedMoment) -> str:
    return (moment.changed.get(BOOT) or b"").decode("ascii", "replace").strip()
