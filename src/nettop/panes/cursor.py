"""The cursor: the id of the row that was painted under it, and the rows that it jumps to.

Rows come and go, so a row number soon means another row. The cursor is therefore bound to the id of
its row when that row is painted, and a key acts on that id only.

Panes with keys that change or stop something declare `BOUND`. In other panes the cursor keeps its
place when rows move (flows: the busiest; history: now).

Enter on a stage or on a value of evidence leads to the pane and the row that it comes from. A jump
remembers the place before it, and Esc leads back there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..facts import Facts
from ..facts.flow_words import name, rate
from ..facts.limits import Limit
from ..facts.limits.stages import declared
from ..terms.dataclass import dataclass
from ..views.scene import Scene
from ..views.stages import flow_of
from ..views.view import Left, Spot, View, chosen, under
from . import pane

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding
    from ..facts.kinds.flow import Flow


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
    """The view after `scene` was painted under it: its cursor has the id of the painted row.

    Until a key or the mouse moves it, it stands on the first row that the pane names now.
    """
    here, spot = pane(view.pane), view.spot
    if not here.BOUND:
        return view
    free = here.start is not None and (spot.led or not spot.on)
    first = here.start(scene, view) if here.start is not None and free else None
    if first == "":
        return view
    items = here.items(scene, view)
    at = under(items, spot)
    if first is not None:
        at = items.index(first) if first in items else -1
    if at < 0 or (spot.on == items[at] and spot.index == at):
        return view
    return view.at(on=items[at], index=at, led=free)


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


DEPTH: Final = 8  # places that Esc leads back to
PANES: Final = {  # a kind of fact, and the pane that shows it
    **dict.fromkeys(("nic", "card", "bond", "path", "qdisc", "tunnel", "capture"), "nic"),
    **dict.fromkeys(("core", "queue", "irq"), "cores"),
    **dict.fromkeys(("flow", "process", "thread", "quota", "listener", "destination"), "flows"),
}


@dataclass(frozen=True, slots=True)
class Origin:
    """A pane and one of its rows; `nic` is the interface to select, None: as before."""

    pane: str
    row: str = ""
    nic: str | None = None
    open: bool = False  # show the row's detail


def jump(view: View, to: Origin) -> View:
    """The view at an origin; the place left is remembered."""
    left = Left(view.pane, view.at(on=view.spot.on).spots, view.nic, to.row if to.open else "")
    spot = Spot(on=to.row, open=to.row if to.open else "")
    nic = view.nic if to.nic is None else to.nic
    spots = {**view.spots, to.pane: spot}
    back = (*view.back[1 - DEPTH :], left)
    return replace(view, pane=to.pane, spots=spots, nic=nic, back=back, full=False)


def returned(view: View) -> View:
    """The view at the place that the last jump left; the same view without one."""
    if not view.back:
        return view
    left = view.back[-1]
    spots = left.spots
    return replace(view, pane=left.pane, spots=spots, nic=left.nic, back=view.back[:-1])


def of_flow(flow: Flow | None) -> Origin:
    """A flow opened in the pane of flows, or that pane."""
    return Origin("flows", flow.id, "", open=True) if flow is not None else Origin("flows", "", "")


def of_mark(mark: str) -> Origin:
    """The change or finding that a mark of the graph is about (`graph.id_of`)."""
    kind, _, row = mark.partition(":")
    return Origin("journal", row) if kind == "change" else Origin("advisor", row, open=True)


def of_stage(facts: Facts, limit: Limit, stage: str) -> Origin:
    """Where a stage of the limit band is shown in full."""
    nic = limit.nic or ""
    known = declared()[stage]
    if known.setting:
        return Origin("nic", f"{known.setting}@{nic}", nic)
    if known.cores:
        queue = next((queue for queue in facts.queues if queue.nic == nic), None)
        return Origin("cores", f"{queue.nic}/{queue.name}" if queue is not None else "", "")
    of = flow_of(facts, limit)
    near = [
        flow for flow in facts.flows if (name(flow), flow.namespace) == (of.target, of.namespace)
    ]
    beside = (flow for flow in facts.flows if flow.nic == nic)
    near += sorted(beside, key=lambda one: rate(one) or 0.0, reverse=True)
    return of_flow(near[0] if near else None)


def of_evidence(scene: Scene, finding: Finding, field: str) -> Origin | None:
    """Where the value of a field of a finding's evidence is shown; None if no pane shows it."""
    facts = scene.facts
    target = str(finding.target)
    pane = PANES.get(field.partition(".")[0])
    if facts is None or pane is None:
        return None
    device = target.partition("/")[0]
    flow = _flow(facts, target)
    if pane == "nic":
        if all(one.name != device for one in facts.nics):
            device = (flow.nic if flow is not None else None) or ""
        return Origin("nic", _setting(field, device), device or None)
    if pane == "flows":
        return of_flow(flow)
    core = target.removeprefix("cpu")
    queue = next(
        (one for one in facts.queues
         if target == f"{one.nic}/{one.name}" or str(one.cpu) == core or one.nic == device), None,
    )  # fmt: skip
    return Origin("cores", f"{queue.nic}/{queue.name}" if queue is not None else "", "")


def _flow(facts: Facts, target: str) -> Flow | None:
    """The flow that is a target, or the busiest one of a process that is."""
    return next((flow for flow in facts.flows if target in (flow.id, str(flow.pid))), None)


def _setting(field: str, nic: str) -> str:
    """`nic.ring.rx` is the setting `ring.rx@eth0`; a counter belongs to no setting."""
    parts = field.split(".")
    if len(parts) != 3 or parts[1] in ("per_s", "total"):
        return f"{declared()['ring'].setting}@{nic}" if "ring" in field else ""
    return f"{parts[1]}.{parts[2].removesuffix('_max').replace('_', '-')}@{nic}"
