"""A graph on the whole screen: that of the pane, else the rates of the interface."""

from __future__ import annotations

from ..terms.text import Line, line
from ..views.scene import Scene, nic_of
from ..views.view import View
from . import graph, pane, path
from .frame import inside, part


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """At most `height` lines of `width` cells."""
    own = pane(view.pane).large
    rows = own(scene, view, width, height) if own is not None else []
    if rows:
        return rows
    nic = nic_of(scene, view)
    drawn = graph.lines(scene, nic, inside(width, framed=True), height - 2) if nic else []
    if nic is None or not drawn:
        return [line((" no graph yet: it needs two samples and more room", "dim"))]
    return part(f"{nic.name} {graph.title(scene, nic)}", path.title(nic), drawn, width)
