"""Back-pressure of a slow terminal: the next frame is drawn only when the last one has arrived.

After a frame the terminal is asked for its cursor position; its answer can come only once it has
read everything before. Frames that fall due meanwhile are dropped, never queued. A terminal that
has never answered `PATIENCE` seconds after its first frame gets frames at a fixed rate.

A query and its answer cost as much as painting some rows. So a terminal that answered at once is
asked again only after `SHEET` rows: so many may be in flight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PATIENCE: Final = 2.0  # for a terminal of which nothing is known yet
TRUST: Final = 10.0  # for one that has answered: a frame at 9600 baud takes that long
FIXED: Final = 1.0  # seconds between frames for a terminal that does not answer
AT_ONCE: Final = 0.2  # seconds in which a quick terminal answers
SHEET: Final = 40  # rows that a quick terminal is trusted with
QUERY: Final = "\x1b[6n"


@dataclass(slots=True)
class Gate:
    """Whether a frame may be drawn. Times are monotonic seconds."""

    answers: bool | None = None  # None: not known yet
    asked: float | None = None  # when the open question was sent
    last: float = -FIXED
    quick: bool = False  # the last question was answered at once
    rows: int = 0  # painted since it was asked

    def wait(self, now: float) -> float:
        """Seconds until a frame may be drawn; 0 when it may now."""
        if self.answers is False:
            return max(0.0, self.last + FIXED - now)
        if self.asked is None:
            return 0.0
        return max(0.0, self.asked + (TRUST if self.answers else PATIENCE) - now)

    def drawn(self, now: float, rows: int = SHEET) -> bool:
        """A frame of so many rows was drawn; True when the terminal should be asked."""
        if self.asked is not None:  # it did not answer the last one in time
            self.answers = False if self.answers is None else self.answers
            self.quick = False
        self.last = now
        self.rows += rows
        if self.answers is False or (self.quick and self.rows < SHEET):
            return False
        self.asked, self.rows = now, 0
        return True

    def answered(self, now: float) -> None:
        """The terminal said where its cursor is: it has drawn everything. A late answer counts."""
        self.quick = self.asked is not None and now - self.asked < AT_ONCE
        self.answers = True
        self.asked = None
