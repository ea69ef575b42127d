"""The parts of a way: what this host sends, takes or forwards, and the way of the answers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from ...collect.ways import Question
from ...terms.dataclass import dataclass
from .flow import Flow
from .hop import Hop, routed
from .host import Host, address, inside, network

OUT: Final = "out"  # this host sends
IN: Final = "in"  # this host takes
THROUGH: Final = "through"  # this host forwards
BRIDGED: Final = "bridged"  # a bridge of this host forwards the frame, without a look at the route


@dataclass(frozen=True, slots=True)
class Leg:
    """One part of the way, with the kernel's answer to its question."""

    role: str
    flow: Flow
    question: Question
    hop: Hop
    host: Host
    back: bool = False  # the way of the answers

    @property
    def what(self) -> str:
        """The packets in words."""
        return "answers" if self.back else "packets"


@dataclass(frozen=True, slots=True)
class Legs:
    """The parts of a way, and every question behind them."""

    case: str
    legs: tuple[Leg, ...]
    questions: tuple[Question, ...]


def legs(flow: Flow, host: Host) -> Legs:
    """The parts of the way of a flow. A part whose question depends on another comes after it."""
    ours = host.local(flow.to)
    foreign = bool(flow.arrives) or bool(flow.origin and not host.local(flow.origin))
    asked: list[Question] = []

    def leg(role: str, question: Question, *, back: bool = False) -> Leg:
        asked.append(question)
        return Leg(role, flow, question, routed(host, question), host, back)

    def case() -> Iterator[Leg]:
        plain = Question(flow.to, flow.origin, mark=flow.mark, protocol=flow.protocol,
                         port=flow.port)  # fmt: skip
        if not foreign:
            sent = leg(OUT, plain)
            yield sent
            if sent.hop.kind == "local":
                yield Leg(IN, flow, plain, sent.hop, host)
                yield Leg(IN, flow, plain, sent.hop, host, back=True)
            return
        origin = flow.origin or _somebody(host, flow)
        arrives = flow.arrives
        if not arrives:
            first = Question(origin, protocol=flow.protocol)
            asked.append(first)
            arrives = routed(host, first).interface or ""
        if not arrives:  # it is not known where the packet comes in
            yield leg(OUT, Question(origin, protocol=flow.protocol), back=True)
            return
        comes = Question(flow.to, origin, arrives, protocol=flow.protocol, port=flow.port)
        if not ours and (bridge := bridges(host, arrives, flow.to)):
            asked.append(comes)
            yield Leg(BRIDGED, flow, comes, Hop("unicast", interface=bridge), host)
            return
        there = leg(IN if ours else THROUGH, comes)
        yield there
        if ours:
            yield leg(OUT, Question(origin, flow.to, protocol=flow.protocol), back=True)
        elif there.hop.goes and there.hop.interface:
            returns = Question(origin, flow.to, there.hop.interface, protocol=flow.protocol)
            yield leg(THROUGH, returns, back=True)

    found = tuple(case())
    name = {OUT: "output", IN: "input"}.get(found[0].role, "forward")
    if not foreign and ours:
        name = "local"
    return Legs(name, found, tuple(dict.fromkeys(asked)))


def bridges(host: Host, arrives: str, to: str) -> str:
    """The bridge that forwards a frame from one of its ports to `to`; empty: it is routed.

    A host on the same bridge is meant where the bridge has no address, or `to` is in its network.
    """
    link = host.links.get(arrives)
    if link is None or link.slave_kind != "bridge" or not link.master:
        return ""
    own = [
        row for row in host.addresses
        if row.interface == link.master and row.family == address(to).version
        and row.scope == "global"
    ]  # fmt: skip
    near = any(inside(to, f"{row.address}/{row.prefix}") for row in own)
    return link.master if near or not own else ""


def _somebody(host: Host, flow: Flow) -> str:
    """An address behind the incoming interface, by its routes: the kernel wants a source."""
    family = address(flow.to).version
    for row in host.fib:
        there = network(row.to)
        usable = there.prefixlen and not there.is_link_local
        if row.interface == flow.arrives and row.family == family and usable:
            for one in islice(there.hosts(), 2):
                if not host.local(str(one)):
                    return str(one)
    return "192.0.2.1" if family == 4 else "2001:db8::1"  # for documentation: RFC 5737, RFC 3849
