"""A host behind a bridge that asks an address which a rule gives to the host itself.

The frame must leave by the port by which it came, which a bridge sends only in hairpin mode
(net/bridge/br_forward.c, should_deliver()). A host drops what comes with its own source address
(net/ipv4/fib_frontend.c, __fib_validate_source()), so the source must be replaced too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..chains import MASKS, passed
from ..flow import STOPS, Step
from ..legs import BRIDGED, THROUGH, Leg
from ..packet import Packet

PLACE: Final = 69  # before the ports of the bridge, which may all be good


def look(leg: Leg) -> Iterator[Step]:
    """Frames of a client to itself, as the bridge or this host gets them."""
    host, bridge, to = leg.host, leg.hop.interface or "", leg.flow.to
    link = host.links.get(bridge)
    if leg.back or leg.question.source != to or link is None or link.kind != "bridge":
        return
    bridged = leg.role == BRIDGED
    if not bridged and (leg.role != THROUGH or leg.was is None or leg.question.arrives != bridge):
        return
    calls = f"net.bridge.bridge-nf-call-ip{'6' * (':' in to)}tables"
    seen = any((one.name, one.value) == (calls, "1") for one in host.frame.rows("sysctls"))
    entry = host.neighbours.get((bridge, to))
    arrives = leg.question.arrives or ""
    port = host.links.get(
        arrives if bridged else host.port(bridge, entry.hardware) if entry is not None else ""
    )
    masks = _masks(leg, bridge)
    # without br_netfilter this host routes the frame, and it leaves by each port
    kept = (bridged or seen) and port is not None and not port.hairpin
    if port is None or not (kept or masks):
        return
    name = port.interface
    first = leg.was.name if leg.was is not None else "a published address"
    why = f"{to} is its own destination: a rule gives it what it sends to {first}"
    if kept:
        why += f", and the bridge {bridge} sends no frame back to the port {name}, by which it came"
        why += " (hairpin off)"
    else:
        why += ", and it drops what comes from its own address"
    changes = (f"bridge link set dev {name} hairpin on" if kept else "", masks)
    yield Step(
        "bridge" if bridged else "hairpin", STOPS, why, f"bridge -d link show dev {name}",
        ", and ".join(filter(None, changes)) + "; or let a program of this host forward it "
        "(userland-proxy of Docker)",
    )  # fmt: skip


def _masks(leg: Leg, bridge: str) -> str:
    """The rule that replaces the source of what a host sends to itself; empty: one does, or may."""
    flow = leg.flow
    packet = Packet(flow.to, flow.to, flow.protocol, flow.port, arrives=bridge, leaves=bridge)
    family = "ip6" if ":" in flow.to else "ip"
    for _, ended, does in passed(leg.host, "postrouting", (family, "inet"), packet):
        if ended.verdict == "nat" or any(what in ("nat", MASKS) for _, what in does):
            return ""
    tool = "ip6tables" if family == "ip6" else "iptables"
    return f"{tool} -t nat -A POSTROUTING -s {flow.to} -d {flow.to} -j MASQUERADE"
