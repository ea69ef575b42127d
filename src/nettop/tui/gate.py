"""Back-pressure of a slow terminal: the next frame is drawn only after the last one has arrived.

After a frame, a query asks the terminal for its cursor position (CSI 6n). The terminal answers only
after it has read everything before the query. Frames that are due before the answer are dropped,
not queued. A terminal that has not answered `PATIENCE` seconds after its first frame gets frames at
a fixed rate.

A query and its answer cost as much as some rows. Therefore a terminal that answered quickly is
asked again only after `SHEET` rows.

Enter agrees to a question only after all its rows were on the screen. A row counts after the
terminal has drawn it, that is after its reply to a cursor position query (CSI 6n). Keys that arrive
before that reply were typed for something else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ..terms.dataclass import dataclass
from ..views.view import View

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


EARLY: Final = "Enter came before the terminal had drawn this: read it, then press Enter again"


@dataclass(slots=True)
class RowsRead:
    """The rows on their way to the terminal, and when it drew the last ones (monotonic seconds)."""

    unseen: View | None = None  # the view whose painted rows the terminal has not drawn yet
    seen: float = 0.0
    owed: int = 0  # queries to the terminal without an answer

    def paint(self, before: View, after: View) -> tuple[View, bool]:
        """A frame was written: the next view, and whether new rows wait for the terminal."""
        view = replace(after, read=before.read, unread=before.unread)
        if (after.read, after.unread) == (before.read, before.unread):
            self.unseen = None
            return view, False
        known = self.unseen
        if known is not None and (known.read, known.unread) == (after.read, after.unread):
            return view, False
        self.unseen = after
        return view, True

    def early(self, view: View, when: float) -> bool:
        """Whether a key of that time was typed before any row of the question was drawn."""
        return view.unread < 0 or when <= self.seen

    def forget(self, view: View) -> View:
        """The view for another question, or for none: no row was shown yet."""
        self.unseen = None
        closed = replace(view, editing="", draft="", untouched=False)  # a typed value had its plan
        return replace(closed, sheet=0, scroll=0, read=0, unread=-1)

    def answered(self, view: View, when: float) -> View:
        """The terminal has answered; if it owes no other answer, it has drawn everything."""
        self.owed = max(0, self.owed - 1)
        return view if self.owed else self.drawn(view, when)

    def drawn(self, view: View, when: float, wanted: View | None = None) -> View:
        """The terminal has drawn the waiting rows: they are read. `wanted`: only for that view."""
        unseen = self.unseen
        if unseen is None or (wanted is not None and wanted is not unseen):
            return view
        self.unseen, self.seen = None, when
        return replace(view, read=unseen.read, unread=unseen.unread)
