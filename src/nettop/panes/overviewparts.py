"""The parts of Overview below the limit: rates, interfaces, cores, flows, each under its title."""

from __future__ import annotations

from ..facts.flow_words import rate
from ..terms.text import Line, fit, line, text_of
from ..terms.units import many, percent
from ..views.scene import Scene, nic_of
from ..views.view import View
from . import corelist, flowlist, graph, grid, interfaces, loads
from .frame import filled, inside, part
from .overviewrows import FLOW, MARK
from .parts import GLYPHS, section


def rates(scene: Scene, view: View, width: int, rows: int, *, framed: bool) -> list[Line]:
    """The graph of the interface in `rows` lines and its title; [] before there are two samples."""
    nic = nic_of(scene, view)
    if nic is None:
        return []
    on = view.spot.on.removeprefix(MARK)
    drawn = graph.lines(scene, nic, inside(width, framed=framed), rows, on)
    if not drawn:
        return []
    return part(f"{nic.name} {graph.title(scene, nic)}", interfaces.title(nic), drawn, width,
                framed=framed)  # fmt: skip


def ports(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The table of interfaces in `height` lines and its title; [] where it has no room."""
    table = interfaces.lines(scene, view, width - 2, height)
    title = f"INTERFACES · {scene.window}"
    return part(title, "wire · i interface", table, width) if table else []


def cores(scene: Scene, view: View, width: int, height: int, *, framed: bool) -> list[Line]:
    """The load of the cores in `height` lines and their title; why they cannot be read."""
    facts = scene.facts
    if facts is None:
        return []
    if facts.missing and not facts.cores:
        return unread(scene, width)
    inner = inside(width, framed=framed)
    idle = f"idle {percent(facts.host.idle)}" if facts.host.idle is not None else ""
    many = len(facts.cores) > grid.MANY
    map_to = f"full height: {grid.scale(facts.cores):g}%" if many else ""
    rows = grid.block(facts, inner, height, corelist.core_of(view.spot.on))
    bars = grid.named(facts.cores) and not any(GLYPHS in text_of(row) for row in rows)
    remark = "  ".join(filter(None, (GLYPHS if bars else "", map_to, idle)))
    if framed and (not many or height - len(rows) >= loads.LEAST):
        rows += loads.load(scene, inner, height - len(rows))
    return part(f"CORES · {scene.last}", remark, filled(rows, height, framed), width, framed=framed)


def flows(scene: Scene, view: View, width: int, height: int, *, framed: bool) -> list[Line]:
    """The busiest flows in `height` lines and their title."""
    inner = inside(width, framed=framed)
    known = flowlist.busiest(scene)
    rows = flowlist.lines(scene, known, inner, height, view.spot.on.removeprefix(FLOW))
    if not rows:
        rows = [line((f" {_no_flow(scene)}", "dim"))]
    title = f"FLOWS · {scene.window}"
    told = (many(len(known), "flows"), flowlist.payload(scene, known))
    remark = " · ".join(filter(None, told)) if known else ""
    return part(title, remark, filled(rows, height, framed), width, framed=framed)


def _no_flow(scene: Scene) -> str:
    """Why no flow is listed."""
    why = scene.facts.missing.get("sockets_tcp") if scene.facts is not None else None
    if why:
        return f"flows cannot be read: {why}"
    if scene.facts is not None and any(rate(one) is None for one in scene.facts.flows):
        return "the rates of the flows are not known yet"
    return "no TCP flow of this host carries data now"


def unread(scene: Scene, width: int) -> list[Line]:
    """The tables that could not be read, with the reasons."""
    missing = scene.facts.missing if scene.facts is not None else {}
    out = [section("NOT READ", "", width)]
    out += [
        line((fit(f" {name}", 16), "head"), (why, "")) for name, why in sorted(missing.items())[:8]
    ]
    return out
