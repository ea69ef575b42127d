"""Keys that change the view only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ..facts import PROFILES
from ..panes import interfaces, names, origins, pane
from ..panes.cursor import moved
from ..views.scene import Scene
from ..views.view import View

Change = Callable[[View, Scene], View]
PAGE: Final = 10  # rows
MANY: Final = 16  # interfaces; of more, `i` passes those at rest that are not real


def _move(by: int) -> Change:
    """Move the cursor by `by` rows; on an open page, scroll the text."""

    def move(view: View, scene: Scene) -> View:
        own = pane(view.pane).updown
        return moved(view, scene, by) if own is None else own(view, scene, by)

    return move


def _page(by: int) -> Change:
    def page(view: View, scene: Scene) -> View:
        if pane(view.pane).PAGED:
            return view.at(top=max(0, view.spot.top + by))
        return moved(view, scene, by)

    return page


def _sideways(by: int) -> Change:
    return lambda view, scene: pane(view.pane).sideways(view, scene, by)


def _escape(view: View, scene: Scene) -> View:
    """What Esc does in the pane; else back to where Enter came from, else to the present."""
    if view.full:
        return replace(view, full=False)
    after = pane(view.pane).escape(view, scene)
    arrived = view.back and after.spot.open != view.spot.open == view.back[-1].opened
    if view.back and (after == view or arrived):
        return origins.returned(view)
    return replace(view, moment=0.0) if after == view else after


def _end(view: View, scene: Scene) -> View:
    """Back to the present; in the present the last row."""
    present = view.moment or pane(view.pane).TIMELINE
    return replace(view, moment=0.0) if present else _move(10**9)(view, scene)


def _detail(by: int) -> Change:
    """The detail of the next row; without an opened one, the next row."""

    def change(view: View, scene: Scene) -> View:
        here = pane(view.pane)
        rows = (here.details or here.items)(scene, view.at(open=""))
        if view.spot.open not in rows:
            return _move(by)(view, scene)
        at = max(0, min(len(rows) - 1, rows.index(view.spot.open) + by))
        return view.at(open=rows[at], on=rows[at], index=at, top=0, mode=0)

    return change


def _filter(view: View, scene: Scene) -> View:
    """Type a filter; an opened detail is closed, or the rows that match would not be seen."""
    here = pane(view.pane)
    opened = view.spot.open in (here.details or here.items)(scene, view.at(open=""))
    return replace(view.at(open="", top=0) if opened else view, typing=True)


def _turn(by: int) -> Change:
    def turn(view: View, scene: Scene) -> View:  # noqa: ARG001
        known = names()
        name = known[(known.index(view.pane) + by) % len(known)]
        return replace(view, pane=name, help=False, back=())

    return turn


def sort(by: int, view: View) -> View:
    """The view with the next sort order (or, with -1, the previous one)."""
    return view.at(sort=(view.spot.sort + by) % len(pane(view.pane).orders(view)))


def _interface(view: View, scene: Scene) -> View:
    """The next interface; of many only real ones, and those that move or lose data."""
    nics = [nic for nic in scene.facts.nics if nic.kind != "loopback"] if scene.facts else []
    if len(nics) > MANY:
        some = {nic.name for nic in interfaces.mattering(interfaces.known(scene), None)}
        nics = [nic for nic in nics if nic.kind == "nic" or nic.name in {*some, view.nic}]
    known = ["", *(nic.name for nic in nics)]
    index = known.index(view.nic) if view.nic in known else 0
    return replace(view, nic=known[(index + 1) % len(known)])


def _profile(view: View, scene: Scene) -> View:  # noqa: ARG001
    known = ("", *PROFILES)
    return replace(view, profile=known[(known.index(view.profile) + 1) % len(known)])


CHANGES: Final[dict[str, Change]] = {
    "next": _turn(1), "previous": _turn(-1), "up": _move(-1), "down": _move(1),
    "left": _sideways(-1), "right": _sideways(1), "page_up": _page(-PAGE), "page_down": _page(PAGE),
    "first": _move(-(10**9)), "last": _move(10**9), "end": _end, "escape": _escape,
    "next_detail": _detail(1), "previous_detail": _detail(-1),
    "filter": _filter,
    "invert": lambda v, _s: v.at(invert=not v.spot.invert), "interface": _interface,
    "profile": _profile, "fold": lambda v, _s: pane(v.pane).fold(v),
    "driver_names": lambda v, _s: replace(v, driver_names=not v.driver_names),
    "reasons": lambda v, _s: replace(v, reasons=not v.reasons),
    "full": lambda v, _s: replace(v, full=not v.full),
    "pause": lambda v, _s: replace(v, paused=not v.paused),
    "help": lambda v, _s: replace(v, help=not v.help),
}  # fmt: skip
