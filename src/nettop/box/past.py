"""The time before nettop was started, as the box of this host has it: moments by the wall clock.

The screen reads it while `nettop watch` writes. A box that another user could have changed is not
read, except that of nettop's own service (systemd.exec(5), DynamicUser=).

Where the clock was set back, two moments have one time: the one recorded last counts.
"""

import os
from collections.abc import Iterator
from dataclasses import field, replace
from pathlib import Path
from typing import Final

from ..files.trust import trusted
from ..host.archive import RecordedMoment, RecordingError
from ..terms.dataclass import dataclass
from ..terms.errors import sentence
from .folder import Folder, default
from .ring import first_wall, stretch, walls

PRIVATE: Final = "/var/lib/private/"  # only root enters it; folders of dynamic users are there
_DYNAMIC: Final = range(61184, 65520)  # their user numbers: systemd.io/UIDS-GIDS


@dataclass
class Past:
    """The moments of a box before `until` (seconds since 1970), by time."""

    path: Path
    until: float = float("inf")
    faults: dict[str, str] = field(default_factory=dict)  # of segments: a sentence
    _begins: dict[Path, float] = field(default_factory=dict)  # of segments: seconds since 1970
    _walls: dict[Path, tuple[int, list[float]]] = field(default_factory=dict)  # size, times

    def moments(self, since: float, until: float) -> Iterator[RecordedMoment]:
        """The moments with `since` <= time < `until`, in the order of their recording.

        The first has everything that was known then, each other one what changed. Their `at` never
        decreases, also over a boot. There are none if the box has nothing of that time. OSError.
        """
        segments = Folder(self.path, 0).segments()
        begins = [self._begin(path) for path in segments]
        # a segment ends where the next begins, so that a clock that was set hides no segment
        ends = [*begins, None][1:]
        wanted = [
            path for path, begin, end in zip(segments, begins, ends, strict=True)
            if begin is not None and begin < until and (end is None or end >= since or end < begin)
        ]  # fmt: skip
        shift, last = 0.0, None
        for moment in stretch(wanted, lambda one: since <= one.wall < until):
            if last is not None and moment.at + shift < last.at:  # another boot
                shift = last.at + max(0.0, moment.wall - last.wall) - moment.at
            last = replace(moment, at=moment.at + shift)
            yield last

    def before(self, wall: float) -> float | None:
        """The time of the latest moment that is not after `wall`; None if there is none. OSError.

        Segments after `wall` are not read, but for their first time.
        """
        ceiling = self.until
        for path, begin in self._newest_first():
            if begin <= wall:
                times = self._times(path, ceiling)
                ceiling = min([ceiling, *times[:1]])
                if known := [one for one in times if one <= wall]:
                    return known[-1]
            ceiling = min(ceiling, begin)
        return None

    def after(self, wall: float) -> float | None:
        """The time of the earliest moment that is not before `wall`; None if there is none."""
        ceiling, best = self.until, None
        for path, begin in self._newest_first():
            if begin < wall:
                known = [one for one in self._times(path, ceiling) if one >= wall]
                return known[0] if known else best
            if begin < ceiling:
                ceiling = best = begin
        return best

    def count(self, since: float, until: float) -> int:
        """At least how many moments there are in this time. OSError."""
        segments = [path for path, begin in self._newest_first() if begin < until]
        return sum(
            since <= one < until for path in segments[:3] for one in self._times(path, self.until)
        )

    def _newest_first(self) -> Iterator[tuple[Path, float]]:
        for path in reversed(Folder(self.path, 0).segments()):
            if (begin := self._begin(path)) is not None:
                yield path, begin

    def _begin(self, path: Path) -> float | None:
        if path not in self._begins:
            wall = first_wall(path)
            if wall is None:
                if path.exists() and path != Folder(self.path, 0).segments()[-1]:
                    self.faults[path.name] = "it cannot be read"
                return None
            self._begins[path] = wall
        return self._begins[path]

    def _times(self, path: Path, ceiling: float) -> list[float]:
        """The times of a segment before `ceiling`, ascending: a later moment hides larger times."""
        out: list[float] = []
        for wall in reversed(self._read(path)):
            if wall < ceiling:
                ceiling = wall
                out.append(wall)
        return out[::-1]

    def _read(self, path: Path) -> list[float]:
        """All times of a segment, read again if it has grown; a fault of it is kept as text."""
        try:
            size = path.stat().st_size
            if self._walls.get(path, (-1,))[0] != size:
                times, whole = walls(path)
                self._walls[path] = size, times
                if not whole and path != Folder(self.path, 0).segments()[-1]:
                    self.faults[path.name] = "it is cut or damaged: what follows is left out"
        except FileNotFoundError:  # the box has deleted it
            return []
        except (OSError, RecordingError) as error:
            self.faults[path.name] = sentence(error)
            return []
        return self._walls[path][1]


def of_this_host(until: float = float("inf")) -> Past | None:
    """The past of this host in the default box; None if there is none that may be read."""
    try:
        path = default()
        there = os.access(path / "ring", os.R_OK | os.X_OK)
    except OSError:
        return None
    return Past(path, until) if there and (trusted(path) or _of_the_service(path)) else None


def _of_the_service(path: Path) -> bool:
    real = os.path.realpath(path)
    if not real.startswith(PRIVATE) or not trusted(PRIVATE):
        return False
    return os.stat(PRIVATE).st_mode & 0o077 == 0 and os.stat(real).st_uid in _DYNAMIC
