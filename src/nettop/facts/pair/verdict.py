"""The limit of a flow from the limits of its two ends and from where it loses segments.

The sender knows whether its own stages, the network or the receiver limit; what it says of the
receiver is replaced by what the receiver says of itself. A path that loses segments is replaced by
the queue that drops them, where a counter of either host accounts for most of the loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from ...terms import units
from .. import Facts
from ..limits import Limit, Reading
from ..limits.following import BINDS, independent
from ..limits.interfaces import as_flow
from ..limits.ladder import bounded, labelled
from ..limits.stages import having
from ..limits.words import early
from . import BETWEEN, HERE, THERE, Joined, Losses

LOSES: Final = ("path", "cwnd")
FILLS: Final = ("sndbuf", "cwnd")  # full where the receiver does not keep up
READS: Final = ("thread", "application", "core")  # and what drains the application


class Returns(NamedTuple):
    """A queue on the way back from the receiver, and the share of the samples with a backlog."""

    name: str
    waits: float


_NOBODY: Final = Reading(
    "unknown", BETWEEN, "not visible from either end", "inferred",
    "no stage of either host holds data for most of the time: look for longer",
)  # fmt: skip


def verdict(
    sender: Limit | None, receiver: Limit | None, losses: Losses | None, *, sends: bool,
    line: Sequence[Reading], reader: str, returns: Returns | None = None,
) -> Limit | None:  # fmt: skip
    """The limit as this host sees the flow; `sends`: this host is the sender.

    `returns`: the queue of the receiver in which acknowledgments wait.
    """
    ends = (HERE, THERE) if sends else (THERE, HERE)
    own = sender if sends else receiver
    base = own if own is not None else _turned(receiver if sends else sender)
    if base is None:
        return None
    stage = _stage(sender, receiver, losses, ends, reader, returns)
    rate = base.rate or 0.0
    if stage.stage == "rcvbuf":  # the line has how full the window is that comes from it
        stage = next((replace(stage, utilisation=one.utilisation) for one in line
                      if (one.stage, one.end) == (stage.stage, stage.end)), stage)  # fmt: skip
    others = (one for one in line if (one.stage, one.end) != (stage.stage, stage.end))
    rest = sorted((independent(one, stage, rate) for one in others), key=_least)
    following = next((one for one in rest if one.capacity and one.capacity[1] > rate), None)
    source = sender if stage.end == ends[0] else receiver
    known = source.joint if source is not None and source.stage.stage == stage.stage else ()
    joint = tuple(name for name in known if name not in ("peer", stage.stage))
    return replace(base, stage=stage, joint=joint, next=following, ladder=(stage, *rest))


def _least(one: Reading) -> float:
    return sum(one.capacity) / 2 if one.capacity is not None else float("inf")


def _turned(limit: Limit | None) -> Limit | None:
    """The limit of the other end, seen from this one."""
    if limit is None:
        return None
    local, _, remote = limit.target.partition(">")
    direction = "rx" if limit.direction == "tx" else "tx"
    return replace(limit, target=f"{remote}>{local}", direction=direction, nic=None, pid=None,
                   process=None)  # fmt: skip


def _stage(
    sender: Limit | None, receiver: Limit | None, losses: Losses | None, ends: tuple[str, str],
    reader: str, returns: Returns | None,
) -> Reading:  # fmt: skip
    for one in (sender, receiver):
        if one is not None and early(one):
            return one.stage
    said = sender.stage if sender is not None else None
    read = receiver.stage if receiver is not None else None
    if said is None or said.stage in having("beyond"):
        if read is not None and read.end == "here" and read.stage not in having("beyond"):
            return replace(read, end=ends[1])
        if said is None or said.stage == "unknown":
            return _NOBODY
        return _of_reader(said, ends, reader, returns)
    if (
        read is not None
        and read.stage in having("feeds").union(READS)
        and read.held >= BINDS
        and (said.stage in FILLS or (_offers(said) and _longer(read, said)))
    ):
        return replace(read, end=ends[1])
    if said.stage in LOSES:
        return _lossy(said, read, losses, ends)
    return replace(said, end=ends[0] if said.end == "here" else BETWEEN)


def _offers(said: Reading) -> bool:
    """Whether the program of the sender limits, or what feeds it."""
    return said.stage == "application" or said.stage in having("feeds")


def _longer(read: Reading, said: Reading) -> bool:
    """Whether the reader holds the flow for longer, or the writer only waits for what it asks."""
    return read.held > said.held or said.how == "late"


def _of_reader(
    said: Reading, ends: tuple[str, str], reader: str, returns: Returns | None
) -> Reading:
    """What the sender knows of the receiver where the receiver's samples show nothing.

    The sender takes late acknowledgments for a program that reads late. Where they wait in a queue
    of the receiver, that is the reason.
    """
    if said.stage != "peer":
        return replace(said, end=ends[1])
    if returns is None:
        return replace(said, stage="application", end=ends[1], name=reader)
    why = f"acknowledgments wait in it in {units.share(returns.waits)} of the samples"
    return replace(said, stage="qdisc", end=ends[1], name=returns.name, kind="measured",
                   because=f"{why}; {said.because}")  # fmt: skip


def _lossy(
    said: Reading, read: Reading | None, losses: Losses | None, ends: tuple[str, str]
) -> Reading:
    place = losses.place if losses is not None else None
    if place is not None and place.end != BETWEEN:
        return replace(said, stage=place.stage, end=place.end, name=place.name, kind="reported",
                       because=f"{place.because}; {said.because}")  # fmt: skip
    if read is not None and read.end == "here" and read.stage in {*having("arrives"), "refused"}:
        return replace(read, end=ends[1])
    return replace(said, end=BETWEEN if said.stage == "path" else ends[0])


def with_ends(facts: Facts, joined: Iterable[Joined]) -> Facts:
    """The facts, where the verdict of both ends replaces that of this end, at its present rate.

    An interface that is limited as one of these flows follows it. What it said of the peer is left
    out where the stage of the peer is known.
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
            told = both.stage.end == THERE and both.stage.stage not in having("beyond")
            own = [step for step in one.ladder if not (told and step.stage in having("beyond"))]
            limits.append(bounded(as_flow(replace(one, ladder=tuple(own)), both)))
    return labelled(replace(facts, limits=tuple(limits))) if known else facts
