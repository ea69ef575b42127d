"""A capacity that the measured rate refutes is not given, and no limit carries more than the next.

What passes now can pass: a capacity below the rate has a formula whose assumptions do not hold here
(losses in bursts, a window that grew), or is of a moment before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from . import Limit, Reading
from .following import BINDS

ABOUT: Final = 1.5  # rate / capacity up to which both are the same, measured at different times


def bounded(limit: Limit) -> Limit:
    """The limit with capacities that agree with its rate and with one another."""
    rate = limit.rate or 0.0
    every = (limit.stage, *limit.ladder, *((limit.next,) if limit.next else ()))
    if not any(one.capacity and one.capacity[1] < rate for one in every):
        return _ordered(limit)
    stage, *ladder = (_carrying(one, rate) for one in (limit.stage, *limit.ladder))
    later = _carrying(limit.next, rate) if limit.next is not None else None
    if later is not None and later.capacity is None:
        later = None
    return _ordered(replace(limit, stage=stage, ladder=tuple(ladder), next=later))


def _carrying(one: Reading, rate: float) -> Reading:
    """The reading of a stage that carries at least this rate."""
    if one.capacity is None or one.capacity[1] >= rate:
        return one
    binds = one.held >= BINDS
    if binds and rate <= ABOUT * one.capacity[1]:
        return replace(one, capacity=(one.capacity[0], rate))
    used = one.utilisation if binds or one.kind != "computed" else None
    return replace(one, capacity=None, utilisation=used)


def _ordered(limit: Limit) -> Limit:
    """The limit, whose stage carries no more than the next one."""
    own, later = limit.stage.capacity, limit.next.capacity if limit.next is not None else None
    if own is None or later is None or sum(own) <= sum(later):
        return limit
    least = replace(limit.stage, capacity=(min(own[0], later[0]), min(own[1], later[1])))
    ladder = tuple(least if one == limit.stage else one for one in limit.ladder)
    return replace(limit, stage=least, ladder=ladder)
