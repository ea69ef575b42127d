"""The one widget of the screen: it repaints only the rows that changed, from the first change on.

Textual writes every row that is marked dirty, whether it changed or not, so the board compares rows
itself. Each row sets its own background, because the Line API paints none.

While no other screen covers the board, changed rows are written directly: marking them dirty costs
as much as composing them (an idle message, a timer, a search of the layout). Otherwise Textual asks
every widget for all rows from the first dirty one to the last; therefore the board caches its
strips, and the screen below it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from ..terms.text import Line, line_cells
from ..views.scene import Scene
from . import internals

BLANK: Line = ()


class Tick(Message):
    """A change of the scene; of several that are queued only the last is drawn."""

    def __init__(self, update: Callable[[Scene], Scene]) -> None:
        """`update` gives the new scene from the old one."""
        super().__init__()
        self.update = update


class Ground(Screen[None]):
    """The screen below the board: it is empty."""

    def render_lines(self, crop: Region) -> list[Strip]:  # noqa: ARG002
        """No rows."""
        return []


class Board(Widget, can_focus=True):
    """The lines of the screen; `styles_of` maps roles to styles."""

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
        """Paint these lines; returns the number of rows that changed."""
        old, self.shown = self.shown, lines
        width, height = self.size
        dirty = [
            y
            for y in range(height)
            if (old[y] if y < len(old) else BLANK) != (lines[y] if y < len(lines) else BLANK)
        ]
        if dirty and self.alone():
            pieces = {y: self._piece(old[y] if y < len(old) else BLANK, y, width) for y in dirty}
            internals.write_rows(self.screen, pieces)
        elif dirty:
            self.refresh(*[Region(0, y, width, 1) for y in dirty])
        return len(dirty)

    def alone(self) -> bool:
        """Whether rows can be written directly.

        This version of Textual must have the private names, no other screen may cover the board,
        and Textual must not be about to paint everything.
        """
        app = self.app
        return self.writes and len(app.screen_stack) == 1 and not internals.batches(app)

    def on_mount(self) -> None:
        """Apply the filters of the application to the styles."""
        self.set_palette(self.palette)

    def set_palette(self, styles_of: Mapping[str, Style]) -> None:
        """Change the colours and paint everything.

        Textual's filters (no colour, no dim …) are applied to the styles here, not to every line.
        """
        samples = [Segment(role, style) for role, style in styles_of.items()]
        for line_filter in self.get_line_filters():
            samples = line_filter.apply(samples, self.background_colors[1])
        self.palette = {role: style or Style.null() for role, style, _ in samples}
        self._strips.clear()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strips of some rows; unchanged rows come from the cache."""
        width = self.size.width
        strips = [self._strip(y, width) for y in crop.line_range]
        whole = crop.column_span == (0, width)
        return strips if whole else [strip.crop(*crop.column_span) for strip in strips]

    def _strip(self, y: int, width: int) -> Strip:
        """The strip of a row, from the cache if the row is unchanged."""
        row = self.shown[y] if y < len(self.shown) else BLANK
        known = self._strips.get(y)
        if known is None or known[0] != width or (known[1] is not row and known[1] != row):
            known = self._strips[y] = width, row, self._rendered(row, width)
        return known[2]

    def _piece(self, before: Line, y: int, width: int) -> tuple[int, Strip]:
        """A row from its first change on, and the column where that begins."""
        row = self.shown[y] if y < len(self.shown) else BLANK
        pairs = enumerate(zip(before, row, strict=False))
        same = next((at for at, (old, new) in pairs if old != new), min(len(before), len(row)))
        column = line_cells(row[:same])
        return column, self._rendered(row[same:], width - column)

    def render_line(self, y: int) -> Strip:
        """One row as a Textual strip."""
        return self._strip(y, self.size.width)

    def _rendered(self, row: Line, width: int) -> Strip:
        """The strip of a line, which has its width unless the size has just changed."""
        self.drawn += 1
        palette = self.palette
        base = palette[""]
        segments = [Segment(text, palette.get(role, base)) for text, role in row]
        if line_cells(row) == width:  # Textual would measure each segment again
            return Strip(segments, width)
        return Strip(segments).adjust_cell_length(width, base)
