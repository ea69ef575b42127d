"""The facts of this host with what both ends know: one verdict on a flow, on every surface."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .. import Facts
from ..limits.bounds import bounded
from ..limits.interfaces import as_flow
from ..limits.ladder import labelled
from . import Joined


def with_ends(facts: Facts, joined: Iterable[Joined]) -> Facts:
    """The facts, where the verdict of both ends replaces that of this end, at its present rate.

    An interface that is limited as one of these flows follows it.
    """
    known = {one.limit.target: one.limit for one in joined}
    limits = []
    for one in facts.limits:
        name = one.flow if one.over == "nic" else one.target if one.over == "flow" else None
        both = known.get(name or "") if one.namespace is None else None
        if both is None or both.direction != one.direction:
            limits.append(one)
        elif one.over == "flow":
            limits.append(bounded(replace(both, rate=one.rate, since=one.since)))
        else:
            limits.append(bounded(as_flow(one, both)))
    return labelled(replace(facts, limits=tuple(limits))) if known else facts
