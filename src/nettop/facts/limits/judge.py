"""Which stage binds, what binds with it, and the others by capacity.

A stage binds when work waited before it, and not behind it, for at least half of the wall time. Of
several the one farthest along the way binds: what waits there waits before all others too. A busy
thread yields to a queue or window behind it that is known to be full, since it may spin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from . import Limit, Reading
from .looks import Look
from .stages import readings

BINDS: Final = 0.5  # of wall time
MOST: Final = 0.8  # of an interface's rate: a flow stands for it
GROWS: Final = frozenset({"cwnd", "rwnd"})
QUEUES: Final = frozenset({"provider", "pause", "wire", "slot", "tx-ring", "qdisc"})  # that drop
NEAR: Final = 0.10  # two capacities, or shares of time, that are this close are joint limits
# the farther along, the earlier; a path with loss explains a small congestion window
ORDER: Final = (
    "provider", "pause", "wire", "slot", "tx-ring", "qdisc", "ring", "port", "backlog", "pacing",
    "rwnd", "sndbuf", "rcvbuf", "core", "thread", "path", "cwnd", "application", "peer", "unknown",
)  # fmt: skip
_PLACE: Final[Mapping[str, int]] = {stage: place for place, stage in enumerate(ORDER)}
# stages that another one implies: either name is right
_TOGETHER: Final[Mapping[str, str]] = {
    "path": "cwnd", "cwnd": "path", "peer": "rwnd", "rcvbuf": "application",
    "application": "rcvbuf",
}  # fmt: skip
_UNSEEN: Final = Reading(
    "unknown", "there", "not visible from this end", "inferred",
    "no stage of this end holds data for most of the time: look at the other end, or for longer",
)  # fmt: skip


def judge(look: Look) -> Limit:
    """The verdict on one target."""
    known = readings(look)
    binding = sorted(
        (one for one in known if one.held >= BINDS),
        key=lambda one: (_rank(one), -one.held),
    )
    first = binding[0] if binding else _half(known)
    joint = tuple(
        dict.fromkeys(
            one.stage for one in binding[1:] if one.stage != first.stage and _close(first, one)
        )
    )
    return _limit(look, first, joint, known)


def _half(known: Sequence[Reading]) -> Reading:
    """Where no stage binds: a thread in use for half of the time, or what this end cannot see.

    A writer and a reader that wait for one another are each less than busy.
    """
    busy = [one for one in known if one.stage == "thread" and (one.utilisation or 0.0) >= BINDS]
    return busy[0] if busy else _UNSEEN


def _rank(one: Reading) -> int:
    """Its place on the way.

    The peer's slow reader is told by the window, as rwnd is. The buffer of a UDP socket that drops
    is always full at times: a reader that is always behind explains it. So does a busy writer whose
    bursts fill the send buffer: did it wait for room, it would sleep.
    """
    if one.stage == "sndbuf" and one.kind == "measured":
        return _PLACE["path"]
    if one.stage == "peer" and one.kind == "told":
        return _PLACE["rwnd"]
    if one.stage == "rcvbuf" and one.kind == "told":
        return _PLACE["unknown"]
    return _PLACE[one.stage]


def _close(first: Reading, one: Reading) -> bool:
    """Whether two stages hold about as much of the time, or carry about the same rate."""
    if _TOGETHER.get(first.stage) == one.stage:
        return True
    if one.kind == "inferred":
        return False
    if first.capacity is not None and one.capacity is not None:
        a, b = sum(first.capacity) / 2, sum(one.capacity) / 2
        return abs(a - b) <= NEAR * max(a, b)
    return False


def _limit(look: Look, first: Reading, joint: tuple[str, ...], known: Sequence[Reading]) -> Limit:
    ladder = _ladder(first, joint, [_now_only(one, first, joint) for one in known])
    following = next(
        (
            one for one in ladder
            if one.capacity is not None and one.stage not in (first.stage, *joint)
            and one.capacity[1] > look.rate
        ),
        None,
    )  # fmt: skip
    flow, nic = look.flow, look.nic
    return Limit(
        look.over, look.target, look.direction,
        None if look.over == "socket" else look.rate, 0.0, first, joint, following, ladder,
        nic.name if nic is not None else None,
        flow.pid if flow is not None else None, flow.process if flow is not None else None,
        look.namespace,
    )  # fmt: skip


def _now_only(one: Reading, first: Reading, joint: Sequence[str]) -> Reading:
    """Without a capacity where that is no more than what another limit makes of the stage.

    A congestion window and the window that the peer offers grow once nothing else limits. Loss is
    made by the full queue behind the socket, and so is what it would allow.
    """
    if one is first or one.stage in joint:
        return one
    follows = one.stage in GROWS or (one.stage == "path" and first.stage in QUEUES)
    return replace(one, capacity=None) if follows and one.capacity is not None else one


def _ladder(
    first: Reading, joint: tuple[str, ...], known: Sequence[Reading]
) -> tuple[Reading, ...]:
    """The stage that limits, those that limit with it, then the others by capacity."""

    def place(one: Reading) -> tuple[int, float, int]:
        limits = 0 if one is first else 1 if one.stage in joint else 2
        least = sum(one.capacity) / 2 if one.capacity is not None else float("inf")
        return limits, least, _PLACE[one.stage]

    every = known if any(one is first for one in known) else (first, *known)
    return tuple(sorted(every, key=place))


def paired(limits: Sequence[Limit]) -> list[Limit]:
    """Limits of flows whose other end is on this host too: that end's own verdict is known.

    A receiver that sees nothing waiting takes its sender's verdict, a sender that waits for its
    peer that of the receiver. The other end may be in another network namespace.
    """
    flows: dict[tuple[str, str], list[Limit]] = {}
    for one in limits:
        if one.over == "flow":
            flows.setdefault((one.target, one.direction), []).append(one)
    out = []
    for one in limits:
        there = one.stage.end == "there" and one.stage.stage in ("peer", "rwnd", "unknown")
        other = _other_end(one, flows) if one.over == "flow" and there else None
        if other is None or other.stage.end != "here":
            out.append(one)
            continue
        joint = tuple(s for s in (*other.joint, one.stage.stage) if s != other.stage.stage)
        rest = tuple(step for step in one.ladder if step is not one.stage)
        own = one.next if one.next and one.next.stage != other.stage.stage else None
        out.append(
            replace(one, stage=other.stage, joint=joint, next=other.next or own,
                    ladder=(other.stage, *rest))
        )  # fmt: skip
    return out


def _other_end(one: Limit, flows: Mapping[tuple[str, str], Sequence[Limit]]) -> Limit | None:
    """The verdict at the other end of a flow.

    Two namespaces may use the same addresses: the same namespace is tried first, and another one
    only where a single flow has those addresses, which are no loopback addresses.
    """
    local, _, remote = one.target.partition(">")
    ends = flows.get((f"{remote}>{local}", "rx" if one.direction == "tx" else "tx"), ())
    same = next((other for other in ends if other.namespace == one.namespace), None)
    if same is not None or len(ends) != 1 or local.startswith(("127.", "[::1]")):
        return same
    return ends[0] if len(flows.get((one.target, one.direction), ())) == 1 else None


def of_interfaces(limits: Sequence[Limit]) -> list[Limit]:
    """Interfaces whose own stages are not full: limited as their largest flow is."""
    largest: dict[tuple[str | None, str], Limit] = {}
    for one in limits:
        if one.over != "flow":
            continue
        key = (one.nic, one.direction)
        if key not in largest or (one.rate or 0.0) > (largest[key].rate or 0.0):
            largest[key] = one
    out = []
    for one in limits:
        flow = largest.get((one.nic, one.direction))
        if one.over != "nic" or one.stage.stage != "unknown":
            out.append(one)
        elif flow is not None:
            out.append(_as_flow(one, flow))
        else:
            out.append(_idle(one))
    return out


def _as_flow(one: Limit, flow: Limit) -> Limit:
    """An interface limited as its largest flow is.

    The capacities are those of the interface only if that flow is most of its rate.
    """
    own = {step.stage: step for step in one.ladder if step.stage != "unknown"}
    alone = (flow.rate or 0.0) >= MOST * (one.rate or 0.0)

    def shown(step: Reading) -> Reading:
        return own.pop(step.stage, None) or (step if alone else replace(step, capacity=None))

    why = f"its largest flow, {flow.target}: {flow.stage.because}"
    first = replace(shown(flow.stage), because=why, name=flow.stage.name)
    rest = [shown(step) for step in flow.ladder if step is not flow.stage]
    ladder = (first, *rest, *own.values())
    following = flow.next
    if not alone:
        more = (step for step in ladder[1:] if step.capacity and step.capacity[1] > (one.rate or 0))
        following = next(more, None)
    return replace(one, stage=first, joint=flow.joint, next=following, ladder=ladder,
                   pid=flow.pid, process=flow.process)  # fmt: skip


def _idle(one: Limit) -> Limit:
    """An interface on which no flow of this host wants to move more."""
    if one.direction == "tx":
        why = "nothing waits to be sent: no TCP flow of this host wants more"
        stage = Reading("application", "here", "programs of this host", "inferred", why, None)
    else:
        why = "no data waits at this end: the senders send no more"
        stage = Reading("peer", "there", "senders", "inferred", why, None)
    rest = tuple(step for step in one.ladder if step.stage != "unknown")
    following = next((step for step in rest if step.capacity is not None), None)
    return replace(one, stage=stage, next=following, ladder=(stage, *rest))
