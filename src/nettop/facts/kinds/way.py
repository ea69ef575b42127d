"""The way of packets to a destination in trouble, and what decides it: `facts.way`."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from ...frame.fields import gauge, label
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ..flow_words import end
from ..kind import Kind
from ..way import Step, walk
from ..way.flow import PASSES
from ..way.trouble import Trouble, troubles

if TYPE_CHECKING:
    from .. import Facts


@dataclass(frozen=True, slots=True)
class WayFact:
    """One destination that packets of this host do not reach, and why by its configuration."""

    id: str = label("destination: address, or address:port")
    what: str = gauge("what fails", default="")
    stops: bool = gauge("something visible here decides it", default=False)
    decider: str = gauge("the first thing that cannot carry the packets", default="")
    place: str = gauge("its place on the way: route, neighbour, device …", default="")
    command: str = gauge("the command that shows it", default="")
    change: str = gauge("what cures it", default="")
    passed: str = gauge("what the packets pass before", default="")
    events: int = gauge("calls that failed while nettop looked", "calls", default=0)
    sockets: int = gauge("sockets that wait for the first answer", "sockets", default=0)
    share: float | None = gauge("attempts that failed / all attempts", "ratio", default=None)
    explains: tuple[str, ...] = gauge("facts that this one explains", default=())


def build(frame: Frame, facts: Facts) -> tuple[WayFact, ...]:
    """One fact for each destination in trouble whose way was read."""
    if "ways" not in frame.tables:
        return ()
    return tuple(_fact(one, frame) for one in troubles(frame, facts.more.get("attempt", ())))


def _fact(trouble: Trouble, frame: Frame) -> WayFact:
    way, flow = walk(trouble.flow, frame), trouble.flow
    step = way.decider or way.suspect or Step("", "", "")
    failed = trouble.events + trouble.sockets
    fails = ", ".join(trouble.calls[:2])
    return WayFact(
        id=flow.name,
        what=f"{fails} to {flow.name}" if len(trouble.calls) < 3 else f"{fails} … to {flow.name}",
        stops=bool(step.saw),
        decider=step.saw,
        place=step.place,
        command=step.command,
        change=step.change,
        passed="; ".join(one.saw for one in way.of(PASSES)),
        events=trouble.events,
        sockets=trouble.sockets,
        share=failed / (failed + trouble.answered),
        explains=(*trouble.ids, end(flow.to, flow.port), *_neighbours(way.steps)),
    )


def _neighbours(steps: tuple[Step, ...]) -> tuple[str, ...]:
    """The neighbour on the way, as facts of kind `absent` have it."""
    return tuple(
        one.command.removeprefix("ip neigh show ").replace(" dev ", "@")
        for one in steps if one.place == "neighbour"
    )  # fmt: skip


KIND = Kind(
    name="way", type=WayFact, plural="ways", key=attrgetter("id"), target=attrgetter("id"),
    names={"way": "way.id"}, example={"id": "192.0.2.7:443"}, tables={"": "ways"}, build=build,
)  # fmt: skip
