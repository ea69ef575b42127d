"""The text of painted rows."""

import re

from nettop.panes import page
from nettop.terms.text import Line, text_of
from nettop.views.scene import Scene
from nettop.views.view import View


def above_footer(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The rows of the screen but a footer with the names of all panes: a new pane changes it."""
    rows = page.compose(scene, view, width, height)
    return rows[:-1] if text_of(rows[-1]).startswith(" 1") else rows


def words(rows: list[Line]) -> str:
    return "\n".join(text_of(row).rstrip() for row in rows) + "\n"


def bare(rows: list[Line]) -> str:
    """The text without the sides and the ends of the headings of frames."""
    shown = (re.sub(r"^[│╭├╰](─ )?|( ─)?[│╮┤╯]$", " ", text_of(row)) for row in rows)
    return "\n".join(text.rstrip() for text in shown) + "\n"
