"""The outgoing interface and those below it: up, carrier, master, MTU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from ....collect.links import Row as LinkRow
from ....collect.nft_rules import Row as Rule
from ....collect.processes import Row as ProcessRow
from ....frame.rates import Frame
from ...wiring import kind_of
from ..chains import OLD, accepting, filtered
from ..flow import FILTERED, HIDDEN, PASSES, STOPS, SUSPECT, Host, Step, address, network
from ..legs import BRIDGED, IN, THROUGH, Leg

PLACE: Final = 50
TOO_BIG: Final = "PKT_TOO_BIG"
ICMP: Final = ("icmp", "icmp6")
MOST: Final = 3  # rules that are named
_CLAMP: Final = (
    "limit the MSS: nft add table inet mss; nft add chain inet mss forward '{ type filter hook "
    "forward priority mangle; }'; nft add rule inet mss forward tcp flags syn tcp option maxseg "
    "size set rt mtu (by iptables: -t mangle -A FORWARD -p tcp --tcp-flags SYN,RST SYN -j TCPMSS "
    "--clamp-mss-to-pmtu), which new connections take"
)
_DEEPEST: Final = 8  # interfaces on each other


def look(leg: Leg) -> Iterator[Step]:
    """The interface of the route, then the interfaces that carry its frames."""
    name = leg.hop.interface
    if leg.role in (IN, BRIDGED) or not leg.hop.goes or name is None:
        return
    link = leg.host.links.get(name)
    if link is None:
        yield Step("device", HIDDEN, f"the interface {name}", f"ip link show {name}")
        return
    yield from _one(leg, link, "", _DEEPEST)
    yield from _whole(leg, link)


def _whole(leg: Leg, link: LinkRow) -> Iterator[Step]:
    """Packets that are too large to be forwarded and may not be cut: ip_exceeds_mtu().

    The senders get ICMP and send smaller ones, so what was dropped is a doubt.
    """
    to, name, mtu = leg.question.to, link.interface, leg.hop.mtu or link.mtu
    dropped = leg.host.dropped(TOO_BIG, lambda row: row.to == to)
    if leg.role != THROUGH or leg.back or not dropped or not mtu:
        return
    first = leg.host.links.get(leg.question.arrives or "")
    comes = f"; {first.interface}, where they come in, has {first.mtu}" if first else ""
    larger = f"nettop set link.mtu@{name} MTU, if what is behind it takes as much"
    smaller = _CLAMP if leg.flow.protocol == "tcp" else "let the sender send smaller datagrams"
    # the headers of a tunnel take their part of what is below it
    changes = (smaller, larger) if kind_of(link, None) == "tunnel" else (larger, smaller)
    sender = leg.question.source or "the sender"
    told = f'let the ICMP "fragmentation needed" of this host pass to {sender}'
    untold, by = _untold(leg)
    change = f"{told}{by}; or {changes[0]}" if untold else f"{changes[0]}; or {told}"
    yield Step(
        "mtu", SUSPECT, f"packets to {to} are larger than the MTU {mtu} of {name}, by which they "
        f"leave, and may not be cut{untold}{comes}", f"ip link show {name}; ip route get {to}",
        f"{change}; or {changes[1]}",
    )  # fmt: skip


class Silenced(NamedTuple):
    """The fields of the host about ICMP that its packet filter drops."""

    icmp_filtered: int = 0
    icmp_filter: str = ""
    icmp_accepted_by: str = ""


def silenced(frame: Frame) -> Silenced:
    """How much ICMP the filter drops; of what comes to this host what drops it, and a cure.

    A message about a connection is related to it (net/netfilter/nf_conntrack_proto_icmp.c).
    """
    rows = [
        row for row in frame.rows("drop_reasons")
        if (row.where, row.reason) == ("here", FILTERED) and row.protocol in ICMP
    ]  # fmt: skip
    known, host = Silenced(sum(row.packets for row in rows)), Host.of(frame) if rows else None
    coming = [row for row in rows if row.to and host is not None and host.local(row.to)]
    if host is None or not coming or not (found := filtered(host, coming)):
        return known
    first = found[0]
    handle = int(first.rule) if first.rule.isdecimal() else 0
    at = Rule(first.family.removesuffix("tables"), first.table, first.chain, handle, (),
              old=first.family in OLD)  # fmt: skip
    cure = accepting(at, state="related", first=at if at.handle else True)
    return known._replace(icmp_filter=first.told, icmp_accepted_by=cure)


def _untold(leg: Leg) -> tuple[str, str]:
    """That the filter of this host drops the ICMP which tells the sender, and the rules; or empty.

    Which message of ICMP was dropped is not known.
    """
    dropped = [
        row for row in leg.host.frame.rows("drop_reasons")
        if (row.where, row.reason) == ("here", FILTERED) and row.protocol in ICMP
        and row.to == leg.question.source and row.packets and leg.host.local(row.source)
    ]  # fmt: skip
    if not dropped:
        return "", ""
    rules = ", ".join(one.told for one in filtered(leg.host, dropped)[:MOST])
    said = ", and the packet filter of this host drops the ICMP that tells the sender"
    if not rules:
        return said, ""
    return f"{said} ({rules})", f" (nft -a list ruleset shows {rules})"


def _one(leg: Leg, link: LinkRow, above: str, depth: int) -> Iterator[Step]:
    name, show = link.interface, f"ip link show {link.interface}"
    under = f", below {above}," if above else ""
    if not link.up:
        yield Step("device", STOPS, f"the interface {name}{under} is down".replace(",,", ","), show,
                   raised(link))  # fmt: skip
        return
    if link.master and not above and link.slave_kind in ("bond", "team"):
        yield Step("device", PASSES, f"{name} is a port of {link.master}", show)
    if link.carrier is False and link.kind == "bridge":
        return  # `bridge` names the port
    if link.carrier is False:
        yield Step("device", STOPS, f"the interface {name}{under} has no carrier", show,
                   raised(link) + elsewhere(leg), (leg.next_hop,))  # fmt: skip
        return
    if link.kind == "tun" and (stopped := _stopped(leg, name)):
        saw = f"no program reads {name}: {stopped.name}[{stopped.pid}] is stopped by a signal"
        yield Step("device", STOPS, saw, show, f"kill -CONT {stopped.pid}")
        return
    if link.loopback and leg.hop.kind == "unicast":
        saw = (
            f"route {leg.hop.network or leg.question.to} leads into {name}, which no packet leaves"
        )
        yield Step("device", STOPS, saw, show, f"ip route del {leg.hop.network} dev {name}")
        return
    mtu = f", mtu {link.mtu}" if link.mtu else ""
    yield Step("device", PASSES, f"{name} is up{mtu}", show)
    if link.kind == "openvswitch" or (link.master or "").startswith("ovs-"):
        yield Step("device", HIDDEN, f"the flow table of Open vSwitch behind {name}",
                   "ovs-dpctl dump-flows")  # fmt: skip
    if not depth:
        return
    below = (
        leg.host.links.get(link.link or "") if link.kind in ("vlan", "macvlan", "ipvlan") else None
    )
    if below is not None:
        if below.mtu and link.mtu and below.mtu < link.mtu:
            yield Step("device", STOPS, f"the MTU of {below.interface} ({below.mtu}) is below that "
                       f"of {name} ({link.mtu})", show,
                       f"nettop set link.mtu@{name} {below.mtu}")  # fmt: skip
        yield from _one(leg, below, name, depth - 1)
    if link.kind in ("bond", "team"):
        yield from _ports(leg, link)


def unplugged(host: Host, link: LinkRow) -> bool:
    """Whether it is a bridge of which no port carries."""
    ports = (one for one in host.links.values() if one.master == link.interface)
    return link.kind == "bridge" and not any(one.up and one.carrier is not False for one in ports)


def elsewhere(leg: Leg) -> str:
    """What helps if the destination is not in the network of the interface, but behind a router."""
    hop, host, to = leg.hop, leg.host, leg.question.to
    if leg.back or hop.gateway is not None or hop.network in (None, to):
        return ""
    family = address(to).version
    for row in host.fib:
        other = row.interface not in (None, hop.interface) and not (row.dead or row.linkdown)
        if other and row.gateway and row.family == family and not network(row.to).prefixlen:
            return (
                f"; if {to} is not in the network {hop.network} of {hop.interface}: ip route add "
                f"{to} via {row.gateway}, or remove the address of {hop.interface}"
            )
    return ""


def _stopped(leg: Leg, name: str) -> ProcessRow | None:
    """The program that reads a TUN device, if it is stopped (state T)."""
    frame = leg.host.frame
    readers = {row.pid for row in frame.rows("tun_readers") if row.interface == name}
    rows = (row for row in frame.rows("processes") if row.pid in readers)
    return next((row for row in rows if row.state in ("T", "t")), None)


def _ports(leg: Leg, link: LinkRow) -> Iterator[Step]:
    """Of a bond one port must carry."""
    ports = [one for one in leg.host.links.values() if one.master == link.interface]
    fit = [one.interface for one in ports if one.up and one.carrier is not False]
    show = f"cat /proc/net/bonding/{link.interface}"
    if not ports:
        yield Step("device", STOPS, f"{link.interface} has no port", show,
                   f"ip link set PORT master {link.interface}")  # fmt: skip
    elif not fit:
        names = ", ".join(one.interface for one in ports)
        yield Step("device", STOPS, f"no port of {link.interface} has a carrier: {names}", show)
    else:
        yield Step("device", PASSES, f"ports of {link.interface} with a carrier: {', '.join(fit)}")


def raised(link: LinkRow) -> str:
    """What gives an interface a carrier."""
    if not link.up:
        return f"ip link set {link.interface} up"
    if link.kind == "veth":
        return f"bring up the other end of {link.interface}, in its namespace"
    if link.kind == "tun":
        return f"start the program that reads {link.interface}"
    return f"check the cable and the other end: ethtool {link.interface}"
