"""What is under the cursor: an id, taken from the row that was painted there.

A row number would mean another row as soon as one comes or goes. So a cursor is bound to the id of
its row when that row is painted, and what a key acts on is that id and nothing else.
"""

from __future__ import annotations

from typing import Final

from ..views.scene import Scene, View, chosen, under
from . import pane

# The panes with keys that change or stop something. In the others the cursor stays where it is
# (flows: the busiest; history: now) and rows pass under it.
BOUND: Final = frozenset("overview advisor nic cores journal tests".split())


def target(view: View, scene: Scene) -> str:
    """What is under the cursor: the id of a finding, setting, queue, flow, result or change.

    `scene` is the one that was painted last. Empty where nothing is, where nothing was painted yet,
    and where the row is gone that the cursor was on.
    """
    if view.pane == "advisor" and view.spot.open:
        return view.spot.open
    items = pane(view.pane).items(scene, view)
    if view.pane in BOUND:
        return view.spot.on if view.spot.on in items else ""
    index = chosen(items, view.spot)
    return items[index] if 0 <= index < len(items) else view.spot.open


def bound(view: View, scene: Scene) -> View:
    """The view after `scene` was painted under it: its cursor is on the row that was painted."""
    if view.pane not in BOUND:
        return view
    items = pane(view.pane).items(scene, view)
    at = under(items, view.spot)
    if at < 0 or (view.spot.on == items[at] and view.spot.index == at):
        return view
    return view.at(on=items[at], index=at)


def kept(before: View, after: View, scene: Scene) -> View:
    """The view that a key made, its cursor freed if the key hid the row (a filter, another NIC)."""
    hid = (
        after.pane == before.pane
        and after.pane in BOUND
        and after.spot.on
        and after.spot.on not in pane(after.pane).items(scene, after)
        and after.spot.on in pane(before.pane).items(scene, before)
    )
    return after.at(on="", index=0) if hid else after
