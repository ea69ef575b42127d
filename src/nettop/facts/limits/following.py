"""The stage that would limit next, if the one that limits did not.

It is the smallest capacity of the other stages that does not itself depend on what limits now. A
capacity that is computed (a shaper, a window over a round trip, a link) is named as next only if
the threads and cores on the way, and the window of the peer, certainly carry more. A CPU that is
less than half full says little about its capacity: the cost of a byte falls as batches grow, and
rises with contention (`stages/_budget`). If the capacity lies between the bounds of these, the next
stage is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from . import Limit, Reading
from .stages import having

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
