"""Source address and TTL: net/ipv4/fib_semantics.c, fib_result_prefsrc(); net/ipv4/route.c."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ..chains import MASKS, passed
from ..flow import PASSES, STOPS, SUSPECT, Step, address
from ..legs import OUT, Leg
from ..lookup import options
from ..packet import Packet

PLACE: Final = 30
_USUAL: Final = 64  # hops: RFC 1700, IPDEFTTL
_FEW: Final = 32  # hops: paths of the Internet have up to 30


def look(leg: Leg) -> Iterator[Step]:
    """The address that this host writes into the packets."""
    hop = leg.hop
    if leg.role != OUT or not hop.goes:
        return
    source = leg.question.source or hop.address
    if source:
        name = next((one for one in leg.host.addresses if one.address == source), None)
        if name is not None and name.tentative:
            what = "another host has it" if name.duplicate else "it is tentative"
            yield Step("source", STOPS, f"the source address {source} cannot be used: {what}",
                       f"ip -6 addr show dev {name.interface}")  # fmt: skip
            return
        yield (
            _near(leg, source)
            or _empty(leg, source)
            or Step("source", PASSES, f"source address {source}")
        )
        yield from _ttl(leg)
        return
    if leg.host.unread("addresses"):
        return
    family = 6 if ":" in leg.question.to else 4
    yield Step("source", STOPS, f"{hop.interface} has no IPv{family} address for the source",
               f"ip -br addr show dev {hop.interface}",
               f"ip addr add ADDRESS/LENGTH dev {hop.interface}")  # fmt: skip


def _near(leg: Leg, source: str) -> Step | None:
    """A link-local source of packets that a router is to forward: none does (RFC 4007, 9)."""
    if not address(source).is_link_local or ":" not in source or leg.hop.gateway is None:
        return None
    name, other = leg.hop.interface, "ADDRESS/LENGTH"
    why = ", as it has no other address"
    for one in leg.host.addresses:
        if one.interface == name and one.tentative and one.scope == "global":
            other = f"{one.address}/{one.prefix}"
            why = f": {other} {'is that of another host' if one.duplicate else 'is tentative'}"
    return Step(
        "source", STOPS, f"{name} gives packets the link-local source {source}, which no router "
        f"forwards{why}", f"ip -6 addr show dev {name}",
        "take it from the other host, or choose another; then "
        f"ip addr del {other} dev {name}; ip addr add {other} dev {name}"
        if other[0] != "A" else f"ip addr add {other} dev {name}",
    )  # fmt: skip


def _empty(leg: Leg, source: str) -> Step | None:
    """A doubt of an address of another interface that carries nothing: no network has it then."""
    name = next((one.interface for one in leg.host.addresses if one.address == source), "")
    link = leg.host.links.get(name)
    if link is None or link.loopback:
        return None
    ports = any(one.master == name for one in leg.host.links.values())
    if link.carrier is not False and (ports or link.kind != "bridge"):
        return None
    return elsewhere(leg, source, ", behind which nothing is")


def elsewhere(leg: Leg, source: str, more: str = "") -> Step | None:
    """A doubt of an address of another interface, which no rule of this host translates.

    None where the interface by which packets leave has no address to choose instead.
    """
    leaves, host, six = leg.hop.interface, leg.host, ":" in source
    name = next((one.interface for one in host.addresses if one.address == source), leaves)
    own = next((one.address for one in host.addresses if one.interface == leaves
                and (one.family == 6, one.scope) == (six, "global")), None)  # fmt: skip
    out, routes = host.links.get(leaves or ""), leg.hop.found.routes
    if out is None or own is None or name in (leaves, out.master) or _translated(leg, source):
        return None
    change = f"let the program bind to {own}, or to no address"
    if len(routes) == 1 and routes[0].source == source:
        via = f" via {leg.hop.gateway}" if leg.hop.gateway else ""
        new = f"{routes[0].to}{via} dev {leaves}{options(replace(routes[0], source=own))}"
        change = f"give the route the source {own} (ip {'-6 ' * six}route change {new})"
    return Step(
        "source", SUSPECT, f"packets leave by {leaves} with the source address {source} of "
        f"{name}{more}: who answers may have no way back to it",
        f"ip route get {leg.question.to}", f"{change}; or give the other end a way to {source}",
    )  # fmt: skip


def _translated(leg: Leg, source: str) -> bool:
    """Whether a rule replaces the source of what leaves, or may."""
    flow, to = leg.flow, leg.question.to
    packet = Packet(to, source, flow.protocol, flow.port, leaves=leg.hop.interface or "")
    families = "ip6" if ":" in to else "ip", "inet"
    return any(
        ended.verdict == "nat" or any(what in ("nat", MASKS) for _, what in does)
        for _, ended, does in passed(leg.host, "postrouting", families, packet)
    )


def _ttl(leg: Leg) -> Iterator[Step]:
    """How many routers the packets may pass; that of a route or a socket is not read."""
    name, word = "net.ipv4.ip_default_ttl", "TTL"
    rows = leg.host.frame.rows("sysctls")
    limit = next((int(row.value) for row in rows if row.name == name and row.value.isdigit()), None)
    if ":" in leg.question.to:
        switch = leg.host.switches.get(leg.hop.interface or "")
        limit = None if switch is None else switch.hop_limit
        name, word = (
            f"net.ipv6.conf.{(leg.hop.interface or '').replace('.', '/')}.hop_limit",
            "hop limit",
        )
    if limit is None or not 0 < limit < _FEW or not leg.hop.gateway:
        return
    ends = "the first router drops them" if limit == 1 else f"they pass {limit - 1} routers"
    yield Step(
        "ttl", STOPS if limit == 1 else SUSPECT, f"{leg.what} leave with the {word} {limit} "
        f"({name}): {ends}", f"sysctl {name}", f"nettop set sysctl.{name} {_USUAL}",
    )  # fmt: skip
