"""The parts of a way: what this host sends, takes or forwards, and the way of the answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address
from itertools import islice
from typing import Final, NamedTuple

from ...collect.links import Row as LinkRow
from ...collect.nft_rules import Row as RuleRow
from ...collect.translated import Row
from ...collect.ways import Question
from ...terms.dataclass import dataclass
from ..flow_words import end
from .chains import cure, named, passed, shown
from .flow import Flow, Host, Trouble, address, inside, network
from .lookup import Hop, routed
from .packet import ESTABLISHED, MARKS, MAY_MARK, Packet, ports

OUT: Final = "out"  # this host sends
IN: Final = "in"  # this host takes
THROUGH: Final = "through"  # this host forwards
BRIDGED: Final = "bridged"  # a bridge of this host forwards the frame, without a look at the route


class Marking(NamedTuple):
    """A rule of the packet filter that gives packets a mark, in words; 0: none does."""

    mark: int = 0
    by: str = ""
    cure: str = ""


@dataclass(frozen=True, slots=True)
class Leg:
    """One part of the way, with the kernel's answer to its question."""

    role: str
    flow: Flow
    question: Question
    hop: Hop
    host: Host
    back: bool = False  # the way of the answers
    was: Flow | None = None  # the flow before its destination was replaced
    by: Translation | None = None  # that replaced it
    above: str = ""  # tunnel whose packets these are
    marked: Marking = Marking()  # for the mark of the question

    @property
    def what(self) -> str:
        """The packets in words."""
        return "answers" if self.back else "packets"

    @property
    def next_hop(self) -> str:
        """ADDRESS@INTERFACE of the neighbour that is asked."""
        return f"{self.hop.gateway or self.question.to}@{self.hop.interface}"


@dataclass(frozen=True, slots=True)
class Legs:
    """The parts of a way, and every question behind them."""

    case: str
    legs: tuple[Leg, ...]
    outer: tuple[Leg, ...]  # what carries a tunnel on the way
    questions: tuple[Question, ...]


def legs(flow: Flow, host: Host) -> Legs:
    """The parts of the way of a flow. A part whose question depends on another comes after it."""
    # a connection of this host may have an address that the host has lost meanwhile
    from_here = not flow.origin or bool(flow.source_port) or host.local(flow.origin)
    foreign = bool(flow.arrives) or not from_here
    asked: list[Question] = []
    found = tuple((_arriving if foreign else _sent)(flow, host, asked))
    name = {OUT: "output", IN: "input"}.get(found[0].role, "forward")
    if not foreign and (host.local(flow.to) or found[0].hop.kind == "local"):
        name = "local"
    outer = tuple(_outer(found, host, asked))
    return Legs(name, found, outer, tuple(dict.fromkeys(asked)))


def _leg(
    role: str, question: Question, flow: Flow, host: Host, asked: list[Question], *,
    back: bool = False,
) -> Leg:  # fmt: skip
    asked.append(question)
    return Leg(role, flow, question, routed(host, question), host, back)


def _sent(flow: Flow, host: Host, asked: list[Question]) -> Iterator[Leg]:
    """What this host sends, to another host or to itself."""

    def sends(flow: Flow, source: str) -> Leg:
        question = Question(flow.to, source, leaves=flow.leaves, mark=flow.mark,
                            protocol=flow.protocol, port=flow.port, user=flow.user)  # fmt: skip
        return _leg(OUT, question, flow, host, asked)

    sent = sends(flow, flow.origin)
    source = flow.origin or sent.hop.address or ""
    if source and not flow.origin and flow.protocol == "tcp" and ":" not in flow.to:
        again = sends(flow, source)  # connect() looks again with its address: ip_route_connect()
        sent = sent if again.hop.unasked else again
    packet = Packet(
        flow.to, source, flow.protocol, flow.port,
        leaves=sent.hop.interface or "", mark=flow.mark, user=flow.user or None,
    )  # fmt: skip
    marked = _marking(host, "output", packet)
    if marked.mark:
        flow = replace(flow, mark=marked.mark)
        sent = replace(sends(flow, source), marked=marked)
    by = translation(host, "output", packet) if sent.hop.goes else None
    if by is not None:
        sent = replace(sends(_to(flow, by), source), was=flow, by=by)
    yield sent
    if sent.hop.kind == "local":
        yield Leg(IN, sent.flow, sent.question, sent.hop, host, by=by)
        yield Leg(IN, sent.flow, sent.question, sent.hop, host, back=True)
    elif sent.hop.kind == "unicast" and sent.hop.interface and source:
        answers = Question(source, sent.flow.to, sent.hop.interface, protocol=flow.protocol)
        yield _leg(IN, answers, sent.flow, host, asked, back=True)


def _arriving(flow: Flow, host: Host, asked: list[Question]) -> Iterator[Leg]:
    """What another host sends: this host takes, bridges or forwards it, and the answers."""
    origin, arrives = flow.origin or _somebody(host, flow), flow.arrives
    if not arrives:
        first = Question(origin, protocol=flow.protocol)
        asked.append(first)
        arrives = routed(host, first).interface or ""
    if not arrives:  # it is not known where the packet comes in
        question = Question(origin, protocol=flow.protocol)
        yield _leg(OUT, question, flow, host, asked, back=True)
        return
    if not host.local(flow.to) and (bridge := bridges(host, arrives, flow.to)):
        comes = Question(flow.to, origin, arrives, protocol=flow.protocol, port=flow.port)
        asked.append(comes)
        yield Leg(BRIDGED, flow, comes, Hop("unicast", interface=bridge), host)
        return
    packet = Packet(flow.to, origin, flow.protocol, flow.port, arrives=arrives)
    by = translation(host, "prerouting", packet) or _by_entry(host, flow)
    goes = flow if by is None else _to(flow, by)
    marked = _marking(host, "prerouting", packet)
    comes = Question(
        goes.to, origin, arrives, mark=marked.mark, protocol=flow.protocol, port=goes.port
    )
    ours = host.local(goes.to) or routed(host, comes).kind == "local"
    there = _leg(IN if ours else THROUGH, comes, goes, host, asked)
    there = replace(there, marked=marked)
    yield there if by is None else replace(there, was=flow, by=by)
    if ours:
        answers = Question(origin, goes.to, protocol=flow.protocol)
        came = replace(goes, arrives=arrives)
        yield _leg(OUT, answers, came, host, asked, back=True)
        if flow.protocol == "udp":
            asked.append(unbound(origin))
    elif there.hop.goes and there.hop.interface:
        answer = Packet(origin, goes.to, flow.protocol, source_port=goes.port, state=ESTABLISHED,
                        arrives=there.hop.interface)  # fmt: skip
        marked = _marking(host, "prerouting", answer)
        returns = Question(
            origin, goes.to, there.hop.interface, mark=marked.mark, protocol=flow.protocol
        )
        back = replace(_leg(THROUGH, returns, goes, host, asked, back=True), marked=marked)
        yield back if by is None else replace(back, was=flow, by=by)


def _marking(host: Host, hook: str, packet: Packet) -> Marking:
    """What marks such packets before their route is looked up: for sure, or with their own mark.

    None where no rule of routing looks at marks. What this host sends is routed again by chains of
    the type route alone (net/netfilter/nft_chain_route.c), as the table mangle of iptables has.
    """
    found = Marking()
    if any(one.mask for one in host.rules):
        family = "ip6" if address(packet.to).version == 6 else "ip"
        for chain, _, does in passed(host, hook, (family, "inet"), packet):
            again = chain.kind == "route" or (chain.old and chain.table == "mangle")
            for rule, what in does if again or hook != "output" else ():
                if what.startswith(MARKS):
                    mark = int(what.removeprefix(MARKS))
                    found = Marking(mark, f"{named(rule, chain)} gives", cure(rule))
                elif packet.mark and what in (MAY_MARK, f"{MAY_MARK}{packet.mark}"):
                    found = Marking(packet.mark, f"{named(rule, chain)} may give", cure(rule))
    return found


CARRIED: Final = {  # by kind of tunnel: the protocol of the packets that carry it
    "vxlan": "udp", "geneve": "udp", "ipip": "ipip", "sit": "sit",
    **dict.fromkeys(("gre", "gretap", "erspan", "ip6gre", "ip6gretap", "ip6erspan"), "gre"),
}  # fmt: skip


def tunnel(leg: Leg) -> LinkRow | None:
    """The tunnel by which the packets leave: the interface, or a port of the bridge that it is."""
    if leg.back or leg.above or leg.role not in (OUT, THROUGH) or leg.hop.kind != "unicast":
        return None
    host, name = leg.host, leg.hop.interface or ""
    link = host.links.get(name)
    if link is not None and link.kind == "bridge":
        entry = host.neighbours.get((name, leg.hop.gateway or leg.question.to))
        link = host.links.get(host.port(name, entry.hardware)) if entry is not None else None
    return link if link is not None and link.kind in CARRIED else None


def _outer(found: tuple[Leg, ...], host: Host, asked: list[Question]) -> Iterator[Leg]:
    """The packets that carry those of a tunnel, which this host sends to its other end."""
    for link in filter(None, map(tunnel, found)):
        local, to = link.tunnel_local or "", link.tunnel_remote
        if to is None or address(to).is_multicast or (local and not host.local(local)):
            continue
        protocol, port = CARRIED[link.kind], link.tunnel_port or 0
        flow = Flow(to, port, local, protocol=protocol)
        question = Question(to, local, protocol=protocol)
        yield replace(_leg(OUT, question, flow, host, asked), above=link.interface)


def _to(flow: Flow, by: Translation) -> Flow:
    """The flow with its new destination."""
    return replace(flow, to=by.to, port=by.port or flow.port)


def unbound(origin: str) -> Question:
    """By which address a datagram of a socket without one leaves for `origin`."""
    return Question(origin, protocol="udp")


def bridges(host: Host, arrives: str, to: str) -> str:
    """The bridge that forwards a frame to `to`; empty: it is routed.

    `arrives` is a port of it, or the bridge if the port is not known. A host on the same bridge is
    meant where the bridge has no address, or `to` is in its network, and by a group.
    """
    link = host.links.get(arrives)
    if link is None:
        return ""
    known = link.slave_kind == "bridge"
    bridge = link.master if known else arrives if link.kind == "bridge" else ""
    own = [
        row for row in host.addresses
        if row.interface == bridge and row.family == address(to).version
        and row.scope == "global"
    ]  # fmt: skip
    near = address(to).is_multicast or any(inside(to, f"{row.address}/{row.prefix}") for row in own)
    return (bridge or "") if near or (known and not own) else ""


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


_DESTINATION: Final = 1  # NFT_NAT_DNAT
_PORT: Final = 4  # hexadecimal digits
_RULES: Final = 16  # whose ports are tried


@dataclass(frozen=True, slots=True)
class Translation:
    """The new destination, and the rule that says so; port 0: it stays."""

    to: str
    port: int
    who: str
    show: str
    change: str  # where that address is not the one that is meant


def translation(host: Host, hook: str, packet: Packet) -> Translation | None:
    """The first rule of a hook that replaces the destination for sure (net/netfilter/nft_nat.c).

    A rule of the type dnat or redirect does so before the route is looked up: hook prerouting for
    what arrives, hook output for what this host sends.
    """
    family = "ip6" if address(packet.to).version == 6 else "ip"
    for chain, ended, _ in passed(host, hook, (family, "inet"), packet):
        if ended.verdict != "nat" or ended.rule is None:
            continue
        found = _destination(host, ended.rule, ended.data, packet)
        if found is not None:
            who = named(ended.rule, chain)
            change = f"correct the address in that rule, or delete it ({cure(ended.rule)})"
            return Translation(*found, who, shown(chain), change)
    return None


def _by_entry(host: Host, flow: Flow) -> Translation | None:
    """What connection tracking does, for a rule that is not understood, or gone."""
    ends = f"-p {flow.protocol} -d {flow.to}"
    found = (
        Translation(
            row.sent_to,
            row.sent_port,
            "an entry of connection tracking",
            f"conntrack -L {ends}",
            f"conntrack -D {ends} --dport {row.port}",
        )
        for row in entries(host, flow)
    )
    return next(found, None)


def before(host: Host, flow: Flow) -> Flow:
    """The flow to an address of this host before a rule of this host gave it this destination.

    The flow itself where no rule does. The port is one that rules of the filter compare.
    """
    own = host.first(flow.arrives, address(flow.to).version)
    if own is None or address(flow.to) == address(own):
        return flow
    rules = [rule for rule in host.frame.rows("nft_rules")
             if any(words[0] in ("nat", "redir") for words in rule.does)]  # fmt: skip
    asked = (port for rule in rules[:_RULES] for port in (*ports(rule.does), flow.port))
    for port in dict.fromkeys(asked):
        packet = Packet(own, flow.origin, flow.protocol, port, arrives=flow.arrives)
        by = translation(host, "prerouting", packet)
        if by is not None and (by.to, by.port or port) == (flow.to, flow.port):
            return replace(flow, to=own, port=port)
    return flow


def _destination(
    host: Host, rule: RuleRow, data: str, packet: Packet
) -> tuple[str, int] | None:  # fmt: skip
    """Address and port; None: the rule changes the source, or keeps the destination.

    `data`: of a map, an address, a port or both, each of whole registers.
    """
    values = [str(words[2]) for words in rule.does if words[0] == "immediate" and len(words) > 2]
    size = 2 * len(address(packet.to).packed)
    values += [part for part in (data[:size], data[size : size + _PORT]) if part]
    port = next((int(raw, 16) for raw in values if len(raw) == _PORT), 0)
    for name, *words in rule.does:
        if name == "redir":
            return _own(host, packet), port
        if name == "nat" and words and words[0] == _DESTINATION:
            raw = next((raw for raw in values if len(raw) == size), "")
            to = str(ip_address(bytes.fromhex(raw))) if raw else packet.to
            return to, port
    return None


def _own(host: Host, packet: Packet) -> str:
    """The address of a redirection: the first one of the incoming interface, else the loopback."""
    version = address(packet.to).version
    return host.first(packet.arrives, version) or ("127.0.0.1" if version == 4 else "::1")


LEAST: Final = 2  # connections without an answer: one may have begun just now


def entries(host: Host, flow: Flow) -> list[Row]:
    """The entries of a flow, of each port of its origin where it has none."""
    return [
        row for row in host.frame.rows("translated")
        if row.moved and (row.protocol, row.origin, row.to) == (flow.protocol, flow.origin, flow.to)
        and flow.port in (0, row.port) and flow.source_port in (0, row.origin_port)
    ]  # fmt: skip


def unreplied(host: Host) -> Iterator[Trouble]:
    """Connections without an answer: translated into the network of their client, or sent on.

    What is sent on as it came may be answered, and then it is not among the entries.
    """
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in host.frame.rows("translated"):
        shown = row.returns_to == row.origin or not host.local(row.returns_to)
        sent_on = not (row.moved or host.local(row.to)) and shown
        ours = row.protocol != "tcp" or host.local(row.origin)
        if not ours and (sent_on or (row.moved and _near(host, row))):
            groups.setdefault((row.origin, row.to, row.port), []).append(row)
    for (origin, to, port), rows in groups.items():
        silent = sum(not one.answered for one in rows)
        if silent >= LEAST:
            said = f"{silent} connections of {origin} to {end(to, port)} get no answer here"
            yield Trouble(
                Flow(to, port, origin=origin), (said,), sockets=silent,
                answered=len(rows) - silent,
                places=("hairpin",) if rows[0].moved else ("masked",),
            )  # fmt: skip


def _near(host: Host, row: Row) -> bool:
    """Whether the client and the new destination are in one network of this host."""
    networks = (f"{one.address}/{one.prefix}" for one in host.addresses)
    return any(inside(row.origin, net) and inside(row.sent_to, net) for net in networks)
