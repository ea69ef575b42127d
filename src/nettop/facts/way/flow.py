"""A flow that is asked about, the steps of its way, and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...terms.dataclass import dataclass
from ..flow_words import end

PASSES: Final = "passes"
STOPS: Final = "stops"
HIDDEN: Final = "hidden"  # what is there cannot be judged from these tables
FILTERED: Final = "NETFILTER_DROP"  # why the kernel says that it drops a packet
# errors of calls that come without an answer
SILENT: Final = ("GIVEN_UP", "ETIMEDOUT", "EHOSTUNREACH")
SUSPECT: Final = "suspect"  # the host trusts it unseen: it decides if nothing else stops the flow


@dataclass(frozen=True, slots=True)
class Flow:
    """What is asked about: packets to `to`."""

    to: str
    port: int = 0  # 0: any
    origin: str = ""  # source address; of another host: the packet comes from there
    arrives: str = ""  # interface on which the packet comes in
    mark: int = 0
    protocol: str = "tcp"
    user: int = 0  # who sends
    source_port: int = 0  # of a connection that is open; 0: a new one
    hardware: str = ""  # hardware address that the frame is for; empty: not known
    leaves: str = ""  # interface to which the socket is bound (SO_BINDTODEVICE)

    @property
    def name(self) -> str:
        """Address and port."""
        return end(self.to, self.port) if self.port else self.to


@dataclass(frozen=True, slots=True)
class Trouble:
    """One destination that packets of this host do not reach."""

    flow: Flow
    calls: tuple[str, ...] = ()  # what fails, in words
    ids: tuple[str, ...] = ()  # the facts about it, of the kinds `call` and `flow`
    events: int = 0  # failed calls
    sockets: int = 0  # that wait for the first answer
    answered: int | None = 0  # connections to it that opened; None: not known
    packets: int = 0  # that arrive in vain
    per_s: float | None = None  # the rate of these packets
    places: tuple[str, ...] = ()  # where alone it can be decided; empty: anywhere

    @property
    def failed(self) -> int:
        """The attempts that failed."""
        return self.events + self.sockets + self.packets

    @property
    def errors(self) -> tuple[str, ...]:
        """The errors of the failed calls."""
        return tuple(one.rpartition("/")[2] for one in self.ids if "/" in one)


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of the walk saw."""

    place: str  # route, neighbour, device …
    outcome: str
    saw: str  # one line
    command: str = ""  # shows it
    change: str = ""  # cures it: a command, or who must act
    neighbours: tuple[str, ...] = ()  # ADDRESS@INTERFACE that it is about
    qdisc: str = ""  # that it is about, as facts of qdiscs are named


@dataclass(frozen=True, slots=True)
class Way:
    """The answer: every step, in order."""

    flow: Flow
    case: str  # output, local, input, forward
    steps: tuple[Step, ...]
    interface: str | None = None  # by which packets leave
    origin: str = ""  # of a packet that arrives: its source, also where only an interface is asked

    @property
    def decider(self) -> Step | None:
        """The first step that cannot carry the flow; None: nothing visible stops it."""
        return next((one for one in self.steps if one.outcome == STOPS), None)

    @property
    def suspect(self) -> Step | None:
        """What decides it if the flow fails and no step stops it."""
        return next((one for one in self.steps if one.outcome == SUSPECT), None)

    def of(self, outcome: str) -> tuple[Step, ...]:
        """The steps with this outcome."""
        return tuple(one for one in self.steps if one.outcome == outcome)

    @property
    def headline(self) -> str:
        """One sentence."""
        name = self.flow.name
        if self.case in ("input", "forward"):
            on = f" on {self.flow.arrives}" if self.flow.arrives else ""
            name = f"{name} from {self.origin}{on}"
        if self.decider is not None:
            return f"{name} cannot be reached: {self.decider.saw}"
        if self.suspect is not None:
            return f"packets to {name} may be lost: {self.suspect.saw}"
        hidden = self.of(HIDDEN)
        if not hidden:
            return f"nothing visible here stops {name}"
        more = f", nor {len(hidden) - 1} more" if len(hidden) > 1 else ""
        return f"nothing visible here stops {name}; not visible from here: {hidden[0].saw}{more}"


CAME_BACK: Final = 4  # packets that came back
EXPIRES: Final = 4  # TTL: only in a loop packets are this near to their end


def loop(way: Way, hops: Sequence[int]) -> Step | None:
    """The step of a way whose packets arrive where they leave, with these TTLs.

    What is sent on by one interface only, as by a router with one arm, does not expire there.
    """
    if len(hops) < CAME_BACK or min(hops) > EXPIRES:
        return None
    to, name = way.flow.to, way.interface
    by = next((one.neighbours[0] for one in way.steps if one.neighbours), "the next hop")
    family = "-6 " if ":" in to else ""
    return Step(
        "loop", STOPS, f"packets to {to} come back on {name}, by which they leave ({len(hops)} "
        f"while nettop looked, ttl {max(hops)} down to {min(hops)}): {by} sends them to this "
        "host, and this host to it", f"tcpdump -nvi {name} dst host {to}",
        f"correct the route to {to} at one of both; `ip {family}route add unreachable NETWORK` "
        "here ends the loop for a network that nobody has",
    )  # fmt: skip
