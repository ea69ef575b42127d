"""What an incoming packet meets before its route: source checks, forwarding, the interface.

net/ipv4/route.c, ip_route_input_slow(); net/ipv4/fib_frontend.c, fib_validate_source().
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ....collect.links import Row as LinkRow
from ....collect.ways import Question
from ....terms.text import few
from ....terms.units import many
from ..flow import HIDDEN, PASSES, STOPS, SUSPECT, Step, address, inside, network
from ..legs import BRIDGED, IN, OUT, THROUGH, Leg
from ..lookup import REFUSALS, routed
from .neighbour import ETHERNET

PLACE: Final = 10
DROPS: Final = 3  # frames
SHARE: Final = 0.1  # of what arrives: fewer may be of other protocols
MOST: Final = 3  # addresses that are named
_STRICT, _LOOSE = 1, 2
_OWN, _NEVER = (1, 2), 8  # arp_ignore: addresses of the interface alone, none


def look(leg: Leg) -> Iterator[Step]:
    """The interface on which the packet arrives, and what it demands."""
    name = leg.question.arrives
    if leg.role in (OUT, BRIDGED) or not name:
        return
    link = leg.host.links.get(name)
    if link is None:
        yield Step("arrival", STOPS, f"there is no interface {name}", "ip -br link")
        return
    if not link.up:
        yield Step("arrival", STOPS, f"{name}, where {leg.what} from {leg.question.source} "
                   "arrive, is down", f"ip link show {name}", f"ip link set {name} up")  # fmt: skip
        return
    if link.xdp:
        index = str(link.index)
        dropped = leg.host.dropped("XDP", lambda row: row.interface == index)
        told = f"the XDP program of {name} takes packets before all else"
        show, change = f"ip link show {name}", ""
        if dropped:
            told = f"the XDP program of {name} dropped {many(dropped, 'packets')}"
            change = f"correct it, or ip link set {name} xdp off"
        yield Step("arrival", SUSPECT if dropped else HIDDEN, told, show, change)
    if leg.role == THROUGH:
        yield from _forwards(leg, name)
    if not leg.back:
        yield from _answers(leg, name)
        yield from _fits(leg, link)
        yield from _listed(leg, link)
    yield from _checked(leg, name)


def _listed(leg: Leg, link: LinkRow) -> Iterator[Step]:
    """A macvlan in mode source takes frames of listed senders: macvlan_forward_source().

    Of a host from which it took a frame, it has a neighbour entry.
    """
    name, source = link.interface, leg.question.source
    entry = leg.host.neighbours.get((name, source))
    sender = entry.hardware if entry is not None else None
    if link.senders is None or sender in link.senders:
        return
    yield Step(
        "arrival", STOPS if not link.senders else SUSPECT if sender else HIDDEN,
        f"{name}, a {link.kind} in mode source, takes only frames of the senders in its list "
        f"({few(link.senders, MOST) or 'empty'}); those of {source} come from "
        f"{sender or 'an address that is not known here'}",
        f"ip -d link show {name}",
        f"ip link set {name} type {link.kind} macaddr add {sender or 'ADDRESS'}",
    )  # fmt: skip


def _fits(leg: Leg, link: LinkRow) -> Iterator[Step]:
    """A veth that drops on arrival what exceeds its MTU: net/core/dev.c, __is_skb_forwardable().

    Frames of unknown protocols count as dropped too, so it is a doubt.
    """
    rows = leg.host.frame.rows("link_stats")
    row = next((one for one in rows if one.interface == link.interface), None)
    if row is None or link.kind != "veth" or link.mtu is None or link.peer is None:
        return
    if row.rx_dropped >= DROPS and row.rx_dropped >= SHARE * (row.rx_packets + row.rx_dropped):
        name = link.interface
        yield Step(
            "mtu", SUSPECT, f"{name} took {row.rx_packets} frames and dropped {row.rx_dropped}: "
            f"those above its MTU of {link.mtu} are dropped without a word, if the other end of "
            "the veth pair has a larger one", f"ip -s link show {name}",
            f"compare the MTU of the other end (`ip link` in its namespace), and give both the "
            f"same: nettop set link.mtu@{name} MTU",
        )  # fmt: skip


def _forwards(leg: Leg, name: str) -> Iterator[Step]:
    six = address(leg.question.to).version == 6
    switch = leg.host.switches.get("all" if six else name)
    value = None if switch is None else switch.forwarding6 if six else switch.forwarding
    family = "ipv6" if six else "ipv4"
    key = "net.ipv6.conf.all.forwarding" if six else "net.ipv4.ip_forward"
    if value is None:
        yield Step("forwarding", HIDDEN, f"whether {family} is forwarded", f"sysctl {key}")
        return
    if value:
        yield Step("forwarding", PASSES, f"{family} packets from {name} are forwarded")
        return
    every = leg.host.switches.get("all")
    if not six and every is not None and every.forwarding:
        key = f"net.ipv4.conf.{name.replace('.', '/')}.forwarding"
    yield Step("forwarding", STOPS, f"this host does not forward {family} packets from {name}",
               f"sysctl {key}", f"nettop set sysctl.{key} 1")  # fmt: skip


def _answers(leg: Leg, name: str) -> Iterator[Step]:
    """Whether the interface answers ARP for the address: net/ipv4/arp.c, arp_ignore()."""
    to, link = leg.question.to, leg.host.links.get(name)
    if leg.role == THROUGH:  # others ask for the address of their gateway
        to = leg.host.first(name, address(to).version) or ""
    if link is not None and link.noarp and link.type == ETHERNET:
        word = "neighbour discovery" if ":" in to else "ARP"
        yield Step("arp", SUSPECT, f"{name} is NOARP: it answers no {word}, so others do not find "
                   f"{to}", f"ip link show {name}", f"ip link set {name} arp on")  # fmt: skip
        return
    if ":" in to or link is None or link.loopback:
        return
    yield from _led_elsewhere(leg, name, to)
    mode, key = leg.host.strongest(name, "arp_ignore")
    near = next((network(f"{one.address}/{one.prefix}") for one in leg.host.addresses
                 if one.address == to and one.interface == name), None)  # fmt: skip
    for one in leg.host.addresses if leg.role == IN else ():
        alone = one.family == 4 and one.prefix == 32 and one.interface != name
        # the first address of a network is of no host: a tunnel of containers may have it
        if near is None or not alone or not inside(one.address, f"{near}"):
            continue
        if one.address == f"{near.network_address}":
            continue
        if mode in _OWN:
            yield _unasked(one.address, one.interface, name, mode, key)
        else:
            yield Step(
                "arp", SUSPECT, f"{one.address}, an address of {one.interface}, is in the network "
                f"of {name}: another host there that has it gets no answer (martian source)",
                f"ip -br addr; arping -D -c 2 -I {name} {one.address}",
                f"ip addr del {one.address}/{one.prefix} dev {one.interface}, if another host has "
                "it",
            )  # fmt: skip
    places = [row.interface for row in leg.host.addresses if row.address == to]
    if places and mode == _NEVER:
        yield Step(
            "arp", SUSPECT, f"{name} answers no ARP: net.ipv4.conf.{key}.arp_ignore is {mode}, so "
            f"others do not find {to}",
            f"sysctl net.ipv4.conf.all.arp_ignore net.ipv4.conf.{name}.arp_ignore",
            f"nettop set sysctl.net.ipv4.conf.{key.replace('.', '/')}.arp_ignore 0",
        )  # fmt: skip
    elif places and name not in places and mode in _OWN:
        yield _unasked(to, places[0], name, mode, key)


def _led_elsewhere(leg: Leg, name: str, to: str) -> Iterator[Step]:
    """Whether arp_filter refuses who asks: its counter rises, and the route back is another one.

    Not where both interfaces are in one network: the other one answers. net/ipv4/arp.c.
    """
    host, who = leg.host, leg.flow.origin
    counted = host.frame.tables.get("failures", ())
    if not who or not any(one.now.name == "ArpFilter" and one.rate("events") for one in counted):
        return
    back = routed(host, Question(who, to))
    also = any(inside(who, f"{one.address}/{one.prefix}") for one in host.addresses
               if one.interface == back.interface and one.family == 4)  # fmt: skip
    if back.interface not in (None, name) and not also:
        keys = [f"net.ipv4.conf.{one}.arp_filter" for one in ("all", name.replace(".", "/"))]
        yield Step(
            "arp", SUSPECT, f"{name} answers no ARP of {who}: arp_filter is 1, and route "
            f"{back.network} to it leads by {back.interface}",
            f"sysctl {' '.join(keys)}; ip route get {who} from {to}",
            f"Correct that route, or sysctl -w {' '.join(f'{key}=0' for key in keys)}",
        )  # fmt: skip


def _unasked(to: str, place: str, name: str, mode: int, key: str) -> Step:
    """An address of another interface, for which this one answers no ARP."""
    return Step(
        "arp", SUSPECT, f"{name} answers no ARP for {to}: net.ipv4.conf.{key}.arp_ignore is "
        f"{mode}, and the address is on {place} (right behind a load balancer only)",
        f"sysctl net.ipv4.conf.all.arp_ignore net.ipv4.conf.{name}.arp_ignore",
        f"if no load balancer is to answer for it: nettop set sysctl.net.ipv4.conf."
        f"{key.replace('.', '/')}.arp_ignore 0, or put {to} on {name}",
    )  # fmt: skip


def _checked(leg: Leg, name: str) -> Iterator[Step]:
    """The reverse path filter, and sources that are not possible (martians)."""
    source, error = leg.question.source, leg.hop.error
    if leg.role == IN and not leg.back and leg.hop.kind == "local":
        own = leg.host.local(leg.question.to)
        by = "an address of this host" if own else f"local by the route {leg.hop.network}"
        yield Step("arrival", PASSES, f"{leg.question.to} is {by}")
    if address(source).version == 6 or (not error and not leg.hop.unasked):
        return
    mode, key = leg.host.strongest(name, "rp_filter")
    back = routed(leg.host, Question(source, protocol=leg.question.protocol))
    strict = mode == _STRICT and back.interface not in (None, name)
    loose = mode in (_STRICT, _LOOSE) and not back.goes and back.interface is None
    refused = error == "EINVAL" and leg.hop.found.kind not in REFUSALS  # of Linux 6.13 also EXDEV
    if error == "EXDEV" or ((refused or leg.hop.unasked) and (strict or loose)):
        by = f" ({back.network})" if back.network else ""
        way = f"the route back to {source}{by} leaves by {back.interface}"
        if back.interface is None or back.interface == name:
            way = f"no route leads back to {source}"
        key = f"net.ipv4.conf.{key.replace('.', '/')}.rp_filter"
        yield Step(
            "rp_filter", STOPS, f"the reverse path filter of {name} drops {leg.what} from "
            f"{source}: {way}",
            f"sysctl net.ipv4.conf.all.rp_filter net.ipv4.conf.{name}.rp_filter",
            f"nettop set sysctl.{key} 2, or a route back to {source} by {name}"
            if back.interface is not None else f"ip route add {source} via GATEWAY dev {name}",
        )  # fmt: skip
    elif refused and leg.host.local(source):
        yield Step("arrival", STOPS, f"{source} is an address of this host: a packet from it that "
                   f"arrives on {name} is dropped (martian source)", "ip -br addr")  # fmt: skip
    elif refused and address(leg.question.to).is_loopback:
        yield _inside(leg, name)
    elif refused:
        yield Step("arrival", STOPS, f"the kernel takes a packet from {source} to "
                   f"{leg.question.to} on {name} for impossible (martian)",
                   f"sysctl net.ipv4.conf.{name}.log_martians")  # fmt: skip
    elif leg.role == IN and error:
        yield Step("arrival", STOPS, f"the kernel refuses a packet from {source} to "
                   f"{leg.question.to} on {name} ({error})",
                   f"ip route get {leg.question.to} from {source} iif {name}")  # fmt: skip


def _inside(leg: Leg, name: str) -> Step:
    """A loopback address as the destination of what arrives: IN_DEV_ROUTE_LOCALNET."""
    to, was, by = leg.question.to, leg.was, leg.by
    key = f"net.ipv4.conf.{name.replace('.', '/')}.route_localnet"
    show = f"sysctl net.ipv4.conf.all.route_localnet {key}"
    what = f"packets to {to} arrive on {name}"
    if was is not None and by is not None:
        what = f"{by.who} sends packets to {was.name} to {leg.flow.name}"
        show += f"; {by.show}"
    return Step(
        "arrival", STOPS, f"{what}, and {key} is 0: none to a loopback address is taken from there "
        "(martian destination)", show, f"nettop set sysctl.{key} 1; or let the service listen at "
        f"an address of {name}, which needs no such permission",
    )  # fmt: skip
