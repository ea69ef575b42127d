"""The cursor: the id of the row that was painted under it.

Rows come and go, so a row number soon means another row. The cursor is therefore bound to the id of
its row when that row is painted, and a key acts on that id only.

Panes with keys that change or stop something declare `BOUND`. In other panes the cursor keeps its
place when rows move (flows: the busiest; history: now).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..views.scene import Scene
from ..views.view import View, chosen, under
from . import pane


def paged(view: View) -> bool:
    """Whether the pane shows the page of an opened row instead of its list."""
    return bool(view.spot.open) and pane(view.pane).PAGED


def target(view: View, scene: Scene) -> str:
    """The id under the cursor: of a finding, setting, queue, flow, result or change.

    `scene` is the one that was painted last. Empty if there is no row, before the first paint, and
    if the row of the cursor is gone.
    """
    if paged(view):
        return view.spot.open
    here = pane(view.pane)
    items = here.items(scene, view)
    if here.BOUND:
        return view.spot.on if view.spot.on in items else ""
    index = chosen(items, view.spot)
    return items[index] if 0 <= index < len(items) else view.spot.open


def moved(view: View, scene: Scene, by: int) -> View:
    """The cursor moved by `by` rows; on a page, the text scrolled."""
    items = pane(view.pane).items(scene, view)
    if paged(view) or not items:
        return view.at(top=max(0, view.spot.top + by))
    index = max(0, min(len(items) - 1, chosen(items, view.spot) + by))
    return view.at(on=items[index], index=index, top=0)


def next_part(view: View, scene: Scene, by: int) -> str:
    """The first row of the next part of the pane; empty behind the last one."""
    here = pane(view.pane)
    if here.boxes is None or view.spot.open or view.help:
        return ""
    parts = [rows for rows in here.boxes(scene, view) if rows]
    at = next((n for n, rows in enumerate(parts) if view.spot.on in rows), None)
    if at is None or not 0 <= at + by < len(parts):
        return ""
    return parts[at + by][0]


def among(view: View, every: Sequence[str], rows: Sequence[str], by: int) -> View:
    """The cursor moved among some of the pane's rows; on another one, to the first of them."""
    if not rows:
        return view
    at = rows.index(view.spot.on) + by if view.spot.on in rows else 0
    row = rows[max(0, min(len(rows) - 1, at))]
    return view.at(on=row, index=every.index(row), top=0)


def bound(view: View, scene: Scene) -> View:
    """The view after `scene` was painted under it: its cursor has the id of the painted row."""
    here = pane(view.pane)
    if not here.BOUND:
        return view
    first = here.start(scene, view) if here.start is not None and not view.spot.on else None
    if first == "":
        return view
    items = here.items(scene, view)
    at = under(items, view.spot)
    if first is not None:
        at = items.index(first) if first in items else -1
    if at < 0 or (view.spot.on == items[at] and view.spot.index == at):
        return view
    return view.at(on=items[at], index=at)


def kept(before: View, after: View, scene: Scene) -> View:
    """The view after a key; the cursor is reset if the key hid its row (filter, other NIC)."""
    here = pane(after.pane)
    hidden = (
        after.pane == before.pane
        and here.BOUND
        and after.spot.on
        and after.spot.on not in here.items(scene, after)
        and after.spot.on in here.items(scene, before)
    )
    return after.at(on="", index=0) if hidden else after
