"""IPsec policies: packets that must be protected, and no state that could (net/xfrm)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ....collect.xfrm_policies import Row as PolicyRow
from ..flow import HIDDEN, PASSES, STOPS, SUSPECT, Step, inside
from ..legs import BRIDGED, IN, THROUGH, Leg

PLACE: Final = 90
_CURE: Final = "start the key exchange (IKE), or, if the packets may go unencrypted, "
_PROTOCOLS: Final = {"tcp": 6, "udp": 17}


def _only(row: PolicyRow) -> str:
    """The protocol and the port that it is for, in words."""
    word = {number: name for name, number in _PROTOCOLS.items()}.get(row.protocol, "")
    word = word or (f"protocol {row.protocol}" if row.protocol else "")
    port = f"port {row.port}" if row.port else ""
    return " ".join(("", "for", *filter(None, (word, port)))) if word or port else ""


def _missed(leg: Leg) -> bool:
    """Whether packets that are sent find no IPsec state now."""
    return any(one.now.reason == "XfrmOutNoStates" and one.rate("packets")
               for one in leg.host.frame.tables.get("xfrm", ()))  # fmt: skip


def _without(leg: Leg, row: PolicyRow) -> str:
    """The commands without which packets of both directions pass: of any selector, by index.

    A policy of the other direction between the same ends drops the answers that come unprotected
    (xfrm_policy_check()).
    """
    pair = [row] if row.blocks else [
        row, *(one for one in leg.host.frame.rows("xfrm_policies")
               if (one.source, one.to) == (row.to, row.source) and one.peer is not None
               and (one.direction == "out") != (row.direction == "out"))
    ]  # fmt: skip
    return " and ".join(f"ip xfrm policy del dir {one.direction} index {one.index}" for one in pair)


def look(leg: Leg) -> Iterator[Step]:
    """The policy that the packets meet on their way out, or where they are taken."""
    if leg.role == BRIDGED:
        return
    if not leg.hop.goes or (leg.role == IN and not leg.question.arrives):
        return
    if leg.role != IN and leg.hop.interface == "lo" and ":" not in leg.question.to:
        return  # DST_NOXFRM: net/ipv4/route.c; IPv6 has no such exception
    if why := leg.host.unread("xfrm_policies"):
        yield Step("ipsec", HIDDEN, f"the IPsec policies: {why}", "ip xfrm policy")
        return
    ways = {IN: ("in",), THROUGH: ("fwd", "out")}.get(leg.role, ("out",))
    port = 0 if leg.back else leg.flow.port
    for row in sorted(leg.host.frame.rows("xfrm_policies"), key=lambda one: one.priority):
        source = leg.question.source or leg.hop.address or ""
        known = inside(leg.question.to, row.to) and (not source or inside(source, row.source))
        fits = row.protocol in (0, _PROTOCOLS[leg.flow.protocol]) and row.port in (0, port)
        if row.direction not in ways or not known or not fits:
            continue
        show = f"ip xfrm policy list dir {row.direction}"
        name = f"the IPsec policy {row.source} to {row.to} dir {row.direction}{_only(row)}"
        gone = _without(leg, row)
        if row.blocks:
            yield Step("ipsec", STOPS, f"{name} blocks {leg.what}", show, gone)
        elif row.peer is not None and row.states == 0:
            yield Step("ipsec", STOPS, f"{name} wants IPsec with {row.peer}, and this host has no "
                       "IPsec state", show, f"{_CURE}{gone}")  # fmt: skip
        elif row.peer is not None and row.direction == "out" and _missed(leg):
            yield Step("ipsec", SUSPECT, f"{name} wants IPsec with {row.peer}, and packets find no "
                       "state for it", "ip -s xfrm state",
                       f"{_CURE}{gone}")  # fmt: skip
        elif row.peer is not None:
            yield Step("ipsec", HIDDEN, f"whether there is an IPsec state for {name}",
                       "ip -s xfrm state")  # fmt: skip
        else:
            yield Step("ipsec", PASSES, f"{name} lets {leg.what} pass", show)
        return
