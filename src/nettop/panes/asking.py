"""A question before something is written: what would be done, word for word, and the keys."""

from __future__ import annotations

from ..text import Line, ends, fit_line, line
from .parts import section
from .scene import Question, View


def place(view: View, question: Question) -> int:
    """Which of the question's sheets is shown."""
    return view.sheet % max(1, len(question.sheets))


def needs(question: Question) -> int:
    """The lines it takes to show the longest sheet whole."""
    longest = max((len(body) for _, body in question.sheets), default=0)
    named = any(name for name, _ in question.sheets)
    return longest + 4 + named + len(question.doubts)


def lines(question: Question, view: View, width: int, height: int) -> list[Line]:
    """The question over the pane: its sheet, scrolled, between the title and the keys."""
    here = place(view, question)
    name, body = question.sheets[here]
    many = len(question.sheets)
    out = [section(question.title, f"{here + 1} of {many} ← →" if many > 1 else "", width)]
    out += [fit_line(line((f" ! {told}", "warn")), width) for told in question.doubts]
    if name:
        out.append(line((f" {name}", "head")))
    out.append(())
    room = max(1, height - len(out) - 2)
    top = max(0, min(view.scroll, len(body) - room))
    out += body[top : top + room]
    rest = len(body) - top - room
    more = f"{rest} more lines ↓ " if rest > 0 else ""
    out += [()] * (height - 1 - len(out))
    keys = line(
        (" Enter ", "key"), (question.yes, "strong"), ("   Esc ", "key"), "leave it",
        ("   y ", "key"), "copy",
    )  # fmt: skip
    out = [*out[: height - 1], ends(keys, line((more, "dim")), width)]
    return [fit_line(one, width) for one in out]
