"""Packets that the kernel drops for one reason at one place: collector `drop_reasons`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ...collect import drop_reasons
from ...collect._counted import NORMAL
from ...collect.drop_reasons import Row as DropReasonRow
from ...collect.ways import Question
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Entry, Frame
from ...terms.dataclass import dataclass
from ...terms.text import NAMED, few, most
from .. import Facts
from ..counters import grown
from ..drop_causes import BACK, COPY, OTHER, Seen, refined
from ..flow_words import end, owners, total
from ..kind import Kind
from ..peers import dropped
from ..socket_causes import arrives
from ..way.flow import Host, address
from ..way.lookup import routed
from ..way.steps.listener import listeners, misses

IP: Final = ("ip", "ip6")  # protocols of what is dropped before its port is known
COUNTED: Final = 0.25  # of drops of no interface, by a counter read apart: fewer are of others
HUGE: Final = 1 << 20  # bytes: no interface has such an MTU
# reasons that may come from a wrong hardware address or a second owner of an address
FRAMES: Final = (OTHER, "IP_LOCAL_SOURCE", BACK, "IP_INVALID_SOURCE", "IP_LOCALNET")
UNREAD: Final = ("UNHANDLED_PROTO", "PTYPE_ABSENT")  # the latter: of Linux 5.18
# reasons for which packets are dropped before they leave
LEAVING: Final = ("PKT_TOO_BIG", "NEIGH_FAILED", "NEIGH_QUEUEFULL", "NEIGH_CREATEFAIL")


@dataclass(frozen=True, slots=True)
class Drop:
    """Drops of one reason at one place, in the network namespace of nettop."""

    id: str = label("reason and place, e.g. NO_SOCKET/tcp_v4_rcv")
    reason: str = gauge("the kernel's name of the reason", default="")
    place: str = gauge("function of the kernel that drops", default="")
    kind: str = gauge("kind of the reason", default="")
    means: str = gauge("what the kernel found", default="")
    cause: str = gauge("what decides it", default="")
    advice: str = gauge("how to find out more, and what helps", default="")
    rests: str = gauge("the source that defines it", default="")
    rule: str = gauge("the rule that explains it", default="")
    whose: str = gauge("protocols and local ports", default="")
    ports: tuple[str, ...] = gauge("these ports, e.g. tcp port 80", default=())
    of: str | None = maybe("from and to, such as")
    nics: str = gauge("interfaces", default="")
    nic: str | None = maybe("the interface where most are dropped")
    peers: tuple[str, ...] = gauge("ends whose packets these are, as `facts.peers`", default=())
    filters: str = gauge("rules of the packet filter, or filters of tc, that drop", default="")
    rules: tuple[str, ...] = gauge("their names", default=())
    raises: tuple[str, ...] = gauge("counters of the host that rise with it", default=())
    cut: bool = gauge("they are of an open connection of which nothing else comes", default=False)
    exact: bool = gauge("more is known than the reason says", default=False)
    wanted: bool = gauge(
        "this host wants such packets, and no rule or program drops", default=False
    )
    unread: bool = gauge("frames of a type for which this host has no protocol", default=False)
    through: float | None = maybe(
        "packets of the protocol that get through; of frames of no protocol all others of the "
        "interface", "packets/s",
    )  # fmt: skip
    packets: int = gauge("packets dropped while nettop looked", "packets", default=0)
    per_s: float | None = maybe("packets dropped", "packets/s")


_ETH0: Final = re.compile(r"\beth0\b")


def build(frame: Frame, facts: Facts) -> tuple[Drop, ...]:
    """One fact for each reason and place that dropped in this namespace."""
    found: dict[tuple[str, str], list[Entry[Any]]] = {}
    for entry in frame.tables.get("drop_reasons", ()):
        if entry.now.packets and (entry.now.where == "here" or _ours(entry, facts)):
            found.setdefault((entry.now.reason, entry.now.place), []).append(entry)
    if not found:
        return ()
    host, programs, out = Host.of(frame), _programs(frame), []
    for key, entries in found.items():
        rows = [entry.now for entry in entries]
        one = refined(Seen(_drop(*key, entries, host, programs), rows, host, facts))
        out.append(replace(one, through=_through(one, facts)))
    return tuple(out)


def _ours(entry: Entry[Any], facts: Facts) -> bool:
    """Whether packets of no interface, as fragments that wait, are those of a counter here."""
    row = entry.now
    counter = drop_reasons.counted_by(row.reason, row.place, row.protocol)
    rate: float = (getattr(facts.host, counter, None) if counter else None) or 0.0
    return row.where == "unknown" and 0 < rate >= COUNTED * (grown(entry, "packets") or 0.0)


def _through(drop: Drop, facts: Facts) -> float | None:
    """What gets through beside such packets: the rest of those of IP, or fewer datagrams.

    IP counts what arrives before it drops any (ip_rcv_core(), ip6_rcv_core()); datagrams count
    where programs read them, or a tunnel takes them. Both are read apart: it may be below zero.
    """
    if drop.unread:
        came = next((nic.per_s.rx_packets for nic in facts.nics if nic.name == drop.nic), None)
        return None if came is None else max(0.0, came - (drop.per_s or 0.0))
    arrived, read = facts.host.ip_in, facts.host.udp_in
    rest = None if arrived is None else arrived - (drop.per_s or 0.0)
    datagrams = drop.ports[:1] and drop.ports[0].startswith("udp")
    return read if datagrams and read is not None and (rest is None or read < rest) else rest


def _programs(frame: Frame) -> dict[tuple[str, str], str]:
    """` of NAME[PID]` by protocol and port, where one program alone receives there.

    Of datagram sockets that share a port those that lose count. A socket whose program is not known
    may be of another one.
    """
    names = owners(frame)
    found: dict[tuple[str, str], set[str]] = {}
    losing: dict[tuple[str, str], set[str]] = {}
    for entry in frame.tables.get("sockets_udp", ()):
        place, who = ("udp", str(entry.now.local_port)), names.get(entry.now.inode, "")
        found.setdefault(place, set()).add(who)
        if entry.rate("drops"):
            losing.setdefault(place, set()).add(who)
    for row in frame.rows("sockets_tcp"):
        if row.state == "listen":
            place = "tcp", str(row.local_port)
            found.setdefault(place, set()).add(names.get(row.inode, ""))
    alone = {place: min(who) for place, who in {**found, **losing}.items() if len(who) == 1}
    return {place: f" of {who}" for place, who in alone.items() if who}


def _drop(
    reason: str, place: str, entries: list[Entry[Any]], host: Host,
    programs: Mapping[tuple[str, str], str],
) -> Drop:  # fmt: skip
    group = _to([entry.now for entry in entries])
    words = drop_reasons.words(reason, place, group)
    places, nics, ends = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    for row in (entry.now for entry in entries):
        places[row.protocol, _port(host, row)] += row.packets
        leaves, more = _back(host, row) if row.reason == BACK else _leaves(host, row)
        nics[leaves or arrives(host, row)] += row.packets
        ends[_ends(row) + more if row.source else ""] += row.packets
    nic = next((name for name, _ in nics.most_common() if name), None)
    foremost = [place for place, _ in places.most_common()]
    ports = [f"{protocol} port {number}" if number else protocol for protocol, number in foremost]
    named = {} if reason == COPY else programs
    whose = [port + named.get(place, "") for port, place in zip(ports, foremost, strict=True)]
    return Drop(
        id=f"{reason}/{place}" if place else reason, reason=reason, place=place, kind=words.kind,
        means=words.means, cause=words.cause, rests=words.rests,
        advice=_ETH0.sub(nic or "eth0", words.advice),
        rule=words.rule, whose=few(whose, NAMED), ports=tuple(ports[:NAMED]), of=most(ends) or None,
        nics=most(nics), nic=nic, peers=dropped(host, (entry.now for entry in entries)),
        raises=tuple({
            one: 0 for protocol, _ in foremost
            for one in drop_reasons.raised(reason, place, protocol)
        }),
        unread=reason in UNREAD and words.kind == NORMAL,
        wanted=_wanted(host, max((entry.now for entry in entries), key=lambda row: row.packets)),
        packets=sum(entry.now.packets for entry in entries),
        per_s=total(grown(entry, "packets") for entry in entries),
    )  # fmt: skip


def _wanted(host: Host, row: DropReasonRow) -> bool:
    """Whether a socket takes such packets, or IP has not yet seen their port; they get no answer.

    What a rule or a BPF program decides may be meant so, and the way of the packet tells it.
    """
    if not row.to or row.by or not (host.local(row.to) or address(row.to).is_multicast):
        return False
    if drop_reasons.decided(row.reason, row.place) or drop_reasons.answered(row.reason, row.place):
        return False
    found = listeners(host, row.protocol, row.to_port) if row.port else ()
    takes = (misses(host, one, row.to, arrives(host, row)) is None for one in found)
    return any(takes) if row.port else row.protocol in IP


def _to(rows: Sequence[DropReasonRow]) -> str:
    """The kind of address to which most packets go; empty: it is not known."""
    kinds = Counter[str]()
    for row in rows:
        if row.to:
            kinds["multicast" if address(row.to).is_multicast else "unicast"] += row.packets
    return max(kinds, key=lambda kind: kinds[kind], default="")


def _port(host: Host, row: DropReasonRow) -> str:
    """The port of this host: of what has not yet reached IP the kernel does not know its side."""
    if row.source and row.port and host.local(row.to) and not host.local(row.source):
        return str(row.to_port)
    return row.port


def _ends(row: DropReasonRow) -> str:
    """Both ends of a packet: of the client the address alone, as its port is of chance.

    Clients take their ports above those of services.
    """
    source, to = row.source, end(row.to, row.to_port) if row.to_port else row.to
    if row.source_port and row.source_port < row.to_port:
        source, to = end(row.source, row.source_port), row.to
    if row.reason in FRAMES and row.hardware:
        return f"{source} (frame from {row.sender} to {row.hardware}) to {to}"
    return f"{source} to {to}"


def _back(host: Host, row: DropReasonRow) -> tuple[str, str]:
    """No interface by which it was to leave, and words about the way back that it lacks.

    net/ipv4/fib_frontend.c, __fib_validate_source(): the route is looked up as for an answer.
    """
    if not row.source or host.unread("fib"):
        return "", ""
    hop = routed(host, Question(row.source, protocol=row.protocol))
    if hop.found.doubt:
        return "", ""
    if not hop.goes:
        return "", ", to whose source no route leads"
    if hop.interface in (None, arrives(host, row)):
        return "", ""
    route = f"route {hop.network} dev" if hop.network else "dev"
    return "", f", but the way back is {route} {hop.interface}"


def _leaves(host: Host, row: DropReasonRow) -> tuple[str, str]:
    """The interface by which a packet was to leave, and words about it; empty: it is not one."""
    if row.reason not in LEAVING or not row.source or host.local(row.source):
        return "", ""
    hop = routed(host, Question(row.to, row.source, arrives(host, row), protocol=row.protocol))
    link = host.links.get(hop.interface or "")
    if link is None or link.loopback:
        return "", ""
    mtu = min(one for one in (hop.mtu, link.mtu, HUGE) if one)
    size = f" (MTU {mtu})" if row.reason == "PKT_TOO_BIG" and mtu < HUGE else ""
    return link.interface, f" by {link.interface}{size}"


KIND = Kind(
    Drop, "drops", build=build, example={"id": "NO_SOCKET/tcp_v4_rcv"}, tables={"": "drop_reasons"}
)


@dataclass(frozen=True, slots=True)
class Failure:
    """One group of counters, by the name of its first."""

    name: str = label("its first counter, e.g. PAWSEstab")
    means: str = gauge("what is counted", default="")
    cause: str = gauge("why it happens", default="")
    advice: str = gauge("how to find out more, and what helps", default="")
    rests: str = gauge("the source that defines it", default="")
    events: float | None = maybe("counted now", "events/s")
    least: float = gauge("threshold: number in ten seconds", "events", default=3.0)
    reason: str = gauge("drop reason of the kernel that says more, and is seen now", default="")


def failures(frame: Frame, facts: Facts) -> tuple[Failure, ...]:
    """One fact for each group that moved."""
    entries = frame.tables.get("failures", ())
    drops = [one for one in build(frame, facts) if one.kind != NORMAL]
    told = {name for one in drops for name in (one.reason, one.id)}
    return tuple(
        Failure(
            row.name,
            row.means,
            row.cause,
            row.advice,
            row.rests,
            rate,
            row.least,
            next((one for one in row.reasons.split() if one in told), ""),
        )
        for entry in entries
        if (rate := entry.rate("events")) and (row := entry.now)
    )


FAILURE = Kind(
    Failure, "failures", needs=("failures",), build=failures, example={"name": "PAWSEstab"}
)
