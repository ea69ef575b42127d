"""The stage that would limit next, if the one that limits did not, and the rate that a fix brings.

It is the smallest capacity of the other stages that does not itself depend on what limits now. A
capacity that is computed (a shaper, a window over a round trip, a link) is named as next only if
the threads and cores on the way, and the window of the peer, certainly carry more. A CPU that is
less than half full says little about its capacity: the cost of a byte falls as batches grow, and
rises with contention (`stages/_budget`). If the capacity lies between the bounds of these, the next
stage is not known.

If nothing else limits now, the next stage is that of the limit itself, so that a prediction and
`nettop why` agree. Its capacity is the most that the rate can become. Where the next stage is not
known, the most is the capacity of the nearest stage that is. The least is the present rate: a fix
that lifts a limit may still change nothing.

If another stage limits as well and the fix does not relieve it, that one stays the limit. A stage
that is full only because of what is lifted does not stay: the congestion window grows until the
path loses segments, and a full queue fills windows and buffers and loses packets. What a CPU
carries bounds the rate only if the fix leaves the size of what it handles at a time (`resized`).
A buffer that ends at its sysctl carries more in proportion to that, and may be full again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from ...terms.dataclass import dataclass
from . import Interval, Limit, Reading
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


BINDS: Final = 0.5  # of wall time: a stage that limits for this share binds
# bytes of the largest segment (GSO_LEGACY_MAX_SIZE in include/linux/netdevice.h): behind a stage
# that lets pass less at a time, a CPU spends most of its time on calls, wakeups and packets
SEGMENT: Final = 65536.0


def following(limit: Limit, other: Limit | None = None) -> Reading | None:
    """The next stage, at either end of the flow; None if it is not known."""
    rest = _rest(limit, other)
    found = nearest(limit, rest)
    if found is None or found.capacity is None or found.stage in having("cpu"):
        return found
    sure = min((one.reach[0] for one in rest if one.reach is not None), default=None)
    return found if sure is None or found.capacity[1] <= sure else None


def bound(limit: Limit) -> Reading | None:
    """The stage whose capacity bounds the rate: the next stage if it is known, else the nearest."""
    return limit.next or nearest(limit, _rest(limit, None))


def _rest(limit: Limit, other: Limit | None) -> list[Reading]:
    there = other.ladder if other is not None else ()  # whose peer is this end
    every = dict.fromkeys((*limit.ladder, *(one for one in there if one.stage != "peer")))
    gone = [one for one in every if limits(limit, one)]
    return [resized(one, gone) for one in every if one not in gone]


def nearest(limit: Limit, stages: Iterable[Reading]) -> Reading | None:
    """The stage with the smallest capacity that is above the rate, or that is full already."""
    rate = limit.rate or 0.0
    known = [
        one for one in stages
        if one.capacity is not None and (one.capacity[1] > rate or one.held >= BINDS)
    ]  # fmt: skip
    return min(known, key=lambda one: sum(one.capacity or ()), default=None)


def limits(limit: Limit, one: Reading) -> bool:
    """Whether a reading is of a stage that limits now: of two shapers both may be full."""
    same = one.stage == limit.stage.stage and one.held >= BINDS
    return one is limit.stage or one.stage in limit.joint or same


def independent(one: Reading, first: Reading, rate: float) -> Reading:
    """The reading, without a capacity that is only an effect of the stage that limits.

    A congestion window and the window that the peer offers grow once nothing else limits. A full
    queue fills the windows and the send buffer, and loses segments. A thread that is busy although
    a queue behind it is full may only be polling. If a lossy path, the peer's window or its program
    is full while another stage limits, it may carry no more than now, or much more once data comes
    without pauses: it keeps only a rough capacity.
    """
    one = resized(one, (first,))
    if one.stage in (cpu := having("cpu")) and one.held >= BINDS and first.stage not in cpu:
        return replace(one, capacity=None, reach=(rate, rate / max(one.utilisation or 0.0, BINDS)))
    slow = one.stage == "peer" and one.capacity is not None  # a reader that was seen to be late
    passed = slow or one.stage in ("path", "rwnd")
    if passed and one.held >= BINDS and first.stage not in having("queue"):
        return replace(one, capacity=None, reach=(rate, rate / BINDS))
    full = first.stage in having("queue") and one.stage in having("fed")
    follows = one.stage in having("grows") or (full and (one.stage == "path" or one.held >= BINDS))
    return replace(one, capacity=None) if follows and one.capacity is not None else one


def resized(one: Reading, gone: Iterable[Reading]) -> Reading:
    """The reading, without a capacity that holds only for the size of what passes at a time now.

    Behind a small buffer or window a CPU handles little with each call, wakeup and packet. Without
    it the same CPU time carries many times the bytes (measured with a receive buffer of 8 KiB: 12
    times), so that what it carries now is only the least. A small buffer that waits for a CPU in
    turn carries more once that is faster.
    """
    cpu = having("cpu")
    small = one.stage in cpu and any(_small(each) for each in gone)
    turns = one.held >= BINDS and _small(one) and any(each.stage in cpu for each in gone)
    if one.capacity is None or not (small or turns):
        return one
    return replace(one, capacity=None, reach=one.capacity)


def _small(one: Reading) -> bool:
    return one.piece is not None and one.piece < SEGMENT
