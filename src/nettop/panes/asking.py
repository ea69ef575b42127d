"""The question before a write: what exactly would be done, and the keys."""

from __future__ import annotations

from dataclasses import replace

from ..terms.dataclass import dataclass
from ..terms.text import Line, cells, ends, fit_line, line
from ..views.scene import Question
from ..views.view import View
from .parts import section

INDENT = "     "  # of the further rows of a line that is too long


def place(view: View, question: Question) -> int:
    """The index of the sheet shown."""
    return view.sheet % max(1, len(question.sheets))


def needs(question: Question, view: View, width: int) -> int:
    """The number of lines that the longest sheet needs."""
    sheets = range(len(question.sheets))
    longest = max(
        (len(_rows(question, replace(view, sheet=at), width)) for at in sheets), default=0
    )
    return longest + 4 + any(name for name, _ in question.sheets)


def lines(question: Question, view: View, width: int, height: int) -> list[Line]:
    """The question over the pane: its sheet, scrolled, between the title and the keys."""
    name, _ = question.sheets[place(view, question)]
    many = len(question.sheets)
    pages = f"{place(view, question) + 1} of {many} ← →" if many > 1 else ""
    part = _part(question, view, width, height)
    out = [section(question.title, pages, width)]
    if name:
        out.append(line((f" {name}", "head")))
    out += [(), *part.rows[part.top : part.bottom]]
    out += [()] * (height - 1 - len(out))
    rest = len(part.rows) - part.bottom
    yes = question.yes
    if question.whole and max(part.bottom, view.read) < len(part.rows):
        yes = "show the rest first" if part.bottom > part.top else "needs a taller terminal"
    keys = line((" Enter ", "key"), (yes, "strong"), ("   Esc ", "key"), "cancel")
    keys += line(("   y ", "key"), "copy") if question.verb == "export" else ()
    more = line((f"{rest} more lines ↓ " if rest > 0 else "", "dim"))
    out = [*out[: height - 1], ends(keys, more, width)]
    return [fit_line(one, width) for one in out[: max(0, height)]]


def shown(question: Question, view: View, width: int, height: int) -> View:
    """The view after the question was painted in `height` lines: which rows have been shown.

    A row counts as read when all rows before it were on the screen too.
    """
    part = _part(question, view, width, height)
    read = max(view.read, part.bottom) if part.top <= view.read else view.read
    unread = len(part.rows) - read if question.whole else 0
    if part.bottom <= part.top:  # no row was on the screen
        unread = -1
    return replace(view, scroll=part.top, read=read, unread=unread)


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of a sheet, and which of them are on the screen."""

    rows: list[Line]
    top: int
    bottom: int


def _part(question: Question, view: View, width: int, height: int) -> _Part:
    rows = _rows(question, view, width)
    head = 2 + bool(question.sheets[place(view, question)][0])  # title, name, gap
    room = max(0, height - 1 - head)
    top = max(0, min(view.scroll, len(rows) - room))
    return _Part(rows, top, min(len(rows), top + room))


def _rows(question: Question, view: View, width: int) -> list[Line]:
    """The warnings, then the sheet; a line that is too long takes several rows."""
    _, body = question.sheets[place(view, question)]
    warnings = [line((f" ! {text}", "warn")) for text in question.warnings]
    return [part for row in (*warnings, *body) for part in wrapped(row, width)]


def wrapped(row: Line, width: int) -> list[Line]:
    """One line as several rows of at most `width` cells, broken at spaces if possible."""
    out: list[Line] = []
    now: list[tuple[str, str]] = []
    used = 0
    for text, role in row:
        rest = text
        while used + cells(rest) > width - 1:
            room = width - 1 - used
            fits = _fitting(rest, room)
            cut = rest.rfind(" ", 1, fits + 1)
            if used > len(INDENT) and (cut < 1 or cells(rest[:cut]) > room):
                cut = 0  # the whole word moves to the next row
            elif cut < 1:
                cut = fits
            now.append((rest[:cut], role))
            out.append(line(*now))
            rest = rest[cut:].lstrip(" ") if cut < len(rest) and rest[cut] == " " else rest[cut:]
            now, used = [(INDENT, "")], len(INDENT)
            if width <= len(INDENT) + 2:  # too narrow to indent
                now, used = [], 0
        now.append((rest, role))
        used += cells(rest)
    return [*out, line(*now)]


def _fitting(text: str, room: int) -> int:
    """The number of characters that fit into `room` cells; at least one."""
    count = used = 0
    while count < len(text) and used + cells(text[count]) <= room:
        used += cells(text[count])
        count += 1
    return max(1, count)
