"""Interfaces whose own stages are not full: each is limited as the flow that stands for it.

That is its largest flow. One that was named stays while it moves half as much as the largest, since
flows of about the same rate take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import Final

from ...terms.dataclass import dataclass
from ..flow_words import MOST
from . import Limit, Reading
from .following import following
from .words import UNREAD

SHARE: Final = 0.5  # of the highest rate: a flow that was named stays while it moves this much

_Flow = tuple[str, str, str | None]  # target, direction, namespace: two may use one address


def flow_key(limit: Limit) -> _Flow:
    """Which direction of which flow a limit is of."""
    return limit.target, limit.direction, limit.namespace


def foremost(flows: Sequence[Limit], last: _Flow | None) -> Limit | None:
    """The flow that stands for these; `last`: the key of the one that did so before."""
    largest = max(flows, key=lambda one: one.rate or 0.0, default=None)
    same = next((one for one in flows if flow_key(one) == last), None)
    if largest is None or same is None:
        return largest
    return same if (same.rate or 0.0) >= SHARE * (largest.rate or 0.0) else largest


@dataclass(slots=True)
class Interfaces:
    """Remembers the flow that stands for each direction of an interface."""

    last: dict[object, _Flow] = field(default_factory=dict)

    def build(
        self, nics: Sequence[Limit], flows: Sequence[Limit], *, read: bool = True
    ) -> list[Limit]:
        """The limits of the interfaces, from their own stages and the limits of flows.

        `read`: whether the TCP sockets were read; else that no flow waits is not known.
        """
        by_way: dict[object, list[Limit]] = {}
        for flow in flows:
            if flow.over == "flow":
                by_way.setdefault(_way(flow), []).append(flow)
        chosen = {way: foremost(some, self.last.get(way)) for way, some in by_way.items()}
        self.last = {way: flow_key(one) for way, one in chosen.items() if one is not None}
        out = []
        for one in nics:
            named = chosen.get(_way(one))
            own = one.stage.stage != "unknown"
            out.append(
                one if own else as_flow(one, named) if named is not None else _idle(one, read)
            )
        return out


def _way(limit: Limit) -> object:
    """A direction of an interface, in its namespace; of a flow, that of its interface."""
    return limit.namespace, limit.nic, limit.device, limit.direction


def as_flow(one: Limit, flow: Limit) -> Limit:
    """An interface that is limited as the flow that stands for it.

    The capacities are those of the interface only if that flow is most of its rate.
    """
    own = {(step.stage, step.end): step for step in one.ladder if step.stage != "unknown"}
    alone = (flow.rate or 0.0) >= MOST * (one.rate or 0.0)

    def shown(step: Reading) -> Reading:
        return own.pop((step.stage, step.end), None) or (
            step if alone else replace(step, capacity=None)
        )

    why = f"its flow {flow.target}: {flow.stage.because}"
    first = replace(shown(flow.stage), because=why, name=flow.stage.name)
    rest = [shown(step) for step in flow.ladder if step is not flow.stage]
    ladder = (first, *rest, *own.values())
    whole = replace(one, stage=first, joint=flow.joint, ladder=ladder,
                    pid=flow.pid, process=flow.process, flow=flow.target)  # fmt: skip
    return replace(whole, next=flow.next if alone else following(whole))


@lru_cache(maxsize=256)  # on a quiet host the same verdicts come back each second
def _idle(one: Limit, read: bool) -> Limit:
    """An interface on which no flow of this host wants to move more, as far as they are read."""
    if one.direction == "tx":
        why = "nothing waits to be sent: no TCP flow of this host wants more" if read else UNREAD
        stage = Reading("application", "here", "programs of this host", "inferred", why, None)
    else:
        why = "no data waits at this end: the senders send no more" if read else UNREAD
        stage = Reading("peer", "there", "senders", "inferred", why, None)
    rest = tuple(step for step in one.ladder if step.stage != "unknown")
    idle = replace(one, stage=stage, ladder=(stage, *rest))
    return replace(idle, next=following(idle))
