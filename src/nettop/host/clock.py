"""The clock of another host, held against ours: every deadline there depends on it.

A request is sent before the other host looks at its clock, and its answer comes after that. So the
time that passed there between two answers lies between the shortest and the longest time here.
"""

from __future__ import annotations

from typing import Final

from .far.wire import UnreadableError

SLACK: Final = 5.0  # seconds: a virtual machine, or this host, stood still meanwhile
DRIFT: Final = 0.1  # of wall time: adjtimex(2) changes the speed of a clock by so much
_LATEST: Final = float(1 << 34)  # seconds of a clock: 544 years


class FarClock:
    """What the clock of one reader has shown since its first answer."""

    def __init__(self) -> None:
        """No answer yet."""
        self._first: tuple[float, float, float] | None = None  # there, sent and received here
        self._last = -1.0

    def check(self, there: float, wall: float, sent: float, received: float) -> None:
        """UnreadableError unless both clocks are possible and this one goes about as ours."""
        if not (0.0 <= there < _LATEST and 0.0 <= wall < _LATEST):  # false for NaN
            raise UnreadableError("its clock shows no time")
        if there <= self._last:
            raise UnreadableError("its clock does not advance")
        self._last = there
        if self._first is None:
            self._first = there, sent, received
        before, first_sent, first_received = self._first
        least = (sent - first_received) * (1 - DRIFT) - SLACK
        most = (received - first_sent) * (1 + DRIFT) + SLACK
        if not least <= there - before <= most:
            raise UnreadableError(
                f"its clock advanced by {there - before:.6g} s while {sent - first_sent:.1f} s "
                "passed here"
            )
