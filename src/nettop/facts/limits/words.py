"""The words for a limit, the same in every command and pane."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ...terms import units
from ...terms.dataclass import picked
from ..flow_words import CALM, SHOWN
from . import Interval, Limit, Reading
from .following import BINDS, bound
from .stages import declared, having, short

if TYPE_CHECKING:
    from .following import Calibration, Prediction

_LEADS: Final = ("application", "pipe")  # on the way to what the program waits for

NOT_HERE: Final = "no queue of this host"  # the beginning of such a measurement
_SHAPERS: Final = frozenset(("tbf", "htb", "hfsc", "cake"))  # qdiscs that hold to a rate
UNREAD: Final = "no TCP flow was read: what waits at the sockets is not known"
MEASURES: Final = "measured for less than a second"
ANSWERS: Final = "of what goes the other way; no flow of this direction has data"
FORWARDED: Final = f"{NOT_HERE} holds what it forwards"
BITS: Final = units.Units()  # as commands print rates


def stage(one: Reading) -> str:
    """A stage in words: `the traffic shaper tbf`, `CPU time of thread iperf3[4376]`."""
    if one.stage == "core":
        return one.name.partition(",")[0]
    if one.stage == "thread":
        return f"CPU {'quota' if one.how == 'throttled' else 'time'} of thread {one.name}"
    words = known(one.stage, shaper(one))
    if one.stage == "qdisc" and not shaper(one):
        return f"{words} {one.name.partition(' ')[0]}"
    if one.stage in having("feeds"):
        return f"{words} of {one.name}"
    return f"{words} {one.name}" if one.stage == "application" and "[" in one.name else words


def shaper(one: Reading) -> str:
    """The kind of a qdisc that holds to a rate: `tbf`; empty for another one."""
    kind = one.name.partition(" ")[0]
    return kind if one.stage == "qdisc" and kind in _SHAPERS else ""


def known(name: str, how: str | None = "") -> str:
    """A stage in words, where only its name is known, and the kind of a shaper: `limit_how`."""
    return f"the traffic shaper {how}" if name == "qdisc" and how else declared()[name].words


def brief(name: str, how: str | None = "") -> str:
    """The same in the columns of a table."""
    return "traffic shaper" if name == "qdisc" and how else short(name)


def mark(limit: Limit, one: Reading) -> str:
    """✗ at the stage that limits; · at the others, and where it is only inferred.

    A program that hands over no more, or a sender of which nothing is seen, need not be at fault.
    """
    return "✗" if one is limit.ladder[0] and one.kind != "inferred" else "·"


def away(one: Reading) -> str:
    """` at the other end` for a stage that both hosts have, where it is there."""
    known = declared()[one.stage]
    return " at the other end" if one.end == "there" and not (known.beyond or known.between) else ""


def elsewhere(limit: Limit) -> bool:
    """Whether only this host was read, and nothing of it limits."""
    return limit.stage.stage == "unknown" and NOT_HERE in limit.stage.because


def unread(limit: Limit) -> bool:
    """Whether nothing that was read limits, and the sockets were not: it is only a doubt."""
    return limit.stage.because == UNREAD


def early(limit: Limit) -> bool:
    """Whether a flow was measured for too short a time."""
    return limit.stage.because.endswith(MEASURES)


def answers(limit: Limit) -> bool:
    """Whether it is a direction of an interface that has acknowledgements only."""
    return limit.stage.because == ANSWERS


def unjudged(limit: Limit) -> bool:
    """Whether there is no stage that limits: none is known, or nothing is to be limited."""
    return early(limit) or answers(limit) or forwarded(limit)


def forwarded(limit: Limit) -> bool:
    """Whether it is an interface with traffic of others that nothing of the interface limits."""
    return limit.stage.because.startswith(FORWARDED)


def spent(limit: Limit) -> bool:
    """Whether it is an interface with traffic of others for which the cores have no time left."""
    return limit.stage.stage == "core" and limit.stage.kind == "inferred"


def paced(one: Reading) -> bool:
    """Whether a program decides by itself when it moves more: there is nothing to mend."""
    return one.stage == "timer" or (one.stage, one.how) == ("request", "late")


def limited(limit: Limit, where: str | None = None) -> str:
    """`limited by the traffic shaper tbf of ifb0`; `where`: the words for its end."""
    if paced(limit.stage) and limit.stage.stage == "request":
        return "waiting between requests"
    if forwarded(limit):
        by = f"limited by {limit.stage.name}" if limit.stage.name else "which nothing here limits"
        return f"forwarded traffic, {by}"
    if early(limit):
        return "limit not known yet"
    if answers(limit):
        return "acknowledgements only"
    if elsewhere(limit):
        return "limited elsewhere, not on this host"
    place = away(limit.stage) if where is None else where
    first = declared()[limit.stage.stage]
    same = {first.implies} & having("grows")  # a window as small as that stage keeps it
    told = [name for name in limit.joint if name not in (_LEADS if first.feeds else same)]
    others = " or ".join(declared()[name].words for name in told)
    limits = "limited in part by" if partly(limit) else "limited by"
    limits = "may be limited by" if unread(limit) else limits
    of = limit.stage.name.partition(" of ")[1:] if shaper(limit.stage) else ()
    by = "".join((stage(limit.stage), *of))
    return f"{limits} {by}" + (f" or {others}" if others else "") + place


def partly(limit: Limit) -> bool:
    """Whether the stage is the likeliest of those that are less than full, and carries more.

    A thread that runs for half of the time is named where nothing else binds; data does not wait
    for it most of the time, so its capacity is above the rate.
    """
    known = limit.stage.capacity
    return (
        limit.stage.held < BINDS
        and known is not None
        and limit.rate is not None
        and limit.rate < known[0]
    )


def verdict(limit: Limit, where: str | None = None, shown: units.Units = BITS) -> str:
    """`limited by the link (9.3–9.4 Gb/s); next: the slot (25–31 Gb/s)`."""
    text = limited(limit, where)
    if early(limit) or answers(limit):
        return text
    if limit.stage.capacity is not None:
        text += f" ({interval(limit.stage.capacity, shown)})"
    if limit.next is not None:
        later = f"{stage(limit.next)}{away(limit.next)}"
        return f"{text}; next: {later} ({interval(limit.next.capacity, shown)})"
    most = bound(limit)
    if most is None or most.capacity is None:
        return f"{text}; next: not known"
    return f"{text}; next: not known, at most {shown.speed(most.capacity[1])} ({stage(most)})"


def doing(limit: Limit) -> str:
    """`core 3: 61 % netfilter (nft_do_chain), 20 % copy`; empty where it was not sampled."""
    if limit.doing is None:
        return ""
    name = stage(limit.stage).removeprefix("the ")
    return f"{name.partition(' of ')[2] if name.startswith('CPU ') else name}: {limit.doing}"


def rate(limit: Limit) -> str:
    """`sends 9.41 Gb/s`; the rate of a UDP socket is not known."""
    if limit.rate is None:
        return "sends datagrams" if limit.direction == "tx" else "drops datagrams"
    way = "sends" if limit.direction == "tx" else "receives"
    return f"{way} {units.scaled(limit.rate, 'b/s')}"


def owner(limit: Limit) -> str:
    """The process of a flow or socket where it is known, else the target; with its namespace."""
    name = limit.target if limit.over == "nic" or not limit.process else limit.process
    named = limit.namespace is None or limit.over == "nic"  # NAME@NAMESPACE
    return name if named else f"{name} in {limit.namespace}"


def line(limit: Limit, where: str | None = None) -> str:
    """`iperf3 sends 9.41 Gb/s, limited by the link (9.3–9.4 Gb/s)`; without what is next."""
    text = f"{owner(limit)} {rate(limit)}, {limited(limit, where)}"
    known = limit.stage.capacity
    return text if known is None else f"{text} ({interval(known)})"


def ended(limit: Limit) -> str:
    """`iperf3 is no longer limited by the link`: its flow ended, or wants to move no more."""
    return f"{owner(limit)} is no longer {limited(limit)}"


def busiest(limits: Iterable[Limit]) -> Limit | None:
    """The limit of the flow that moves most, else of a UDP socket that sends; None of neither."""
    known = [*limits]
    datagrams = (one for one in known if one.over == "socket" and one.direction == "tx")
    flow = max(moving(known), key=lambda one: one.rate or 0.0, default=None)
    return flow or next(datagrams, None)


def together(limit: Limit, limits: Iterable[Limit]) -> str:
    """`; 8 flows of iperf3 together 32.4 Gb/s`: those that the same stage limits; empty for one."""
    alike = [
        one.rate or 0.0 for one in moving(limits)
        if (owner(one), one.direction, one.stage.stage)
        == (owner(limit), limit.direction, limit.stage.stage)
    ]  # fmt: skip
    if len(alike) < 2:
        return ""
    more = "or more " * (len(alike) in (CALM, SHOWN))  # more are not joined
    return (
        f"; {len(alike)} {more}flows of {owner(limit)} together {units.scaled(sum(alike), 'b/s')}"
    )


def moving(limits: Iterable[Limit]) -> list[Limit]:
    """The limits of the flows that want to move more.

    A flow that receives nothing from its peer is none: nobody knows whether there is more.
    """
    return [
        one for one in limits if one.over == "flow" and (one.rate != 0 or one.stage.stage != "peer")
    ]


def interval(capacity: Interval | None, shown: units.Units = BITS) -> str:
    """`27–31 Gb/s`; the unit once where both ends have it."""
    if capacity is None:
        return units.UNKNOWN
    least, most = map(shown.speed, capacity)
    if least == most:
        return least
    number, _, unit = least.partition(" ")
    return f"{number if most.endswith(f' {unit}') else least}–{most}"


def predicted(one: Prediction) -> str:
    """`iperf3 sends 17.5 Mb/s; with this fix at most 941 Mb/s, then limited by the link`.

    `with this fix at most 941 Mb/s (the link); next: not known` where another may come before.
    """
    now, most = (units.scaled(value, "b/s") for value in one.rate)
    gain = f"at most {most}" if most != now else "no more"
    if one.next is None:
        gain += f" ({stage(one.bound)}); next: not known"
    else:
        gain += f", then limited by {stage(one.next)}"
    return f"{owner(one.limit)} {rate(one.limit)}; with this fix {gain}"


def doubted(earlier: Calibration | None) -> str:
    """A sentence where earlier predictions of the rule failed on this host; else empty."""
    if earlier is None or not earlier.failed:
        return ""
    return (
        "Predictions of this rule failed on this host: "
        f"{earlier.inside} of {earlier.count} proofs measured a rate within the prediction."
    )


def document(limit: Limit) -> dict[str, object]:
    """One limit: the stage that limits, the one that would limit next, all stages by capacity."""
    return {
        **picked(limit, "over target direction namespace rate since"),
        "limit": {**_stage(limit.stage), "joint": list(limit.joint), **_doing(limit)},
        "next": _next(limit.next),
        "ladder": [_stage(step) for step in limit.ladder],
        **({"ended": True} if limit.ended else {}),
    }  # fmt: skip


def prediction_data(one: Prediction) -> dict[str, object]:
    """What a fix may bring: the predicted rates, the next limit, and earlier predictions."""
    values: dict[str, object] = {"rate": list(one.rate), "next": _next(one.next)}
    if one.earlier is not None:
        values["earlier"] = picked(one.earlier, "count inside failed")
    return values


def _doing(limit: Limit) -> dict[str, object]:
    return {} if limit.doing is None else {"doing": limit.doing}


def _next(one: Reading | None) -> dict[str, object] | None:
    return None if one is None else picked(one, "stage end name capacity")


def _stage(one: Reading) -> dict[str, object]:
    return picked(one, "stage end name utilisation capacity kind because")


QUEUED: Final = "the connection waits in the accept queue"  # as the receive socket says it


def queued(limit: Limit) -> tuple[object, ...]:
    """What connections share that wait unaccepted at one address; each other limit is alone."""
    if not limit.stage.because.startswith(QUEUED):
        return limit.target, limit.direction, limit.namespace
    local = limit.target.partition(">")[0]
    return local, limit.direction, limit.namespace, limit.pid
