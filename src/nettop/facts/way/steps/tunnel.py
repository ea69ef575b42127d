"""A tunnel: the address from which it sends (net/ipv4/ip_tunnel.c, drivers/net/vxlan/vxlan_core.c).

Without a route from an address that is none of this host nothing is sent, and what is to be sent
counts as a carrier error of the tunnel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..flow import STOPS, Step
from ..legs import Leg, tunnel

PLACE: Final = 35


def look(leg: Leg) -> Iterator[Step]:
    """The address that it writes into the packets which carry those of the flow."""
    link = tunnel(leg)
    if link is None or link.tunnel_local is None or leg.host.unread("addresses"):
        return
    local, name = link.tunnel_local, link.interface
    if leg.host.local(local):
        return
    known = (row.address for row in leg.host.addresses
             if row.scope == "global" and (":" in row.address) == (":" in local))  # fmt: skip
    new = next(known, "ADDRESS")
    kind = link.kind if link.tunnel_id is None else f"{link.kind} id {link.tunnel_id}"
    yield Step(
        "tunnel", STOPS, f"{name} ({link.kind}) sends from {local}, which is no address of this "
        "host", f"ip -d link show {name}; ip -br addr",
        f"ip link set {name} type {kind} local {new} with the address that the other end knows, "
        f"or give this host {local} again",
    )  # fmt: skip
