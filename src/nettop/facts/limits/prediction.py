"""The rate to expect once a fix relieves a stage that limits.

If nothing else limits now, the next stage is that of the limit itself (`following`), so that a
prediction and `nettop why` agree. Its capacity is the most that the rate can become. Where the next
stage is not known, the most is the capacity of the nearest stage that is. The least is the present
rate: a fix that lifts a limit may still change nothing.

If another stage limits as well and the fix does not relieve it, that one stays the limit. A stage
that is full only because of what is lifted does not stay: the congestion window grows until the
path loses segments, and a full queue fills windows and buffers and loses packets. What a CPU
carries bounds the rate only if the fix leaves the size of what it handles at a time (`resized`).
A buffer that ends at its sysctl carries more in proportion to that, and may be full again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from ...terms.dataclass import dataclass
from . import Interval, Limit, Reading
from .following import bound, limits, nearest, resized
from .stages import declared, having

_AS_NOW: Final[Mapping[str, float]] = {}
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
    rate: Interval  # bit/s: the present rate, and the most that `bound` carries
    next: Reading | None  # the stage that limits after the fix; None: not known
    bound: Reading  # the stage that the rate cannot exceed; `next` where that is known
    earlier: Calibration | None = None  # None: no earlier prediction of the rule was measured

    @property
    def expected(self) -> float:
        """The rate at which the next stage is full, or the bound if that is not known, bit/s."""
        return expected(self.rate, self.bound.capacity or self.rate)

    @property
    def gain(self) -> float:
        """The expected rate less the present rate, bit/s."""
        return self.expected - self.rate[0]


def expected(rate: Interval, capacity: Interval) -> float:
    """The middle of the capacity of the next stage, within the predicted rates."""
    return min(max(sum(capacity) / 2, rate[0]), rate[1])


def predict(
    limit: Limit, relieved: Collection[str], larger: Mapping[str, float] = _AS_NOW
) -> Prediction | None:
    """What a fix that relieves these stages brings; None if they do not limit or nothing is known.

    Only a stage that limits is lifted: of two shapers the slower one, not the next. `larger` has
    how many times the present value the fix sets a sysctl to.
    """
    gone = lifted(limit, relieved)
    if limit.rate is None or not gone:
        return None
    if limit.stage.stage in having("feeds") and limit.stage not in gone:
        return None  # the application waits for it: that stays, whatever else is lifted
    stays = [
        resized(one, gone) for one in limit.ladder if limits(limit, one) and not _goes(one, gone)
    ]
    following = nearest(limit, stays) if stays else limit.next
    most = following or bound(limit)
    grown = [replace(one, capacity=(one.capacity[0] * times, one.capacity[1] * times))
             for one in gone if one.capacity is not None
             for name, times in larger.items()
             if name == declared()[one.stage].most and one.name.endswith(name)]  # fmt: skip
    for one in grown:
        if most is None or not most.capacity or sum(one.capacity or ()) < sum(most.capacity):
            following = most = one
    if most is None or most.capacity is None:
        return None
    return Prediction(limit, (limit.rate, max(limit.rate, most.capacity[1])), following, most)


def lifted(limit: Limit, relieved: Collection[str]) -> list[Reading]:
    """The readings of the relieved stages among those that limit."""
    every = dict.fromkeys((limit.stage, *limit.ladder))
    return [one for one in every if one.stage in relieved and limits(limit, one)]


def _goes(one: Reading, gone: Collection[Reading]) -> bool:
    """Whether a stage that limits now is lifted, or is full only because of what is lifted."""
    queue = any(each.stage in having("queue") for each in gone)
    return one in gone or one.stage == "cwnd" or (queue and one.stage in having("fed"))
