"""A recording with two courses: as it was, and as it is after a change that the demo plays."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from .archive import RecordedMoment, parse
from .recording import Replay

Courses = dict[bool, Sequence[RecordedMoment]]  # by whether the change was made


class Played(Replay):
    """A recording in a loop that goes on in the other course when it is told to.

    The other course begins at its first moment, as a recording does that has started again: the
    counters of both have nothing to do with each other.
    """

    plays = True

    def __init__(self, archive: str | bytes, cured: str | bytes, *, pace: float = 0.0) -> None:
        """`cured` has the entries of `archive` that the change alters, moment by moment."""
        super().__init__(archive, pace=pace, loop=True)
        self.courses = _courses(self.moments, cured)
        self.far: Replay | None = None  # the other end, where the demo has both
        self._ends: list[tuple[Replay, Courses]] = [(self, self.courses)]
        self.cured = self._wanted = False
        self.turned = self.wall()  # when the present course began

    def join(self, far: Replay, cured: str | bytes) -> None:
        """The other end, which follows this one, has a second course as well."""
        self.far = far
        self._ends.insert(0, (far, _courses(far.moments, cured)))

    def changed(self, *, far: bool) -> Replay:
        """An end as it is in the other course, at its first moment."""
        end, courses = self._ends[0 if far else -1]
        made = copy(end)
        made.followers = []
        made.begin(courses[True])
        return made

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
        for end, courses in self._ends:  # the other end first: it follows this one
            end.begin(courses[self.cured])
        self.turned = self.wall()
        return True


def _courses(moments: Sequence[RecordedMoment], cured: str | bytes) -> Courses:
    altered = zip(moments, parse(cured)[1], strict=True)
    return {
        False: moments,
        True: [replace(one, changed={**one.changed, **other.changed}) for one, other in altered],
    }
