"""The neighbour: who answers for the hardware address (net/core/neighbour.c)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from ....collect import drop_reasons
from ....collect.fib import Row as FibRow
from ....collect.links import Row as LinkRow
from ....collect.routes import Row as RouteRow
from ....frame.rates import Frame
from ..flow import HIDDEN, PASSES, STOPS, SUSPECT, Step, address, inside, network
from ..legs import BRIDGED, Leg
from ..lookup import MAIN, TABLES, selects, without
from .device import unplugged

PLACE: Final = 40
_TUNNELS: Final = ("vxlan",)  # whose drops have reasons of their own
_KEYED: Final = {  # tunnels of Ethernet, and what both ends must have in common
    "vxlan": "VNI and UDP port (4789 by IANA, 8472 by default of Linux)",
    "geneve": "VNI and UDP port", "gretap": "key", "ip6gretap": "key",
}  # fmt: skip
_VIRTUAL: Final = ("tun", "veth")  # ports of containers and guests
USUAL: Final = 30_000  # ms, of base_reachable_time
LONG: Final = 10 * USUAL  # ms: an address that has moved is lost for longer than a person waits
ABSENT: Final = ("failed", "incomplete")
KNOWN: Final = ("reachable", "stale", "delay", "probe")
COMMON: Final = {4: 24, 6: 64}  # lengths of prefixes
RECEIVES: Final = ("arp_rcv", "arp_process", "ndisc_rcv", "icmpv6_rcv", "ip6_mc_input")
_WITHOUT: Final = ("dummy", "ipvlan", "netkit", "tun")  # need no address of the next hop
ETHERNET, INFINIBAND = 1, 32  # ARPHRD_*: types whose frames need a hardware address


def look(leg: Leg) -> Iterator[Step]:
    """The entry of the next hop."""
    for step in _entry(leg):
        yield replace(step, neighbours=(leg.next_hop,))


def _entry(leg: Leg) -> Iterator[Step]:
    hop = leg.hop
    if hop.kind != "unicast" or hop.interface is None or leg.role == BRIDGED:
        return
    link = leg.host.links.get(hop.interface)
    if link is None or not link.up or link.carrier is False or unplugged(leg.host, link):
        return  # `device` or `bridge` names it
    if link.noarp and link.type == ETHERNET and link.kind not in _WITHOUT:
        yield from _unasked(leg, link)
        return
    if link.noarp or link.type not in (ETHERNET, INFINIBAND):
        yield Step("neighbour", PASSES, f"{hop.interface} needs no neighbour entry")
        return
    if why := leg.host.unread("neighbour_states"):
        yield Step("neighbour", HIDDEN, f"the neighbour entries: {why}", "ip neigh")
        return
    to = hop.gateway or leg.question.to
    show = f"ip neigh show {to} dev {hop.interface}"
    row = leg.host.neighbours.get((hop.interface, to))
    if row is None:
        yield Step("neighbour", PASSES, f"{to} on {hop.interface}: no entry yet; the first packet "
                   "asks for it", show)  # fmt: skip
    elif row.state in ABSENT:
        step = (
            _dropped(leg, link, to, show) or _rides(leg, link, to) or _silent(leg, link, to, show)
        )
        yield replace(step, outcome=SUSPECT) if len(leg.hop.found.routes) > 1 else step
    elif row.state == "permanent" and not leg.host.told(link.interface):
        yield Step(
            "neighbour", SUSPECT, f"the neighbour entry of {to} on {hop.interface} is permanent "
            f"({row.hardware}): the kernel never asks whether it is right", show,
            f"ip neigh del {to} dev {hop.interface}",
        )  # fmt: skip
    elif row.state == "reachable" and (believed := _believed(leg, hop.interface, to)) > LONG:
        name = f"net.ipv4.neigh.{hop.interface}.base_reachable_time_ms"
        yield Step(
            "neighbour", SUSPECT, f"the neighbour entry of {to} on {hop.interface} "
            f"({row.hardware}) may be old: it is reachable for about {believed // 1000:,} s "
            f"without a question ({name} is {believed}, {USUAL} by default)", show,
            f"ip neigh del {to} dev {hop.interface}; sysctl -w {name}={USUAL}",
        )  # fmt: skip
    else:
        yield Step("neighbour", PASSES, f"{to} on {hop.interface} is {row.hardware} ({row.state})",
                   show)  # fmt: skip


def _believed(leg: Leg, name: str, to: str) -> int:
    """For how many ms an entry is believed (net/core/neighbour.c, NUD_REACHABLE); 0: not known."""
    switches = leg.host.switches.get(name)
    return 0 if switches is None or ":" in to else switches.reachable_ms or 0


def _unasked(leg: Leg, link: LinkRow) -> Iterator[Step]:
    """An interface that does not ask: the frames go to its own address (arp_constructor())."""
    to, name = leg.hop.gateway or leg.question.to, link.interface
    row = leg.host.neighbours.get((name, to))
    show = f"ip -d link show {name}"
    if row is not None and row.state == "permanent":
        yield Step("neighbour", PASSES, f"{to} on {name} is {row.hardware} (permanent)", show)
    else:
        outcome = STOPS if link.kind else SUSPECT  # the driver of a modem may write the address
        yield Step(
            "neighbour", outcome, f"{name} is NOARP: it asks for no hardware address, and so no "
            f"host takes the frames to {to}", show, f"ip link set {name} arp on",
        )  # fmt: skip


def _dropped(leg: Leg, link: LinkRow, to: str, show: str) -> Step | None:
    """Why the kernel drops the question for the address on its way out, or what a tunnel brings."""
    asks = "icmp6" if ":" in to else "arp"
    for row in leg.host.frame.rows("drop_reasons"):
        words = drop_reasons.words(row.reason, row.place)
        if link.kind in _TUNNELS and row.reason.startswith(f"{link.kind.upper()}_"):
            return Step(
                "neighbour", STOPS, f"no neighbour answers for {to} on {link.interface}: this host "
                f"drops what comes through the tunnel, {words.means[:1].lower()}{words.means[1:]} "
                f"({row.reason})", show, words.advice.rstrip("."),
            )  # fmt: skip
        here = row.where == "here" and row.interface == str(link.index)
        if here and row.protocol == asks and row.place not in RECEIVES and words.kind == "loss":
            return Step(
                "neighbour", STOPS, f"no neighbour answers for {to}: {link.interface} drops the "
                f"questions, {words.means[:1].lower()}{words.means[1:]} ({row.reason})",
                show, words.advice.rstrip("."),
            )  # fmt: skip
    return None


def _rides(leg: Leg, link: LinkRow, to: str) -> Step | None:
    """The address is on an interface that rides on this one, in another namespace of this host."""
    name = link.interface
    for row in leg.host.frame.rows("netns_children"):
        if row.below == link.index and to in row.addresses:
            return Step(
                "neighbour", STOPS, f"{to} is {row.interface} of namespace {row.place}, a "
                f"{row.kind} on {name}: {name} itself does not reach what rides on it (mode bridge "
                "is between such interfaces only)",
                f"nsenter -t {row.pid} -n ip -d addr show {row.interface}",
                f"ip link add HOST link {name} type {row.kind} mode "
                f"{'bridge' if row.kind == 'macvlan' else 'l2'}, with an address and the route to "
                f"{to} on HOST; or a veth pair into the namespace",
            )  # fmt: skip
    return None


def routed(
    frame: Frame, routes: Iterable[FibRow | RouteRow], interface: str, to: str
) -> tuple[str, str] | None:
    """The network that takes a host for on-link, and the gateway behind which it is, as it seems.

    Its SYNs arrive, and it answers no ARP: a router sends them on, from an address of its own. The
    SYN-ACKs wait for the host itself, since the prefix of that network is too short.
    """
    if all(address(row.client) != address(to) for row in frame.rows("half_open") if row.client):
        return None
    covers = sorted(
        ((network(row.to).prefixlen, row.to, row.gateway or "") for row in routes
         if row.interface == interface and inside(to, row.to)), reverse=True,
    )  # fmt: skip
    gateway = next((one for _, _, one in covers if one), None)
    _, near, first = covers[0] if covers else (0, "", "")
    whole = first or not near or network(near).num_addresses == 1
    return None if whole or gateway in (None, to) else (near, gateway)


def _silent(leg: Leg, link: LinkRow, to: str, show: str) -> Step:
    """Nobody answers the question."""
    word = "neighbour discovery" if ":" in to else "ARP"
    near = leg.hop.gateway is None and leg.hop.network not in (None, to)
    said, cut = (_beyond(leg, link, to) or _short(leg, link, to)) if near else ("", "")
    wide = near and any(
        row.gateway not in (None, to)
        and row.interface == link.interface
        and not network(row.to).prefixlen
        for row in leg.host.fib
    )
    behind = (
        f"; or {to} is behind a router, and the prefix of {leg.hop.network} on {link.interface} is "
        "too short: compare it with that of the router"
    )
    rides = (
        f"if {to} is a macvlan on {link.interface} of this host, {link.interface} itself does not "
        f"reach it: ip link add HOST link {link.interface} type macvlan mode bridge, with an "
        f"address and the route to {to} on HOST; else "
    )
    (mute, keys), hidden = _mute(leg, link), _hidden(leg, link) if near else None
    covers = f", and {leg.hop.network} there comes before the route by {hidden}" if hidden else ""
    six = "-6 " if ":" in to else ""
    by = leg.by if leg.by is not None and leg.by.to == to else None
    meant = f"if {to} is gone, {by.change}, for {by.who} sends them there; else " if by else ""
    led, free = _led(leg, to)
    elsewhere = (
        f"if {to} is behind {hidden}, and no container or guest of {link.interface}: ip {six}route "
        f"add {to} via {hidden}, or give {link.interface} another network; else "
    )
    return Step(
        "neighbour", STOPS, f"no neighbour answers for {to} on {link.interface}{said}{led}{covers}"
        f"{mute}", show, free + cut + meant + (elsewhere if hidden else "")
        + (rides if link.promiscuity and not link.promisc and not link.master else "")
        + keys + f"the host with {to} must answer {word}: there, its "
        "interface up and without NOARP, the address on it, and no filter on the way back to this "
        "host (rp_filter)" + (behind if wide and not said else ""),
    )  # fmt: skip


def _beyond(leg: Leg, link: LinkRow, to: str) -> tuple[str, str] | None:
    """That the address is behind a router, since its SYNs arrive, and what cures that."""
    via = routed(leg.host.frame, leg.host.fib, link.interface, to)
    if via is None:
        return None
    said = f": its SYNs arrive, so most likely by a router ({via[1]}?), and {via[0]} on "
    said += f"{link.interface} takes it for on-link: that prefix is too short then"
    cut = f"if so, give the address of {link.interface} the prefix that the router {via[1]} "
    return said, f"{cut}has, longer than that of {via[0]}; else "


def _short(leg: Leg, link: LinkRow, to: str) -> tuple[str, str]:
    """That all that answers there, a gateway too, is in a longer prefix, and what cures it if so.

    Of a common prefix, or a longer one, nothing is said: a host that is off looks alike. IPv4 takes
    one address with two prefixes (net/ipv4/devinet.c), IPv6 does not (ipv6_add_addr()).
    """
    host, name, version = leg.host, link.interface, address(to).version
    heard = {one for (on, one), row in host.neighbours.items() if on == name
             and row.state in KNOWN and address(one).version == version}  # fmt: skip
    ways = [row.gateway for row in host.fib if row.interface == name and row.gateway in heard]
    near = [one for one in heard if inside(one, leg.hop.network)]
    covers = (one for one in host.addresses if one.interface == name
              and str(network(f"{one.address}/{one.prefix}")) == leg.hop.network)  # fmt: skip
    own = next(covers, None)
    if own is None or not ways or not near:
        return "", ""
    for length in range(COMMON[version], own.prefix, -1):
        less = str(network(f"{own.address}/{length}"))
        if inside(to, less) or not all(inside(one, less) for one in near):
            continue
        new, old = (f"{own.address}/{one} dev {name}" for one in (length, own.prefix))
        both = f"ip addr add {new} && ip addr del {old}"
        both = both if version == 4 else f"ip addr del {old} && ip addr add {new}"
        said = f", which {own.address}/{own.prefix} takes for on-link, though all that answers "
        said += f"there, the gateway {ways[0]} too, is in {less}: the netmask may be too wide"
        return said, f"if the network of {name} is {less}, as its router has it, {both}; else "
    return "", ""


def _led(leg: Leg, to: str) -> tuple[str, str]:
    """Of a gateway in a table of its own: the rule that leads there, and its end if others do."""
    rule, asked = leg.hop.found.by, leg.question
    if rule is None or rule.table in TABLES or leg.hop.gateway != to:
        return "", ""
    led = f", the gateway of table {rule.table}, to which {selects(rule)} leads"
    first = next(iter(without(leg.host, asked, rule.table)), None)
    if first is None or first.dead or (first.interface, first.gateway) == (leg.hop.interface, to):
        return led, ""
    cure = f"ip {'-6 ' * (':' in to)}rule del priority {rule.priority}, without which route "
    return led, f"{cure}{first.to} of table {first.table} leads to {asked.to}; or "


def _hidden(leg: Leg, link: LinkRow) -> str | None:
    """The gateway by which the address would be reached without the network of this bridge.

    Of a bridge whose ports are all virtual: its network is one that somebody chose on this host.
    """
    ports = [one for one in leg.host.links.values() if one.master == link.interface]
    if link.kind != "bridge" or not all(one.kind in _VIRTUAL for one in ports):
        return None
    wider = (
        (network(row.to).prefixlen, row.gateway) for row in leg.host.fib
        if row.gateway and row.interface != link.interface and row.table == MAIN and not row.dead
        and inside(leg.question.to, row.to)
    )  # fmt: skip
    return max(wider, default=(0, None), key=lambda one: one[0])[1]


def _mute(leg: Leg, link: LinkRow) -> tuple[str, str]:
    """Of a tunnel through which nothing has come: that, and what of both ends may differ."""
    rows = [one for one in leg.host.frame.rows("link_stats") if one.interface == link.interface]
    unheard = link.kind in _KEYED and rows and not rows[0].rx_packets and rows[0].tx_packets
    if not unheard:
        return "", ""
    frame, name, port = leg.host.frame, link.interface, link.tunnel_port
    ends = {link.tunnel_remote, *(o.remote for o in frame.rows("fdb") if o.interface == name)}
    missed = (row for row in frame.rows("drop_reasons")
              if (row.reason, row.where, row.protocol) == ("NO_SOCKET", "here", "udp")
              and row.source in ends and port not in (None, row.to_port))  # fmt: skip
    said = ", a tunnel through which nothing has come yet"
    keys = (f"compare {_KEYED[link.kind]} and the addresses of both ends of {name} "
            f"(`ip -d link show {name}`, there too); else ")  # fmt: skip
    if (row := next(missed, None)) is None:
        return said, keys
    said += f": {row.source} sends to UDP port {row.to_port}, and {name} takes port {port}"
    return (
        said,
        f"make {name} again with dstport {row.to_port}, or that end with {port}; else {keys}",
    )
