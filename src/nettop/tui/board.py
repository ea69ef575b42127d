"""The one widget of the screen: it repaints only the rows that changed.

Textual writes every row that is marked dirty, whether it changed or not, so rows are compared here.
Each row has its own background, because the Line API paints none.

While no other screen lies over the board, changed rows are written directly: marking them dirty
costs as much as composing them (an idle message, a timer, a search of the layout). Otherwise
Textual asks every widget for all rows from the first dirty one to the last, so the board caches its
strips, and the screen under it has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from ..terms.text import Line
from . import internals

BLANK: Line = ()


class Ground(Screen[None]):
    """What the board covers: it has nothing to show."""

    def render_lines(self, crop: Region) -> list[Strip]:  # noqa: ARG002
        """No rows."""
        return []


class Board(Widget, can_focus=True):
    """As many lines as it is high; `styles_of` maps roles to styles."""

    DEFAULT_CSS = "Board { width: 1fr; height: 1fr; background: transparent; }"

    def __init__(self, styles_of: Mapping[str, Style]) -> None:
        """`styles_of` has at least the role ""."""
        super().__init__()
        self.palette = styles_of
        self.shown: Sequence[Line] = ()
        self.writes = internals.has("rows")
        self.drawn = 0  # rows rendered since the start: what tests count
        self._strips: dict[int, tuple[int, Line, Strip]] = {}  # by row, with width and line

    def show(self, lines: Sequence[Line]) -> int:
        """Paint these lines; the number of rows that had to change."""
        old, self.shown = self.shown, lines
        width, height = self.size
        dirty = [
            y
            for y in range(height)
            if (old[y] if y < len(old) else BLANK) != (lines[y] if y < len(lines) else BLANK)
        ]
        if dirty and self.alone():
            internals.write_rows(self.screen, {y: self._strip(y, width) for y in dirty})
        elif dirty:
            self.refresh(*[Region(0, y, width, 1) for y in dirty])
        return len(dirty)

    def alone(self) -> bool:
        """Whether rows can be written at once.

        That is: this Textual lets us, nothing lies over the board, and Textual is not about to
        paint everything.
        """
        app = self.app
        return self.writes and len(app.screen_stack) == 1 and not internals.batches(app)

    def on_mount(self) -> None:
        """Now there is an application with filters."""
        self.wear(self.palette)

    def wear(self, styles_of: Mapping[str, Style]) -> None:
        """Change the colours: everything is painted once.

        Textual's filters (no colour, no dim …) go over the styles here, not over every line.
        """
        ink = [Segment(role, style) for role, style in styles_of.items()]
        for line_filter in self.get_line_filters():
            ink = line_filter.apply(ink, self.background_colors[1])
        self.palette = {role: style or Style.null() for role, style, _ in ink}
        self._strips.clear()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Some rows; those that did not change as they were."""
        width = self.size.width
        strips = [self._strip(y, width) for y in crop.line_range]
        whole = crop.column_span == (0, width)
        return strips if whole else [strip.crop(*crop.column_span) for strip in strips]

    def _strip(self, y: int, width: int) -> Strip:
        """A row; one that did not change as it was."""
        row = self.shown[y] if y < len(self.shown) else BLANK
        known = self._strips.get(y)
        if known is None or known[0] != width or (known[1] is not row and known[1] != row):
            known = self._strips[y] = width, row, self.render_line(y)
        return known[2]

    def render_line(self, y: int) -> Strip:
        """One row as Textual wants it."""
        self.drawn += 1
        palette = self.palette
        base = palette[""]
        row = self.shown[y] if y < len(self.shown) else BLANK
        strip = Strip([Segment(text, palette.get(role, base)) for text, role in row])
        return strip.adjust_cell_length(self.size.width, base)
