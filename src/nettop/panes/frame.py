"""Parts of a pane with a title: in a frame if there is room, else under a heading."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..terms.text import Line, cells, crop, fit_line, line, line_cells, text_of
from .parts import section

FRAMED: Final = 30  # rows from which parts have frames
_NARROW: Final = 70  # columns below which a frame's sides would cost what rows say
_SIDE: Final = ("│", "faint")
_RULE: Final = 4  # columns of a heading's rule at least, so that corners can be cut out of it


def part(
    title: str, remark: str, rows: Sequence[Line], width: int, *, framed: bool = True
) -> list[Line]:
    """The rows under their title and a remark; a frame takes a column at each side and two rows."""
    if not framed:
        return [section(title, remark, width), *rows]
    inner = width - 2
    body = [(_SIDE, *fit_line(row, inner), _SIDE) for row in rows]
    return [_top(title, remark, width), *body, line((f"╰{'─' * inner}╯", "faint"))]


def _top(title: str, remark: str, width: int) -> Line:
    """The upper border with title and remark; the remark goes first where both have no room."""
    if not title:
        return line((f"╭{'─' * (width - 2)}╮", "faint"))
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


def roomy(width: int, height: int) -> bool:
    """Whether a pane of that size has frames."""
    return height >= FRAMED and width >= _NARROW


def enclosed(rows: Sequence[Line], width: int, height: int, title: str = "") -> list[Line]:
    """A frame of `height` lines around rows of `inside` columns; headings join its sides.

    The first heading is the upper border; rows that begin without one have a border above them,
    with the title. So a frame costs one row, or two.
    """
    inner = width - 2
    head = [] if rows and _is_heading(rows[0]) else [_top(title, "", width)]
    room = max(0, height - 1 - len(head))
    out = [*head]
    for row in filled(rows, room, framed=True):
        if _is_heading(row):
            out.append(_joined(row, "├┤" if out else "╭╮", inner))
        else:
            out.append((_SIDE, *fit_line(row, inner), _SIDE))
    return [*out, line((f"╰{'─' * inner}╯", "faint"))][:height]


def drawn_inside(rows: Callable[[int, int], list[Line]], width: int, height: int) -> list[Line]:
    """The rows for the width and height that a frame leaves, in that frame if there is room."""
    framed = roomy(width, height)
    inner, room = inside(width, framed=framed), height - framed
    out = [fit_line(one, inner) for one in rows(inner, room)[:room]]
    return enclosed(out, width, height) if framed else out


def _is_heading(row: Line) -> bool:
    return any(role == "title" for _, role in row)


def _joined(row: Line, ends: str, width: int) -> Line:
    """A heading whose rule goes on to both sides of a frame, where it has room for that."""
    parts = list(fit_line(row, width))
    rules = [at for at, (text, role) in enumerate(parts)
             if role == "faint" and len(text) >= _RULE and not text.strip("─")]  # fmt: skip
    if rules:
        parts[rules[-1]] = (parts[rules[-1]][0][2:], "faint")
        parts = [("─", "faint"), *parts, ("─", "faint")]
    return ((ends[0], "faint"), *parts, (ends[1], "faint"))


def abreast(left: Sequence[Line], right: Sequence[Line]) -> list[Line]:
    """Two parts of equal heights side by side."""
    return [(*one, *other) for one, other in zip(left, right, strict=True)]


def filled(rows: Sequence[Line], height: int, framed: bool) -> list[Line]:
    """Rows of a frame, padded to its height; without a frame only the rows that fit."""
    blank = height - len(rows) if framed else 0
    return [*rows[:height], *([line()] * blank)]


def closed(rows: Sequence[Line], height: int) -> list[Line]:
    """The upper rows, the others being covered; a frame that is covered in part keeps its end."""
    kept, last = list(rows[:height]), rows[max(0, height - 1) :]
    corners = [text_of(row)[:1] for row in last]
    if kept and len(last) > 1 and corners.pop() == "╰" and not {*corners} & {"╭", "╰"}:
        kept[-1] = last[-1]
    return kept


def in_border(row: Line, last: Sequence[Line]) -> Line | None:
    """The text of a row in the lower border that ends `last`; None without one, or without room."""
    told, role = text_of(row).strip(), row[0][1]
    width = line_cells(last[-1]) if last and text_of(last[-1])[:1] == "╰" else 0
    rule = width - cells(told) - 5
    if rule < 1:
        return None
    return line(("╰─", "faint"), (f" {told} ", role), ("─" * rule + "╯", "faint"))
