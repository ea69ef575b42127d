"""A recording with two courses: as it was, and as it is after a change that the demo plays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .archive import RecordedMoment, parse
from .recording import Replay


class Played(Replay):
    """A recording in a loop that goes on in the other course when it is told to.

    The other course begins at its first moment, as a recording does that has started again: the
    counters of both have nothing to do with each other.
    """

    plays = True

    def __init__(self, archive: str | bytes, cured: str | bytes, *, pace: float = 0.0) -> None:
        """`cured` has the entries of `archive` that the change alters, moment by moment."""
        super().__init__(archive, pace=pace, loop=True)
        altered = parse(cured)[1]
        self.courses: dict[bool, Sequence[RecordedMoment]] = {
            False: self.moments,
            True: [
                replace(one, changed={**one.changed, **other.changed})
                for one, other in zip(self.moments, altered, strict=True)
            ],
        }
        self.cured = self._wanted = False

    def turn(self, *, cured: bool) -> None:
        """Go on in that course from the next moment on."""
        self._wanted = cured
        self.woken.set()

    def wait(self, seconds: float) -> bool:
        """As `Replay.wait`, or step to the first moment of the other course."""
        if self._wanted == self.cured:
            return super().wait(seconds)
        self.cured = self._wanted
        self.swift = 0.0  # only the beginning of the demo is played quickly
        self._offset += self.moments[self._index].at - self.moments[0].at + 1.0
        self.moments = [*self.courses[self.cured]]
        self._step(0)
        return True
