"""The time before nettop was started, as the box of this host has it: moments by the wall clock.

The screen and others read it while `nettop watch` writes. A box that another user could have
changed is not read, except that of nettop's own service (systemd.exec(5), DynamicUser=).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from ..files.trust import trusted
from ..host.archive import RecordedMoment
from .folder import Folder, default
from .stretch import first, stretch

PRIVATE: Final = "/var/lib/private/"  # only root enters it; folders of dynamic users are there
_DYNAMIC: Final = range(61184, 65520)  # their user numbers: systemd.io/UIDS-GIDS


@dataclass
class Past:
    """The moments of a box, by time."""

    path: Path
    _begins: dict[Path, float] = field(default_factory=dict)  # of segments: seconds since 1970

    def moments(self, since: float, until: float = float("inf")) -> Iterator[RecordedMoment]:
        """The moments of these wall-clock seconds, oldest first.

        The first has everything that was known then, each other one what changed. Their `at` never
        decreases, also over a boot. There are none if the box has nothing of that time. OSError.
        """
        segments = Folder(self.path, 0).segments()
        begins = [self._begin(path) for path in segments]
        # a segment ends where the next begins; a clock that was set makes no segment vanish
        ends = [*begins[1:], None]
        wanted = [
            path for path, begin, end in zip(segments, begins, ends, strict=True)
            if begin is not None and begin <= until and (end is None or end >= since or end < begin)
        ]  # fmt: skip
        shift, last = 0.0, None
        for moment in stretch(wanted, lambda one: since <= one.wall <= until):
            if last is not None and moment.at + shift < last.at:  # another boot
                shift = last.at + max(0.0, moment.wall - last.wall) - moment.at
            last = replace(moment, at=moment.at + shift)
            yield last

    def begins(self) -> float | None:
        """The wall clock of the oldest moment; None if the box is empty. OSError."""
        for path in Folder(self.path, 0).segments():
            if (begin := self._begin(path)) is not None:
                return begin
        return None

    def _begin(self, path: Path) -> float | None:
        if path not in self._begins:
            moment = first(path)
            if moment is None:
                return None
            self._begins[path] = moment.wall
        return self._begins[path]


def of_this_host() -> Past | None:
    """The past of this host in the default box; None if there is none that may be read."""
    try:
        path = default()
        there = os.access(path / "ring", os.R_OK | os.X_OK)
    except OSError:
        return None
    return Past(path) if there and (trusted(path) or _of_the_service(path)) else None


def _of_the_service(path: Path) -> bool:
    real = os.path.realpath(path)
    if not real.startswith(PRIVATE) or not trusted(PRIVATE):
        return False
    return os.stat(PRIVATE).st_mode & 0o077 == 0 and os.stat(real).st_uid in _DYNAMIC
