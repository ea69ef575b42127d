"""Source address and TTL: net/ipv4/fib_semantics.c, fib_result_prefsrc(); net/ipv4/route.c."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ....collect.links import Row as LinkRow
from ..flow import PASSES, STOPS, SUSPECT, Step
from ..legs import OUT, Leg

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
        link = leg.host.links.get(name.interface) if name is not None else None
        yield _elsewhere(leg, source, link) or Step("source", PASSES, f"source address {source}")
        yield from _ttl(leg)
        return
    if leg.host.unread("addresses"):
        return
    family = 6 if ":" in leg.question.to else 4
    yield Step("source", STOPS, f"{hop.interface} has no IPv{family} address for the source",
               f"ip -br addr show dev {hop.interface}",
               f"ip addr add ADDRESS/LENGTH dev {hop.interface}")  # fmt: skip


def _elsewhere(leg: Leg, source: str, link: LinkRow | None) -> Step | None:
    """A doubt of an address of another interface that carries nothing: no network has it then."""
    leaves = leg.hop.interface
    if link is None or link.interface == leaves or link.loopback:
        return None
    ports = any(one.master == link.interface for one in leg.host.links.values())
    if link.carrier is not False and (ports or link.kind != "bridge"):
        return None
    own = leg.host.first(leaves, 6 if ":" in source else 4) or "ADDRESS"
    return Step(
        "source", SUSPECT, f"packets leave by {leaves} with the source address {source} of "
        f"{link.interface}, behind which nothing is: who answers may have no way back to it",
        f"ip route get {leg.question.to}",
        f"give the route the source {own} (`src` of ip route change), or the other end a way to "
        f"{source}",
    )  # fmt: skip


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
