"""Which stage binds, what binds with it, and the others by capacity.

A stage binds when work waited before it, and not behind it, for at least half of the wall time. If
several do, the one farthest along the way binds: data that waits there fills the stages before it.
A busy thread yields to a queue or window behind it that is known to be full, since it may spin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from . import Limit, Reading
from .feeding import beside
from .following import BINDS, following, independent
from .looks import Look, loses, waits
from .stages import declared, having, readings
from .words import MEASURES, NOT_HERE

FULL: Final = 0.9  # of a configured rate in use: from here on it may limit as well
OFTEN: Final = 0.3  # of the time: a full send buffer limits if nothing else does
MANY: Final = 2.0  # times the rate: a send buffer with room for so much does not limit
SLEPT: Final = 0.75  # of the time that a writer sleeps, in which the other end is not ready
LITTLE: Final = 0.2  # of the time: less may be chance
SEEN: Final = ("reported", "measured")
SHORT: Final = 0.9  # s: what samples of a socket and its program say of less is chance
NEAR: Final = 0.10  # two capacities, or shares of time, that are this close are joint limits
_UNSEEN: Final = Reading(
    "unknown", "there", "not visible from this end", "inferred",
    f"{NOT_HERE} is full for most of the time: look at the other end, or for longer",
)  # fmt: skip
_EARLY: Final = Reading("unknown", "there", "not visible yet", "inferred", MEASURES)


def judge(look: Look) -> Limit:
    """The verdict on one target."""
    known = [_beside(look, one) for one in _fed(readings(look))]
    binding = sorted(
        (one for one in known if one.held >= BINDS), key=lambda one: (_rank(one), -one.held)
    )
    first = binding[0] if binding else _half(known, look.rate)
    own = first is _UNSEEN and look.sends and not look.rate and waits(look) and loses(look)
    if own:
        first = Reading("refused", "here", "source address, filter or queue", "inferred", own)
    if look.over == "flow" and look.window.at - (look.window.begun or 0.0) < SHORT:
        first = _EARLY
    others = [*binding[1:], *(one for one in known if _nearly_full(first, one))]
    joint = [one.stage for one in others if one.stage != first.stage and _close(first, one)]
    reader = _awaited(first, known)
    if reader is not None:
        first, joint = reader, ["thread"] if first.stage == "thread" else []
    return _limit(look, first, tuple(dict.fromkeys(joint)), known)


def _beside(look: Look, one: Reading) -> Reading:
    """The reading of a thread that binds, with what it waits for in the rest of the time."""
    if one.stage != "thread" or one.held < BINDS or one.how:
        return one
    words, how = beside(look, one.number)
    return replace(one, because=f"{one.because}; {words}", how=how) if words else one


def _fed(known: Sequence[Reading]) -> list[Reading]:
    """The readings; what the application waits for limits in the time in which that would.

    A thread that waits for a device does not wait for the network, whatever is left in its socket.
    One that sleeps while the application does not limit waits for its socket, with a timeout. Of
    the other end, what is known stands for what is not. A thread that waits for its core, and
    besides for a pipe whose program is never idle, would only wait for the pipe longer.
    """
    ready = max((one.utilisation or 0.0 for one in known if one.stage == "pipe-cpu"), default=0.0)
    if ready >= FULL:
        known = [
            replace(one, held=0.0) if one.stage == "thread" and one.held < ready
            else replace(one, held=ready) if one.stage == "application"
            else one
            for one in known
        ]  # fmt: skip
    held = max((one.held for one in known if one.stage == "application"), default=0.0)
    feeds, sure = having("feeds"), having("sure")
    every = [
        replace(one, held=held if held >= BINDS else min(one.held, held))
        if one.stage in feeds and (held >= BINDS or one.stage not in sure)
        else one
        for one in known
    ]
    stands = any(one.stage in feeds and one.held >= BINDS for one in every)  # for the application
    others = (one for one in every if one.stage == "peer")
    peer = max(others, key=lambda one: (one.held, one.kind == "reported"), default=None)
    return [
        replace(one, capacity=None) if stands and one.stage == "application" else one
        for one in every
        if (held >= LITTLE or one.stage != "timer") and (one.stage != "peer" or one is peer)
    ]


def _half(known: Sequence[Reading], rate: float) -> Reading:
    """If no stage binds: a thread busy half of the time, a send buffer often full, or `unknown`.

    A writer and a reader that wait for each other are both less than busy. BBR paces at the rate
    that a full send buffer lets it measure, so the buffer is full in a part of the time only. One
    that carries many times the rate does not limit: a burst fills it.
    """
    busy = [one for one in known if one.stage == "thread" and (one.utilisation or 0.0) >= BINDS]
    often = [
        one for one in known
        if one.stage == "sndbuf" and one.held >= OFTEN
        and (one.capacity is None or one.capacity[0] <= MANY * rate)
    ]  # fmt: skip
    return next(iter((*busy, *often)), _UNSEEN)


def _awaited(first: Reading, known: Sequence[Reading]) -> Reading | None:
    """The reader at the other end, if the writer here sleeps because of it; None: it does not.

    A reader with a CPU quota reads in bursts. The writer runs in these, and waits for room in the
    rest of the time: each is less than half of it. A writer that sleeps by choice has room.
    """
    thread = next((one for one in known if one.stage == "thread" and one.held < BINDS), None)
    if thread is None or first.stage not in ("thread", "application"):
        return None
    readers = [one for one in known if one.stage in ("peer", "rwnd") and one.kind in SEEN]
    reader = max(readers, key=lambda one: one.held, default=None)
    sleeps = 1.0 - (thread.utilisation or 0.0)
    least = max(LITTLE, SLEPT * sleeps)
    return reader if reader is not None and reader.held >= least else None


def _rank(one: Reading) -> float:
    """The precedence of the stage; a weaker kind of evidence moves it to the end.

    A slow reader at the peer that the kernel reports ranks as `rwnd` does; one that was measured by
    the shrinking window ranks after a busy thread, which may explain that. So does a send buffer
    that was measured: bursts of a busy writer fill it, while a writer that waits for room sleeps.
    The full buffer of a UDP socket that drops is last: a reader that is always behind explains it.
    So are filters that drop: they may drop other packets. A thread of which only the busy core is
    known comes after a program that is seen to hand over too little: others may use that core.
    """
    stages = declared()
    if one.stage == "sndbuf" and one.kind == "measured":
        return stages["path"].precedence
    if one.stage == "peer" and one.kind in ("reported", "measured"):
        reported = one.kind == "reported"
        return stages["rwnd"].precedence if reported else stages["path"].precedence - 0.5
    if (one.stage, one.kind) == ("thread", "inferred"):
        return stages["application"].precedence + 0.5
    if (one.stage, one.kind) in (("rcvbuf", "reported"), ("qdisc", "inferred")):
        return stages["unknown"].precedence
    return stages[one.stage].precedence


def _nearly_full(first: Reading, one: Reading) -> bool:
    """Whether a configured rate is nearly reached, though its queue is empty in many samples.

    This happens where a busy thread fills the queue in bursts.
    """
    shaped = one.stage in having("queue") or one.stage == "pacing"
    return one is not first and shaped and (one.utilisation or 0.0) >= FULL


def _close(first: Reading, one: Reading) -> bool:
    """Whether two stages hold about as much of the time, or carry about the same rate."""
    if declared()[first.stage].implies == one.stage:
        return True
    if first.stage in having("feeds") and one.stage in having("feeds") | {"application"}:
        return True
    if one.kind == "inferred":
        return False
    if first.capacity is not None and one.capacity is not None:
        a, b = sum(first.capacity) / 2, sum(one.capacity) / 2
        return abs(a - b) <= NEAR * max(a, b)
    return False


def _limit(look: Look, first: Reading, joint: tuple[str, ...], known: Sequence[Reading]) -> Limit:
    rest = [
        one if one is first or one.stage in joint else independent(one, first, look.rate)
        for one in known
    ]
    flow, nic = look.flow, look.nic
    limit = Limit(
        look.over, look.target, look.direction,
        None if look.over == "socket" else look.rate, 0.0, first, joint, None,
        _ladder(first, joint, rest), nic.name if nic is not None else None,
        flow.pid if flow is not None else None, flow.process if flow is not None else None,
        look.namespace, look.device[1] if look.device is not None else None,
    )  # fmt: skip
    return replace(limit, next=following(limit))


def _ladder(
    first: Reading, joint: tuple[str, ...], known: Sequence[Reading]
) -> tuple[Reading, ...]:
    """The stage that limits, those that limit with it, then the others by capacity."""

    def place(one: Reading) -> tuple[int, float, int]:
        limits = 0 if one is first else 1 if one.stage in joint else 2
        least = sum(one.capacity) / 2 if one.capacity is not None else float("inf")
        return limits, least, declared()[one.stage].precedence

    every = known if any(one is first for one in known) else (first, *known)
    return tuple(sorted(every, key=place))


def paired(limits: Sequence[Limit]) -> list[Limit]:
    """Limits of flows whose other end is on this host too: that end's own verdict is known.

    A receiver that sees nothing waiting takes the verdict of its sender. A sender that waits for
    its peer takes the verdict of the receiver. The next stage is that of both ends. The other end
    may be in another network namespace.
    """
    flows: dict[tuple[str, str], list[Limit]] = {}
    for one in limits:
        if one.over == "flow":
            flows.setdefault((one.target, one.direction), []).append(one)
    out = []
    for one in limits:
        other = _other_end(one, flows) if one.over == "flow" else None
        if other is None:
            out.append(one)
            continue
        beyond = one.stage.stage in having("beyond") or one.stage.kind == "inferred"
        there = one.stage.end == "there" and beyond
        both = one
        if there and other.stage.end == "here":
            joint = tuple(s for s in (*other.joint, one.stage.stage) if s != other.stage.stage)
            rest = tuple(step for step in one.ladder if step is not one.stage)
            both = replace(one, stage=other.stage, joint=joint, ladder=(other.stage, *rest))
        out.append(replace(both, next=following(both, other)))
    return out


def relayed(limits: Sequence[Limit]) -> list[Limit]:
    """Limits with, of each relay, what limits the connection for which it waits.

    A proxy passes on what another connection brings or takes: what limits that one is the cause.
    """
    flows = {(one.target, one.direction): one for one in limits
             if one.over == "flow" and one.namespace is None}  # fmt: skip
    out = []
    for one in limits:
        other = flows.get((one.stage.other, "rx" if one.direction == "tx" else "tx"))
        if other is None or other.stage.kind == "inferred" or other.stage.other:
            out.append(one)
            continue
        words = declared()[other.stage.stage].words
        why = f"{one.stage.because}; that connection is limited by {words}: {other.stage.because}"
        first = replace(one.stage, because=why)
        ladder = tuple(first if step is one.stage else step for step in one.ladder)
        out.append(replace(one, stage=first, ladder=ladder))
    return out


def _other_end(one: Limit, flows: Mapping[tuple[str, str], Sequence[Limit]]) -> Limit | None:
    """The verdict at the other end of a flow.

    Two namespaces may use the same addresses: the same namespace is tried first, and another one
    only if a single flow has those addresses and they are not loopback.
    """
    local, _, remote = one.target.partition(">")
    ends = flows.get((f"{remote}>{local}", "rx" if one.direction == "tx" else "tx"), ())
    same = next((other for other in ends if other.namespace == one.namespace), None)
    if same is not None or len(ends) != 1 or local.startswith(("127.", "[::1]")):
        return same
    return ends[0] if len(flows.get((one.target, one.direction), ())) == 1 else None
