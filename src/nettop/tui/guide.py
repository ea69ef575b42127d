"""The help: the symbols of the pane, then the table of keys."""

from __future__ import annotations

from ..panes import pane
from ..panes.grid import beside
from ..terms.text import Line, fit, line, wrap
from ..views.scene import View
from .keys import GROUPS, KEYS, shown_as


def help_lines(view: View, width: int, height: int) -> list[Line]:
    """The symbols of the pane, then the table of keys in as many columns as needed.

    If there is not enough room, first the headings of the keys are left out, then the symbols.
    """
    entries: list[Line] = []
    for group in GROUPS:
        entries.append(line((f" {group.upper()}", "title")))
        entries += [
            line((fit(f"  {shown_as(key)}", 13), "key"), key.help)
            for key in KEYS
            if key.group == group
        ]
        entries.append(())
    here = pane(view.pane)
    symbols = [line((f" {here.TITLE.upper()}", "title"))]
    symbols += [*(line((f" {text}", "")) for text in wrap(here.LEGEND, min(width, 110) - 2)), ()]
    bare = [row for row in entries if row and row[0][1] == "key"]
    across = max(1, min(3, width // 39))
    layouts = [(symbols, entries), (symbols, bare), ([], entries), ([], bare)]
    for above, rows in layouts:
        room = height - len(above)
        if -(-len(rows) // across) <= room:
            break
    while across > 1 and -(-len(rows) // (across - 1)) <= room:
        across -= 1  # wider columns
    deep = -(-len(rows) // across)
    columns = [rows[at : at + deep] for at in range(0, len(rows), deep)]
    return [*above, *beside(columns, width // across, width)][:height]
