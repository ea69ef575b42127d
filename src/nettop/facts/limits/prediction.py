"""The rate to expect once a stage no longer limits: the ladder of the limit without that stage.

The next stage by capacity then limits, so its capacity is the most that the rate can become. The
least is the rate of now: a fix that lifts a limit may still change nothing. A stage bounds the rate
only if its capacity does not itself depend on what is lifted:

- The congestion window grows until the path loses segments. The peer's window follows the rate
  (tcp_rcv_space_adjust(), net/ipv4/tcp_input.c). Neither is a bound while it is not full.
- A full queue delays packets and drops them. Windows and losses of that moment say nothing about
  the path without this queue.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from . import Interval, Limit, Reading
from .following import BINDS, FED_BACK, GROWS, QUEUES

FEWEST: Final = 3  # proofs of a rule, before its predictions are called wrong


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the proofs of this host say about the predictions of one rule."""

    count: int  # proofs that measured what was predicted
    inside: int  # of these, those that measured a rate in the predicted interval
    error: float = 0.0  # median of predicted / measured - 1; predicted: by the next stage

    @property
    def failed(self) -> bool:
        """Whether fewer than half of at least `FEWEST` predictions were right."""
        return self.count >= FEWEST and 2 * self.inside < self.count


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a fix may bring to one flow or interface."""

    limit: Limit  # before the fix
    rate: Interval  # bit/s: the rate of now, and the most that the next stage carries
    next: Reading  # the stage that limits after the fix
    earlier: Calibration | None = None  # None: no earlier prediction of the rule was measured

    @property
    def expected(self) -> float:
        """The rate of which the next stage is full, bit/s."""
        return expected(self.rate, self.next.capacity or self.rate)

    @property
    def gain(self) -> float:
        """The expected rate less the rate of now, bit/s."""
        return self.expected - self.rate[0]


def expected(rate: Interval, capacity: Interval) -> float:
    """The middle of the capacity of the next stage, within the predicted rates."""
    return min(max(sum(capacity) / 2, rate[0]), rate[1])


def predict(limit: Limit, relieved: Collection[str]) -> Prediction | None:
    """What a fix that relieves these stages brings; None if they do not limit or nothing is known.

    Only a stage that limits is lifted: of two shapers the slower one, not the next.
    """
    if limit.rate is None or not lifted(limit, relieved):
        return None
    rest = list(_bounds(limit, relieved))
    if not rest:
        return None
    following = min(rest, key=lambda one: sum(one.capacity or ()))
    most = following.capacity[1] if following.capacity is not None else 0.0
    return Prediction(limit, (limit.rate, max(limit.rate, most)), following)


def lifted(limit: Limit, relieved: Collection[str]) -> list[Reading]:
    """The readings of the relieved stages among those that limit."""
    names = {limit.stage.stage, *limit.joint} & set(relieved)
    every = (limit.stage, *limit.ladder)
    return [one for one in every if one.stage in names and _binds(limit, one)]


def _bounds(limit: Limit, relieved: Collection[str]) -> Iterator[Reading]:
    """The stages that remain and have a capacity that the rate cannot exceed."""
    rate = limit.rate or 0.0
    queue = any(one.stage in QUEUES for one in lifted(limit, relieved))
    # the next stage of a flow within this host may be of its other end, and not in this ladder
    for one in dict.fromkeys((*limit.ladder, *filter(None, (limit.next,)))):
        binds = _binds(limit, one)
        if one.capacity is None or (one.stage in relieved and binds):
            continue
        if one.stage in FED_BACK and queue and (binds or one.stage != "sndbuf"):
            continue
        if one.stage == "cwnd" or (one.stage in GROWS and not binds):
            continue
        if one.capacity[1] > rate or binds:
            yield one


def _binds(limit: Limit, one: Reading) -> bool:
    """Whether a reading is of a stage that limits now, alone or with others."""
    return one is limit.stage or one.held >= BINDS or one.stage in limit.joint
