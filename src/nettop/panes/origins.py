"""From a figure to its source: the pane and the row that a stage or a value of evidence comes from.

A jump remembers the place before it, and Esc leads back there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..facts import Facts
from ..facts.flow_words import name, rate
from ..facts.limits import Limit
from ..facts.limits.stages import declared
from ..terms.dataclass import dataclass
from ..views.scene import Scene
from ..views.stages import flow_of
from ..views.view import Left, Spot, View

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding
    from ..facts.kinds.flow import Flow

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
    left = Left(view.pane, view.spots, view.nic, to.row if to.open else "")
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
