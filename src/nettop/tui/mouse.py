"""The mouse: the next view after a press or click at some position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..panes import page, pane
from ..panes.cursor import moved
from ..terms.text import Line
from ..views.ask import Next
from ..views.scene import Scene, View
from . import keys


def clicked(at: tuple[int, int], rows: Sequence[Line], view: View, scene: Scene) -> Next:
    """A click: a pane's title in the footer opens the pane; a row gets the cursor, then opens.

    `at` is column and row; `rows` and `scene` are those that were painted last.
    """
    x, y = at
    width = sum(len(text) for text, _ in rows[-1]) if rows else 0
    name = page.pane_at(view, width, x)
    if y == len(rows) - 1 and name:
        return replace(view, pane=name, help=False), None
    here = next((n for n, row in enumerate(rows) if row and row[0][1].startswith("select")), None)
    if here is None:
        return view, None
    if here == y:
        return keys.act("enter", view, scene)
    return moved(view, scene, y - here), None


def moment(at: tuple[int, int], size: tuple[int, int], view: View, scene: Scene) -> float | None:
    """The moment under the mouse (monotonic seconds); None outside a graph over time."""
    (x, y), (width, height) = at, size
    moment_at = pane(view.pane).moment_at
    if moment_at is None or view.help or not 2 <= y < height - 1:
        return None
    return moment_at(scene, view, width, x)
