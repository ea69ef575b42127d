"""Back-pressure of a slow terminal: the next frame is drawn only after the last one has arrived.

After a frame, a query asks the terminal for its cursor position (CSI 6n). The terminal answers only
after it has read everything before the query. Frames that are due before the answer are dropped,
not queued. A terminal that has not answered `PATIENCE` seconds after its first frame gets frames at
a fixed rate.

A query and its answer cost as much as some rows. Therefore a terminal that answered quickly is
asked again only after `SHEET` rows.
"""

from __future__ import annotations

from typing import Final

from ..terms.dataclass import dataclass

PATIENCE: Final = 2.0  # seconds to wait for the first answer of a terminal
TRUST: Final = 10.0  # seconds to wait for later answers: a frame at 9600 baud takes that long
FIXED: Final = 1.0  # seconds between frames for a terminal that does not answer
AT_ONCE: Final = 0.2  # seconds in which a quick terminal answers
SHEET: Final = 40  # rows that are sent to a quick terminal between two queries
QUERY: Final = "\x1b[6n"


@dataclass(slots=True)
class Gate:
    """Whether a frame may be drawn. Times are monotonic seconds."""

    answers: bool | None = None  # None: not known yet
    asked: float | None = None  # time of the query that is not answered yet
    last: float = -FIXED
    quick: bool = False  # the last query was answered within `AT_ONCE`
    rows: int = 0  # painted since the last query

    def wait(self, now: float) -> float:
        """Seconds until a frame may be drawn; 0: now."""
        if self.answers is False:
            return max(0.0, self.last + FIXED - now)
        if self.asked is None:
            return 0.0
        return max(0.0, self.asked + (TRUST if self.answers else PATIENCE) - now)

    def drawn(self, now: float, rows: int = SHEET) -> bool:
        """A frame of so many rows was drawn; True if a query should be sent."""
        if self.asked is not None:  # the last query was not answered in time
            self.answers = False if self.answers is None else self.answers
            self.quick = False
        self.last = now
        self.rows += rows
        if self.answers is False or (self.quick and self.rows < SHEET):
            return False
        self.asked, self.rows = now, 0
        return True

    def answered(self, now: float) -> None:
        """The terminal has answered, so it has drawn everything. A late answer counts too."""
        self.quick = self.asked is not None and now - self.asked < AT_ONCE
        self.answers = True
        self.asked = None
