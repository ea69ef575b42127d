"""Back-pressure of a slow terminal: the next frame is drawn only when the last one has arrived.

After a frame the terminal is asked for its cursor position; its answer can come only once it has
read everything before. Frames that fall due meanwhile are dropped, never queued. A terminal that
has never answered `PATIENCE` seconds after its first frame gets frames at a fixed rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PATIENCE: Final = 2.0  # for a terminal of which nothing is known yet
TRUST: Final = 10.0  # for one that has answered: a frame at 9600 baud takes that long
FIXED: Final = 1.0  # seconds between frames for a terminal that does not answer
QUERY: Final = "\x1b[6n"


@dataclass(slots=True)
class Gate:
    """Whether a frame may be drawn. Times are monotonic seconds."""

    answers: bool | None = None  # None: not known yet
    asked: float | None = None  # when the open question was sent
    last: float = -FIXED

    def wait(self, now: float) -> float:
        """Seconds until a frame may be drawn; 0 when it may now."""
        if self.answers is False:
            return max(0.0, self.last + FIXED - now)
        if self.asked is None:
            return 0.0
        return max(0.0, self.asked + (TRUST if self.answers else PATIENCE) - now)

    def drawn(self, now: float) -> bool:
        """A frame was drawn; True when the terminal should be asked."""
        if self.asked is not None:  # it did not answer the last one in time
            self.answers = False if self.answers is None else self.answers
        self.last = now
        if self.answers is False:
            return False
        self.asked = now
        return True

    def answered(self) -> None:
        """The terminal said where its cursor is: it has drawn everything. A late answer counts."""
        self.answers = True
        self.asked = None
