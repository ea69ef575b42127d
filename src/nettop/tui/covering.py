"""Keys while something covers the pane: a question, which they answer, or the help."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ..panes import asking
from ..terms.text import text_of
from ..views.ask import Ask, Next
from ..views.scene import Question
from ..views.view import View

PAGE: Final = 10  # rows
FAR: Final = 10**9  # rows: to the first or the last
ROWS: Final = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -PAGE, "pagedown": PAGE}  # of a text
IN_HELP: Final = ("ctrl+c", "ctrl+q", "ctrl+z")  # what works also while the help is open


def question_key(name: str, view: View, question: Question) -> Next:
    """A key while a question is open: Enter agrees, Esc cancels, ← → show its other sheets.

    The text of an export is copied with y; in other questions y might be typed for yes. While some
    rows have not been on the screen, Enter scrolls to them. Before any row was on the screen, Enter
    was typed for something else and does nothing.
    """
    if name == "enter" and view.unread < 0:
        return view, None
    if name == "enter" and view.unread:
        return replace(view, scroll=view.read), None
    if name == "enter":
        return view, Ask("agree", value=question.sheets[asking.place(view, question)][0])
    if name in ("escape", "q", "n"):
        return view, Ask("dismiss")
    if name == "y" and question.verb == "export":
        _, body = question.sheets[asking.place(view, question)]
        return view, Ask("copy", value="\n".join(text_of(row).rstrip() for row in body))
    turn = {"left": -1, "h": -1, "right": 1, "l": 1, "tab": 1, "shift+tab": -1}.get(name)
    if turn is not None:
        sheet = asking.place(view, question) + turn
        return replace(view, sheet=sheet, scroll=0, read=0, unread=-1), None
    return replace(view, scroll=max(0, view.scroll + ROWS.get(name, 0))), None


def help_key(name: str, view: View) -> View:
    """A key while the help is open: it scrolls or closes it, and does nothing below it."""
    if name in ("escape", "question_mark", "?", "f1", "q", "enter"):
        return replace(view, help=False, scroll=0)
    rows = ROWS.get(name) or {"g": -FAR, "home": -FAR, "G": FAR, "end": FAR, "space": PAGE}.get(
        name
    )
    return replace(view, scroll=max(0, view.scroll + (rows or 0)))
