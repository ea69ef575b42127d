"""What a look lost, as values and in a sentence; `accounting` makes them of two frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Final, NamedTuple

from ..collect import drop_reasons
from ..collect.snmp import Row as SnmpRow
from ..terms.dataclass import dataclass
from ..terms.text import few
from ..terms.units import many, seconds
from . import rhythm

PROTOCOLS: Final = "protocols"  # instead of a stage: what IP, UDP and TCP refuse
MERGED: Final = 1.1  # segments for a packet of a counter: fewer are the error of both readings
MOST: Final = 3  # reasons that are named


class Place(NamedTuple):
    """One counter that rose, and how many of its packets have a reason."""

    counter: str
    stage: str  # `PROTOCOLS`: it is none of the stages that can be full
    packets: int
    explained: int
    rest: int  # that no reason explains; the others are within the error of both readings


@dataclass(frozen=True, slots=True)
class Accounting:
    """What was lost in one look."""

    seconds: float
    places: tuple[Place, ...] = ()  # the one that lost most first
    reasons: tuple[tuple[str, int], ...] = ()  # of what counters have, in segments
    alone: tuple[tuple[str, int], ...] = ()  # of what no counter has
    unread: str | None = None  # why the reasons are not known; empty: nobody asked for them
    refused: int = 0  # packets that no socket takes, whose sender is told so

    @property
    def counted(self) -> int:
        """Packets lost by counters."""
        return sum(one.packets for one in self.places)

    @property
    def explained(self) -> int:
        """Those that the kernel gives a reason for."""
        return sum(one.explained for one in self.places)

    @property
    def stages(self) -> dict[str, int]:
        """The rest by stage; without reasons all of it."""
        found = Counter[str]()
        for one in self.places:
            found[one.stage] += one.rest
        return {stage: packets for stage, packets in found.most_common() if packets}

    @property
    def uncertain(self) -> int:
        """Those that may have a reason: so few come between both readings."""
        return self.counted - self.explained - sum(one.rest for one in self.places)


def sentences(one: Accounting | None, rhythms: Iterable[rhythm.Rhythm]) -> list[str]:
    """What the look lost, and what came in bursts; nothing where nothing did."""
    lost = sentence(one) if one is not None else ""
    bursts = [f"in bursts: {text}" for text in rhythm.sentences(rhythms)]
    return [lost, *bursts] if lost else bursts


def sentence(one: Accounting) -> str:
    """`lost in 5 s: 80 packets by counters; 50 explained …; 30 by stage: ring 30`.

    Empty where nothing was lost or refused.
    """
    parts = [f"{many(one.counted, 'packets')} by counters"] if one.counted else []
    rest = f"by stage: {', '.join(_rest(one))}"
    if one.counted and one.unread is not None:
        parts.append(rest)
        if any(place.counter in drop_reasons.counters() for place in one.places):
            parts.append(f"explained: not read, {one.unread}" if one.unread else "not explained")
    elif one.counted:
        segments = sum(count for _, count in one.reasons)
        more = f": {segments:,} segments" if segments > MERGED * one.explained else ""
        names = f" ({_named(one.reasons)}{more})" if one.reasons else ""
        left = sum(one.stages.values())
        parts.append(f"{one.explained:,} explained by the kernel's reasons{names}")
        parts += [f"{left:,} {rest}"] if left else []
        parts += [f"{one.uncertain:,} within the error of both readings"] if one.uncertain else []
    if one.alone:
        packets = many(sum(count for _, count in one.alone), "more" if parts else "packets")
        parts.append(f"{packets} by the kernel's reasons alone ({_named(one.alone)})")
    refused = f"{many(one.refused, 'packets')} that no socket takes" if one.refused else ""
    said = [f"lost in {seconds(one.seconds)}: {'; '.join(parts)}"] * bool(parts)
    said += [f"refused{'' if parts else f' in {seconds(one.seconds)}'}: {refused}"] * bool(refused)
    return "; ".join(said)


def _rest(one: Accounting) -> Iterator[str]:
    """The rest of each stage; of the protocols with what the counters count."""
    for stage, packets in one.stages.items():
        counters = [place.counter for place in one.places if place.stage == stage and place.rest]
        words = ", ".join(_meanings()[name] for name in counters if stage == PROTOCOLS)
        yield f"{stage} {packets:,}" + (f" ({words})" if words else "")


@cache
def _meanings() -> Mapping[str, str]:
    """What the counters of the protocols count, by their names."""
    return {one.name: str(one.metadata["help"]) for one in fields(SnmpRow)}


def _named(reasons: tuple[tuple[str, int], ...]) -> str:
    """The most frequent ones."""
    return few((name for name, _ in reasons), MOST)
