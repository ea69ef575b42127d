"""The one widget: paints lines made elsewhere, and repaints only the rows that changed.

Textual writes what is called dirty, whether it changed or not; so the comparison is made here, and
the row is its grain. Each row carries its own background: the Line API paints none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from ..text import Line

BLANK: Line = ()


class Board(Widget, can_focus=True):
    """As many lines as it is high; `styles_of` maps roles to styles."""

    DEFAULT_CSS = "Board { width: 1fr; height: 1fr; background: transparent; }"

    def __init__(self, styles_of: Mapping[str, Style]) -> None:
        """`styles_of` has at least the role ""."""
        super().__init__()
        self.palette = styles_of
        self.shown: Sequence[Line] = ()
        self.drawn = 0  # rows rendered since the start: what tests count

    def show(self, lines: Sequence[Line]) -> int:
        """Paint these lines; the number of rows that had to change."""
        old, self.shown = self.shown, lines
        width, height = self.size
        dirty = [
            Region(0, y, width, 1)
            for y in range(height)
            if (old[y] if y < len(old) else BLANK) != (lines[y] if y < len(lines) else BLANK)
        ]
        if dirty:
            self.refresh(*dirty)
        return len(dirty)

    def wear(self, styles_of: Mapping[str, Style]) -> None:
        """Change the colours: everything is painted once."""
        self.palette = styles_of
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One row as Textual wants it."""
        self.drawn += 1
        palette = self.palette
        base = palette[""]
        row = self.shown[y] if y < len(self.shown) else BLANK
        strip = Strip([Segment(text, palette.get(role, base)) for text, role in row])
        return strip.adjust_cell_length(self.size.width, base)
