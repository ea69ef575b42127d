"""The recordings of both ends of a transfer (`record --peer`), on one time line.

Each end is a recording of its own, with the clock of its host. The comment of each has the number
of the pair and the offset of the other clock, which is known within half of a round trip. A sample
reads the other end first, so a moment of this end belongs to the last one there that is not later.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Final

from ..terms.dataclass import dataclass
from .archive import RecordingError, load
from .recording import Replay

_MARK: Final = re.compile(
    r" Pair ([0-9a-f]{8}), (this|the other) end: the clock of the other host is "
    r"(\d{1,12}\.\d{4}) s (ahead|behind), within (\d{1,12}\.\d{4}) s\."
)
LATE: Final = 0.25  # of the time between samples: the clocks may drift apart by this much


@dataclass(frozen=True, slots=True)
class Mark:
    """What the comment of one end says of the pair."""

    number: str
    here: bool  # the end from which both were recorded
    ahead: float  # seconds by which the clock of the other host is ahead
    error: float  # half of the shortest round trip, seconds

    def words(self) -> str:
        """The sentence that the comment of the recording holds."""
        end = "this" if self.here else "the other"
        return f" Pair {self.number}, {end} end: {self.clock('the other host')}."

    def clock(self, host: str) -> str:
        """What is known of the clock of that host."""
        way = "ahead" if self.ahead >= 0 else "behind"
        within = ceil(self.error * 1e4) / 1e4
        return f"the clock of {host} is {abs(self.ahead):.4f} s {way}, within {within:.4f} s"


def mark_of(comment: str) -> Mark | None:
    """The mark in a comment; None in that of a recording without another end."""
    found = _MARK.search(comment)
    if found is None:
        return None
    ahead = float(found[3]) * (1 if found[4] == "ahead" else -1)
    return Mark(found[1], found[2] == "this", ahead, float(found[5]))


def other_file(path: str, *, here: bool = True) -> str:
    """The file of the other end, in the same folder: `a.peer.host.gz` for `a.host.gz`.

    Without `here` the inverse.
    """
    known = Path(path)
    stem, dot, rest = known.name.partition(".")
    if here:
        name = f"{stem}.peer{dot}{rest}"
    else:
        name = f"{stem}.{rest.removeprefix('peer').removeprefix('.')}".rstrip(".")
    return str(known.parent / name)


def other_end(near: Replay, path: str, mark: Mark | None) -> Replay:
    """The recording of the other end, kept at the moment of `near`. OSError, RecordingError."""
    far = Replay(load(path), loop=near.loop)
    its = mark_of(far.comment)
    if mark is None or its is None or its.number != mark.number:
        raise RecordingError("not the other end of this recording: both need the same pair number")
    if its.here or not mark.here:
        raise RecordingError("give the file that `record --peer` was told first, then this one")
    partner = partners(near, far, mark.ahead)

    def follow(index: int, offset: float) -> None:
        far.follow(partner[index], offset)

    near.followers.append(follow)
    follow(near.index, near.now() - near.moments[near.index].at)
    return far


def partners(near: Replay, far: Replay, ahead: float) -> list[int]:
    """For each moment of `near` the one of `far`; the first or the last where there is none.

    The clocks are compared once: later steps of either wall clock change nothing.
    """
    begin = far.moments[0].wall - ahead - near.moments[0].wall - far.moments[0].at
    times = [begin + one.at for one in far.moments]
    starts = [one.at - near.moments[0].at for one in near.moments]
    gap = min((b - a for a, b in pairwise(starts)), default=0.0)
    return [max(0, bisect_right(times, at + LATE * gap) - 1) for at in starts]
