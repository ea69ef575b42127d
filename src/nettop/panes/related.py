"""The finding that belongs to a limit: its fix is what to do about that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..facts.limits import Limit, words
from ..facts.limits.stages import declared
from ..views.scene import Scene
from ..views.stages import PROGRAM, at_fault, flow_of, moves

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding

HOST: Final = "host"  # target of a finding about the whole host
ADVISED: Final = ("critical", "warning", "advice")


def related(scene: Scene, limit: Limit) -> Finding | None:
    """The finding of the limit: the first about what limits, or the host, that relieves the stage.

    Where this host is at fault, else the first serious one about it; where its program offers no
    more, about the flow: a finding that would let it offer more. None: there is none.
    """
    facts = scene.facts
    if facts is None or not moves(limit):
        return None
    flow = flow_of(facts, limit)
    if scene.peer is not None and words.away(limit.stage):
        near, every = [], scene.peer.findings
    else:
        near = [one for one in scene.findings if about(one, limit, flow)]
        every = (*near, *(one for one in scene.findings if one.target == HOST))
    for stage in (limit.stage.stage, *limit.joint):
        if (own := next((one for one in every if stage in one.relieves), None)) is not None:
            return own
    serious = [one for one in near if one.severity in ADVISED]
    if offers(limit):
        serious = [one for one in serious if _of_its_flow(one, limit, flow)]
    return next(iter(serious), None) if at_fault(limit) or offers(limit) else None


def offers(limit: Limit) -> bool:
    """Whether the program of this host decides how much there is to move."""
    stage = declared()[limit.stage.stage]
    return limit.stage.end == "here" and stage.bar == PROGRAM and not stage.fault


def about(finding: Finding, limit: Limit, flow: Limit) -> bool:
    """Whether a finding concerns the interface, the process or the flow that limits."""
    near = (limit.nic, limit.target)
    return str(finding.target).partition("/")[0] in near or _of_its_flow(finding, limit, flow)


def _of_its_flow(finding: Finding, limit: Limit, flow: Limit) -> bool:
    name = str(finding.target)
    whole = name.endswith(f":{flow.target.replace('>', '-')}")
    return whole or name.partition("/")[0] == str(limit.pid) or f"[{limit.pid}]" in finding.about
