"""The text of painted rows."""

import re

from nettop.terms.text import Line, text_of


def words(rows: list[Line]) -> str:
    return "\n".join(text_of(row).rstrip() for row in rows) + "\n"


def bare(rows: list[Line]) -> str:
    """The text without the sides and the ends of the headings of frames."""
    shown = (re.sub(r"^[│╭├╰](─ )?|( ─)?[│╮┤╯]$", " ", text_of(row)) for row in rows)
    return "\n".join(text.rstrip() for text in shown) + "\n"
