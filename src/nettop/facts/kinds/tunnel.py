"""A tunnel interface: what it carries, what carries it, and the flows that lose segments in it.

Overheads are those over IPv4, between the MTU of the tunnel and the packet outside: headers of
IPv4 20, UDP 8, VXLAN and Geneve 8, GRE 4, WireGuard 32, and the inner Ethernet header 14 bytes.

No table says through which tunnel a flow goes if a routing rule sends it there (wg-quick(8)) or if
it comes from another network namespace. Its path MTU does, where it is that of one tunnel alone and
not that of its interface: the kernel takes it from the last route (net/ipv4/route.c, ipv4_mtu()).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from operator import attrgetter
from typing import Final

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind
from .flow import Flow
from .metric import main_routes, route
from .nic import Nic

OVERHEAD: Final = {
    "vxlan": 50, "geneve": 50, "gre": 24, "gretap": 38, "ipip": 20, "sit": 20, "wireguard": 60,
    "ip6tnl": 40, "ip6gre": 44, "ip6gretap": 58,
}  # fmt: skip
ENCRYPTED: Final = ("xfrm", "vti", "vti6")  # by IPsec: the overhead depends on the cipher
HEADERS: Final = 80  # bytes of IPv6 with TCP and its options: with them a segment fills the MTU
AGAIN: Final = 2  # doublings of a timeout: the same segment was lost at least twice
CARRIED: Final = 0.5  # of what the flow sends: both are not counted at the same moments
_LEFT: Final = "tx-checksum-ip-generic"
_NONE: Final = Flow("", "")
_CARRIERS: Final = ("nic", "bond", "vlan", "wireless", "veth")  # and a bridge with a port to them


@dataclass(frozen=True, slots=True)
class Tunnel:
    """One tunnel. `nic` is the interface below it; None if several could be."""

    name: str = label("tunnel interface")
    nic: str | None = maybe("interface that carries it")
    kind: str = gauge("kind of tunnel: vxlan geneve wireguard gre ipip xfrm …", default="")
    mtu: int | None = maybe("MTU", "bytes")
    room: int | None = maybe(
        "largest MTU that needs no fragments: MTU below less the headers", "bytes"
    )
    rx_packets: float | None = maybe("packets received", "packets/s")
    tx_packets: float | None = maybe("packets sent", "packets/s")
    threaded: bool | None = maybe("threaded NAPI")
    checksums: bool | None = maybe(
        "checksums inside are left to the interface below (tx-checksum-ip-generic)"
    )
    loss: float | None = maybe("loss ratio of the flow through it that loses most", "ratio")
    trip: float | None = maybe("minimum round-trip time of that flow", "s")
    remote: str | None = maybe("its other end")
    process: str | None = maybe("process of that flow")
    stuck: int | None = maybe(
        "flows through it with full segments that were lost twice and more in turn", "flows"
    )
    silent: int | None = maybe(
        "destinations behind it to which this host translates connections, without any answer"
    )
    replied: int | None = maybe("those that answered")


def build(frame: Frame, facts: Facts) -> tuple[Tunnel, ...]:
    """The tunnels of kinds whose overhead is known, and those of IPsec."""
    links = [row for row in frame.rows("links") if row.kind in OVERHEAD or row.kind in ENCRYPTED]
    over = {row.interface: row.link for row in frame.rows("links") if links and row.kind == "vlan"}
    nics = {nic.name: nic for nic in facts.nics} if links else {}
    found, alike = [], Counter(one.mtu for one in nics.values() if one.kind == "tunnel")
    tracked = _translated(frame) if links else None
    for link in links:
        name, nic = link.interface, nics.get(link.interface)
        if nic is None:
            continue
        losing = [
            one
            for one in (*facts.flows, *facts.elsewhere)
            if one.loss_ratio and _through(one, nic, nics, alike, over)
        ]
        worst = max(losing, key=lambda one: one.loss_ratio or 0.0, default=_NONE)
        above = {one for one, below in over.items() if nic.master and below == nic.master}
        may = [one for one in facts.nics if one.name not in (nic.master, *above)]
        below = _below(nics.get(link.link or ""), may)
        least = max((one.mtu for one in below if one.mtu), default=None)
        found.append(
            Tunnel(
                name, below[0].name if len(below) == 1 else None, link.kind, nic.mtu,
                least - OVERHEAD[link.kind] if least and link.kind in OVERHEAD else None,
                nic.per_s.rx_packets, nic.per_s.tx_packets, nic.threaded,
                next((one.on for one in nic.features if one.name == _LEFT), None),
                worst.loss_ratio, worst.min_rtt, worst.remote or None, worst.process,
                sum(map(_stuck, losing)),
                *(None if tracked is None else tracked[name, said] for said in (False, True)),
            )
        )  # fmt: skip
    return tuple(found)


def _translated(frame: Frame) -> Counter[tuple[str, bool]] | None:
    """The destinations of translated TCP connections by interface and whether any answered."""
    if "translated" not in frame.tables:
        return None
    networks = main_routes(frame)
    said: dict[str, bool] = {}
    for row in frame.rows("translated"):
        if row.protocol == "tcp" and row.moved:
            said[row.sent_to] = said.get(row.sent_to, False) or row.answered
    ways = ((route(to, networks), any_) for to, any_ in said.items())
    return Counter((way.interface, any_) for way, any_ in ways if way is not None)


def _through(
    flow: Flow, nic: Nic, nics: Mapping[str, Nic], alike: Mapping[int | None, int],
    over: Mapping[str, str | None],
) -> bool:  # fmt: skip
    """Whether what the flow sends goes into the tunnel `nic`; `alike` counts tunnels by MTU.

    `over`: the interface below each VLAN. A tunnel in a bridge carries what is sent to the bridge.
    """
    if not flow.wants or (nic.per_s.tx_bytes or 0.0) < CARRIED * (flow.tx_per_s or 0.0):
        return False
    at = flow.nic or ""
    if nic.name == at or (nic.master and nic.master in (at, over.get(at))):
        return True
    if flow.pmtu != nic.mtu or alike[nic.mtu] > 1:
        return False
    if flow.namespace is None:
        usual = nics.get(flow.nic or "")
        return usual is not None and usual.kind != "loopback" and usual.mtu != nic.mtu
    return not ip_address(flow.remote.partition("%")[0]).is_global


def _stuck(flow: Flow) -> bool:
    return (flow.backoff or 0) >= AGAIN and (flow.mss or 0) + HEADERS >= (flow.pmtu or 1)


def _below(named: Nic | None, nics: Sequence[Nic]) -> list[Nic]:
    """The interface that carries it; if the kernel does not say which, all that could."""
    if named is not None:
        return [named]
    return [
        nic
        for nic in nics
        if nic.addresses
        and nic.carrier is not False
        and (nic.kind in _CARRIERS or (nic.kind == "bridge" and nic.lower))
    ]


KIND = Kind(
    Tunnel, "tunnels", needs=("links", "translated", "routes"), build=build,
    parents={"nic": attrgetter("nic")},
    example={"name": "vxlan0", "kind": "vxlan", "nic": "eth0", "mtu": 1450, "room": 1450},
)  # fmt: skip
