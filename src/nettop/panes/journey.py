"""Where packets wait on their way through this host: the page of key J, over any pane.

It is of the flow under the cursor, of the interface that is shown, or of the whole host.
"""

from __future__ import annotations

from typing import Final

from ..terms.text import Line, fit, fit_line, line, wrap
from ..terms.units import amount, seconds
from ..views.scene import Scene, nic_of, only
from ..views.view import View
from . import cursor
from .frame import drawn_inside
from .parts import section

TABLES: Final = ("journeys",)  # read only while it is shown
_WIDTHS: Final = (12, 10, 10, 10, 10)  # columns of the table
_BEGINS: Final = "the programs in the kernel begin to look"


def of(scene: Scene, view: View) -> str:
    """The packets whose journey key J shows, as `View.journey` has it."""
    from ..facts.journey import EVERY  # no other page needs it

    if view.pane == "flows" and scene.facts is not None:
        here = view.spot.open or cursor.target(view, scene)
        flow = next((flow for flow in scene.facts.flows if flow.id == here), None)
        if flow is not None:
            ports = [port for port in (flow.local_port, flow.remote_port) if port]
            return ">".join(f":{port}" for port in ports) or EVERY
    nic = nic_of(scene, view)
    return nic.name if nic and view.pane == "nic" else only(scene, view) or EVERY


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The stages side by side, what waited long and for whom, and what is not known."""
    return drawn_inside(lambda inner, room: _rows(scene, view, inner)[:room], width, height)


def _rows(scene: Scene, view: View, width: int) -> list[Line]:
    from ..facts import journey

    whose = "the whole host" if view.journey == journey.EVERY else view.journey
    title = section(f"JOURNEY of {whose}", "Esc back", width)
    frame = scene.frame
    rows = frame.rows("journeys") if frame is not None else ()
    if frame is None or not rows:
        why = frame.missing.get("journeys", "") if frame is not None else ""
        told = f"the journey of packets cannot be seen: {why}" if why else _BEGINS
        return [title, *(line((f" {row}", "warn" if why else "dim")) for row in wrap(told, width))]
    nics = {str(row.index): row.interface for row in frame.rows("links")}
    target = journey.target(view.journey, nics) or journey.Target()
    own = journey.chosen(rows, target)
    known = journey.stages(own, nics)
    drops = frame.rows("drop_reasons") if "drop_reasons" in frame.tables else None
    first = journey.foremost(known)
    heads = ("stage", "packets", "p50", "p99", "longest")
    table = [line((" " + _cells(heads), "head"))]
    for one in known:
        figures = (amount(one.packets), *map(seconds, (one.p50, one.p99, one.longest)))
        role = "warn" if first is one else "" if one.packets else "dim"
        row = line((" " + _cells((one.stage, *figures)), role),
                   (f"  {journey.BRIEF[one.stage]}", "dim"))  # fmt: skip
        table.append(fit_line(row, width))
    waits = journey.sentences(known, journey.losses(own, drops))
    told = f"packets wait longest: {journey.MEANS[first.stage]}" if first else journey.queued(known)
    texts = [(told, "strong")] if told else []
    texts += [(sentence, "") for sentence in waits or ([] if told else ["no packet waited long"])]
    texts += [(journey.UNSEEN, "dim")]
    texts += [(why, "dim") for why in filter(None, [frame.missing.get("journeys")])]
    body = (line((f" {row}", role)) for text, role in texts for row in wrap(text, width - 2))
    return [title, *table, (), *body]


def _cells(texts: tuple[str, ...]) -> str:
    first, *others = zip(texts, _WIDTHS, strict=True)
    return fit(*first) + "".join(fit(text, width, ">") for text, width in others)
