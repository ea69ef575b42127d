"""Both ends of TCP flows: one limit, one line of stages, and where segments are lost.

Takes moments of two hosts (`frame.both`) and the facts of each. `match` finds the flows that both
hosts see, `line` orders the stages from the writer to the reader, `verdict` chooses the limit of
the flow from those of its ends, `losses` says where segments are lost, `model` joins all
of it, with the pairs for rules. A host is `here` or `there`; `between` is the network. Pure.
"""

from __future__ import annotations

from dataclasses import field
from typing import Final

from ...terms.dataclass import dataclass
from ..limits import Interval, Limit, Reading

HERE: Final = "here"
THERE: Final = "there"
BETWEEN: Final = "between"


@dataclass(frozen=True, slots=True)
class Place:
    """Where segments of a flow may be lost. Counters of a host count the packets of all flows."""

    end: str  # here, there or between
    stage: str  # a stage of `limits.stages`; `rcvbuf` is the receiving socket
    name: str
    segments: Interval  # at least, at most
    because: str


@dataclass(frozen=True, slots=True)
class Losses:
    """Segments of one flow that were sent by one stack and did not reach the other."""

    seconds: float  # length of the observation
    sent: int  # segments with data, retransmissions included
    retransmitted: int  # without those that the receiver reports as duplicates (DSACK)
    refused: float  # by the sender's own queues; TCP sends them again at once
    between: Interval  # lost between the two stacks, at least and at most
    places: tuple[Place, ...]  # the most likely first
    merged: bool = False  # the receiver counts merged segments once: bytes were counted

    @property
    def known(self) -> bool:
        """Whether the bound is smaller than the loss, or no loss was seen."""
        least, most = self.between
        return most - least <= least or most < 1.0

    @property
    def place(self) -> Place | None:
        """Where most of the lost segments were lost; None where none are known to be lost."""
        return self.places[0] if self.places and self.places[0].segments[1] >= 1.0 else None


@dataclass(frozen=True, slots=True)
class Joined:
    """One flow as both ends see it; `limit` is that of `here`, with the stages of both hosts."""

    limit: Limit
    writer: str
    reader: str
    line: tuple[Reading, ...] = ()  # from the writer to the reader
    losses: Losses | None = None
    uncounted: str = ""  # why the losses are not counted; empty: they are


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A flow of this host that the other host does not have, with what may be its other end."""

    target: str
    candidates: tuple[str, ...] = field(default=())  # flows there with the same port: a hint
