"""Parts of a pane with a title: in a frame if there is room, else under a heading."""

from __future__ import annotations

from collections.abc import Sequence

from ..terms.text import Line, cells, crop, fit_line, line
from .parts import section


def part(
    title: str, remark: str, rows: Sequence[Line], width: int, *, framed: bool = True
) -> list[Line]:
    """The rows under their title and a remark; a frame takes a column at each side and two rows."""
    if not framed:
        return [section(title, remark, width), *rows]
    inner = width - 2
    side = ("│", "faint")
    body = [line(side, *fit_line(row, inner), side) for row in rows]
    return [_top(title, remark, width), *body, line((f"╰{'─' * inner}╯", "faint"))]


def _top(title: str, remark: str, width: int) -> Line:
    """The upper border with title and remark; the remark goes first where both have no room."""
    title = crop(title, max(0, width - 6))
    room = width - 6 - cells(title) - 2
    remark = remark if cells(remark) <= room else ""
    rule = width - 5 - cells(title) - (cells(remark) + 3 if remark else 0)
    head = line(("╭─", "faint"), (f" {title} ", "title"), ("─" * rule, "faint"))
    tail = line((f" {remark} ", "dim"), ("─", "faint")) if remark else ()
    return (*head, *tail, ("╮", "faint"))


def inside(width: int, *, framed: bool) -> int:
    """The columns for the rows of a part."""
    return width - 2 if framed else width


def filled(rows: Sequence[Line], height: int, framed: bool) -> list[Line]:
    """Rows of a frame, padded to its height; without a frame only the rows that fit."""
    blank = height - len(rows) if framed else 0
    return [*rows[:height], *([line()] * blank)]
