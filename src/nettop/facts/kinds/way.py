"""The way of packets to a destination in trouble, and what decides it: `facts.way`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from operator import attrgetter
from typing import Final

from ...collect._counted import entries
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..flow_words import end
from ..host_names import Named, named
from ..kind import Kind
from ..way import Flow, Step, Way, walk
from ..way.arrivals import dropped
from ..way.flow import PASSES, RENAMED, ROUTING, SILENT, STOPS, SUSPECT, Trouble, inside
from ..way.lookup import REFUSED as ERRORS
from ..way.trouble import SILENCE, flows, troubles

HEARD: Final = ("ECONNREFUSED", "ECONNRESET")  # errors that come with an answer
RULES: Final = "hooks"
# what somebody sets so, and some configurations need
WRITTEN: Final = ("ipsec", "arp", "bridge", "fdb", "route", "rule")
LISTENER: Final = "listener"
REFUSED: Final = "EHOSTUNREACH"  # routing answers with it at once, a neighbour after seconds
REFUSES: Final = (LISTENER, "local", RULES)
NO_PORT: Final = "EADDRNOTAVAIL"  # by IPv4 the kernel gives it after the route was found
ARP: Final = ("arp",)  # places of what only an answer by ARP decides


@dataclass(frozen=True, slots=True)
class WayFact:
    """One destination that packets of this host do not reach, and why by its configuration."""

    id: str = label("destination: address, or address:port")
    what: str = gauge("what fails", default="")
    stops: bool = gauge("this host shows what stops the packets, or may", default=False)
    decider: str = gauge("the first thing that cannot carry the packets", default="")
    nic: str | None = maybe("outgoing interface")
    place: str = gauge("its place on the way: route, neighbour, device …", default="")
    rests: str = gauge("the source that defines it", default="")
    command: str = gauge("the command that shows it", default="")
    change: str = gauge("what cures it", default="")
    asks: str = gauge("arguments of `nettop why --to` that ask the same", default="")
    passed: str = gauge("what the packets pass before", default="")
    meant: bool = gauge("what stops the packets may be meant so", default=False)
    near: bool = gauge(
        "a host of this network asks, and a set of the packet filter lists it for this port alone",
        default=False,
    )
    events: int = gauge("calls that failed while nettop looked", "calls", default=0)
    packets: int = gauge("packets that arrived in vain while nettop looked", "packets", default=0)
    per_s: float | None = maybe("packets that arrive in vain", "packets/s")
    slow: bool = gauge("each failure takes seconds: no answer comes", default=False)
    sockets: int = gauge("sockets that wait for an answer", "sockets", default=0)
    share: float | None = maybe("of the attempts to reach it, those that failed", "ratio")
    space: str = gauge("the other namespace whose connections these are", default="")
    explains: tuple[str, ...] = gauge("facts that this one explains", default=())


def build(frame: Frame, facts: Facts) -> tuple[WayFact, ...]:
    """One fact for each destination in trouble whose way was read.

    Of connections of other namespaces, of clients of this router, or of addresses that are asked
    for, that one thing stops, one stands for all: rather one of which it is known who asks.
    """
    if "ways" not in frame.tables:
        return ()
    found: dict[str, WayFact] = {}
    known = sorted(troubles(frame, facts), key=lambda o: o.places == ARP and not o.flow.origin)
    for number, one in enumerate(known):
        made = _fact(one, frame)
        alike = made.stops and bool(one.space or one.places in (("masked",), ARP))
        found.setdefault(f"{made.nic} {made.decider}" if alike else str(number), made)
    return tuple(found.values())


def _fact(trouble: Trouble, frame: Frame) -> WayFact:
    flow = trouble.flow
    ways = [walk(one, frame) for one in flows(trouble, frame)]
    decided = (
        (one, step) for one in ways if (step := _decider(trouble, one)) is not None
        and (step.place in ROUTING or _same(trouble, one.flow))
    )  # fmt: skip
    way, step = next(decided, (ways[0], Step("", "", "")))
    marked = f", for packets with mark {way.flow.mark:#x}" if way.flow.mark else ""
    line = named(frame, flow.to, trouble.pid) if step.saw else Named()
    answered = None if step.picks and trouble.packets else trouble.answered
    near = _near(trouble, step, frame)
    meant = _meant(trouble, step)
    if near and step.picks == RENAMED:  # a rule shows that all of these are to be let pass
        meant, answered = False, 0
    change = f"if it is not meant so: {step.change}" if meant and step.change else step.change
    return WayFact(
        id=f"{flow.name} from {flow.origin}" if trouble.space else flow.name,
        what=trouble.calls[0].replace(SILENCE, "is refused" if step.answers else SILENCE),
        stops=bool(step.saw),
        decider="; ".join(filter(None, (f"{step.saw}{marked}", line.said))),
        nic=_nic(frame, way),
        place=step.place,
        rests=_rests().get(step.place, ""),
        command=step.command,
        change="; or, ".join(filter(None, (change, line.cure))),
        asks=_asks(way.flow),
        passed="; ".join(one.saw for one in way.of(PASSES)),
        meant=meant,
        near=near,
        events=trouble.events,
        packets=trouble.packets,
        per_s=trouble.per_s,
        slow=not step.answers
        and any(
            one in SILENT and not (one == REFUSED and step.place in ROUTING)
            for one in trouble.errors
        ),
        sockets=trouble.sockets,
        share=None if answered is None else trouble.failed / (trouble.failed + answered),
        space=trouble.space,
        explains=(
            *trouble.ids,
            *(dropped(frame, flow) if step.place in (RULES, *ROUTING) else ()),
            *(() if trouble.space else (end(flow.to, flow.port),)),
            *(name for one in way.steps for name in (*one.neighbours, one.qdisc) if name),
        ),
    )


@cache
def _rests() -> Mapping[str, str]:
    """The source of each place of a way."""
    return {one["name"]: words.rests for one, words in entries("way-places.toml", "place")}


def _same(trouble: Trouble, flow: Flow) -> bool:
    """Whether anything on the way of the flow may be the cause, not its rule of routing alone.

    Not of a source that the socket may have, nor of a mark of which no call was told.
    """
    marked = flow.mark == trouble.flow.mark or any(one in ERRORS for one in trouble.errors)
    return marked and flow.origin == trouble.flow.origin


def _meant(trouble: Trouble, step: Step) -> bool:
    """Whether it may be wanted: a rule drops the packets, or a setting those of some."""
    if trouble.meant is not None:
        return trouble.meant
    some = trouble.answered is None
    written = step.picks or step.place == RULES or (some and step.place in WRITTEN)
    return bool(trouble.packets and written)


def _near(trouble: Trouble, step: Step, frame: Frame) -> bool:
    """Whether a host of this network asks, which a set lists for this port alone, or RENAMED."""
    client, networks = trouble.flow.origin, frame.rows("addresses")
    if not client or not any(inside(client, f"{one.address}/{one.prefix}") for one in networks):
        return False
    rows = [row for row in frame.rows("drop_reasons") if row.where == "here"]
    alone = {row.to_port for row in rows if row.source == client} == {trouble.flow.port}
    return step.picks == RENAMED or (step.picks == "element" and alone)


def _decider(trouble: Trouble, way: Way) -> Step | None:
    """What decides it, if it fits the errors.

    Who refuses has been reached, so only what refuses can be it. What the host trusts unseen loses
    packets without a word. A port without a listener refuses, or stays silent: other errors come
    before a packet gets there.
    """
    step = way.decider
    if trouble.places:
        found = (one for one in way.steps if one.outcome in (STOPS, SUSPECT))
        at = (one for one in found if one.place in trouble.places)
        return next((one for one in at if trouble.by in one.saw), None)
    if not trouble.sockets and all(one in HEARD for one in trouble.errors):
        return step if step is not None and step.place in REFUSES else None
    if ":" not in way.flow.to and not trouble.sockets and {*trouble.errors} == {NO_PORT}:
        return None
    silent = trouble.sockets or any(one in SILENT for one in trouble.errors)
    heard = silent or any(one in HEARD for one in trouble.errors)
    if step is not None and step.place == LISTENER and not heard:
        return None
    return step or (way.suspect if silent else None)


def _nic(frame: Frame, way: Way) -> str | None:
    """The interface of the packets; the loopback interface is no fact, and a rule has no value."""
    name = way.flow.arrives or way.interface
    loops = any(one.interface == name and one.loopback for one in frame.rows("links"))
    return None if loops else name


def _asks(flow: Flow) -> str:
    mark = f" --mark {flow.mark:#x}" if flow.mark else ""
    mark += f" --user {flow.user}" if flow.user else ""
    mark += f" --oif {flow.leaves}" if flow.leaves else ""
    udp = " --udp" if flow.protocol == "udp" else ""
    ends = () if flow.source_port else (flow.origin, flow.arrives)
    place = "%".join(one for one in ends if one)
    return f"{flow.name}{f' --from {place}' if place else ''}{mark}{udp}"


KIND = Kind(
    WayFact, "ways", build=build, name="way", parents={"nic": attrgetter("nic")},
    target=lambda one: one.id.replace(" ", "-"), example={"id": "192.0.2.7:443"},
    tables={"": "ways"},
)  # fmt: skip
