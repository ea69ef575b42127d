"""The rows of a question that were on the screen: Enter agrees only after all of them were.

A row counts after the terminal has drawn it, that is after its reply to a cursor position query
(CSI 6n). Keys that arrive before that reply were typed for something else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ..terms.dataclass import dataclass
from ..views.view import View

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
        return replace(view, sheet=0, scroll=0, read=0, unread=-1)

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
