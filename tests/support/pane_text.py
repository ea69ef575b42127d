"""The text of painted rows."""

from __future__ import annotations

from nettop.terms.text import Line, text_of


def words(rows: list[Line]) -> str:
    return "\n".join(text_of(row).rstrip() for row in rows) + "\n"
