"""What the reader asks to see: keys that change the view and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ..facts import PROFILES
from ..panes import history, names, pane, tests
from ..panes.cursor import target
from ..panes.listed import listed
from ..views.scene import Scene, View, chosen

PAGE: Final = 10


def move(by: int) -> Callable[[View, Scene], View]:
    """The cursor so many rows further; on an open page, the text."""

    def moved(view: View, scene: Scene) -> View:
        items = pane(view.pane).items(scene, view)
        if (view.pane == "advisor" and view.spot.open) or not items:
            return view.at(top=max(0, view.spot.top + by))
        index = max(0, min(len(items) - 1, chosen(items, view.spot) + by))
        return view.at(on=items[index], index=index, top=0)

    return moved


def _page(by: int) -> Callable[[View, Scene], View]:
    def moved(view: View, scene: Scene) -> View:
        if view.pane == "advisor":
            return view.at(top=max(0, view.spot.top + by))
        return move(by)(view, scene)

    return moved


def _sideways(by: int) -> Callable[[View, Scene], View]:
    def moved(view: View, scene: Scene) -> View:
        if view.pane == "history":
            return move(-by)(view, scene)
        if view.pane == "tests":
            return choose(view, scene, by)
        return view.at(left=max(0, view.spot.left + by))

    return moved


def choose(view: View, scene: Scene, by: int) -> View:
    """The next choice of the test form's field under the cursor."""
    here = target(view, scene)
    now = tests.values(view)
    if here == "form.tool":
        known = scene.tools
        index = known.index(now["tool"]) if now["tool"] in known else 0
        return replace(view, form={**view.form, "tool": known[(index + by) % len(known)]})
    if here == "form.reverse":
        other = "no" if now["reverse"] == "yes" else "yes"
        return replace(view, form={**view.form, "reverse": other})
    return view


def _escape(view: View, scene: Scene) -> View:  # noqa: ARG001
    if view.spot.open:
        return view.at(open="", top=0)
    if view.marks and view.pane == "history":
        return replace(view, marks=())
    if view.spot.filter:
        return view.at(filter="")
    return view.at(on="", index=0, top=0) if view.pane == "history" else view


def _turn(by: int) -> Callable[[View, Scene], View]:
    def turn(view: View, scene: Scene) -> View:  # noqa: ARG001
        known = names()
        return replace(view, pane=known[(known.index(view.pane) + by) % len(known)], help=False)

    return turn


def sort(by: int, view: View) -> View:
    """Sorted by another column."""
    count = getattr(pane(view.pane), "SORTS", 1)
    return view.at(sort=(view.spot.sort + by) % count)


def muted(view: View, scene: Scene) -> View:
    """The first muted finding in the list of findings."""
    first = next((one.id for one in listed(scene) if one.state == "muted"), "")
    there = replace(view, pane="advisor", help=False)
    return there.at(on=first, open="", top=0, filter="") if first else there


def _interface(view: View, scene: Scene) -> View:
    known = (
        ["", *(n.name for n in scene.facts.nics if n.kind != "loopback")] if scene.facts else [""]
    )
    index = known.index(view.nic) if view.nic in known else 0
    return replace(view, nic=known[(index + 1) % len(known)])


def _profile(view: View, scene: Scene) -> View:  # noqa: ARG001
    known = ("", *PROFILES)
    return replace(view, profile=known[(known.index(view.profile) + 1) % len(known)])


def _zoom(by: int) -> Callable[[View, Scene], View]:
    def zoom(view: View, scene: Scene) -> View:  # noqa: ARG001
        return replace(view, zoom=max(0, min(len(history.SPANS) - 1, view.zoom + by)))

    return zoom


CHANGES: Final[dict[str, Callable[[View, Scene], View]]] = {
    "next": _turn(1), "previous": _turn(-1), "up": move(-1), "down": move(1),
    "left": _sideways(-1), "right": _sideways(1), "page_up": _page(-PAGE), "page_down": _page(PAGE),
    "first": move(-(10**9)), "last": move(10**9), "escape": _escape,
    "filter": lambda v, _s: replace(v, typing=True), "muted": muted,
    "invert": lambda v, _s: v.at(invert=not v.spot.invert), "interface": _interface,
    "profile": _profile, "fold": lambda v, _s: replace(v, fold=not v.fold),
    "raw": lambda v, _s: replace(v, raw=not v.raw),
    "reasons": lambda v, _s: replace(v, reasons=not v.reasons),
    "zoom_in": _zoom(-1), "zoom_out": _zoom(1),
    "pause": lambda v, _s: replace(v, paused=not v.paused),
    "help": lambda v, _s: replace(v, help=not v.help),
}  # fmt: skip
