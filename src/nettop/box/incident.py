"""What began, and the recording of the time around it.

The first moment of an incident has an entry `nettop/incident` with what began, so the file alone
says it. Scrubbing replaces the names and addresses in it as in every other entry.
"""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Final

from ..files import bounds
from ..files.draft import Draft
from ..host.archive import RecordedMoment, RecordingError, Room, written
from ..host.pseudonyms import Names
from ..host.recording import Replay
from ..host.scrub import scrub
from ..terms.dataclass import dataclass
from .folder import blocks
from .stretch import first, moments

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
