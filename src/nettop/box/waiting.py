"""Incidents whose time after has not passed: they wait on disk, so that no restart loses one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Final

from ..files import bounds
from ..files.draft import write
from ..host.archive import RecordedMoment
from . import incident as incidents
from .folder import BLOCK, Folder
from .incident import BOOT, Incident
from .stretch import first, stretch

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
                self.all[path] = incidents.decode(bounds.read(path, "state"))
            except (OSError, ValueError):
                path.unlink(missing_ok=True)

    def add(self, incident: Incident) -> None:
        """Let it wait. OSError."""
        path = self._folder.path / "waiting" / f"{incident.name}.json"
        self._folder.make_room(BLOCK)
        self.all[path] = incident
        write(path, incidents.encode(incident), 0o600)

    def join(self, finding: str) -> None:
        """Name a finding that began meanwhile in all that wait. OSError."""
        for path, incident in self.all.items():
            if (joined := incident.joined(finding)) is not incident:
                self.all[path] = joined
                write(path, incidents.encode(joined), 0o600)

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
            if (there := incidents.read(path)) is not None and (there.id, there.at, there.boot) == (
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
            if incidents.save(path, incident, _within(segments, low, high), most):
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
