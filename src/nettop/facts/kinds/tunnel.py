"""A tunnel interface: what it carries, and the interface that carries it.

Overheads are those over IPv4, between the MTU of the tunnel and the packet outside: headers of
IPv4 20, UDP 8, VXLAN and Geneve 8, GRE 4, WireGuard 32, and the inner Ethernet header 14 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ..kind import Kind
from .nic import Nic

if TYPE_CHECKING:
    from .. import Facts

OVERHEAD: Final = {
    "vxlan": 50, "geneve": 50, "gre": 24, "gretap": 38, "ipip": 20, "sit": 20, "wireguard": 60,
    "ip6tnl": 40, "ip6gre": 44, "ip6gretap": 58,
}  # fmt: skip
ENCRYPTED: Final = ("xfrm", "vti", "vti6")  # by IPsec: the overhead depends on the cipher
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


def build(frame: Frame, facts: Facts) -> tuple[Tunnel, ...]:
    """The tunnels of kinds whose overhead is known, and those of IPsec."""
    links = [row for row in frame.rows("links") if row.kind in OVERHEAD or row.kind in ENCRYPTED]
    nics = {nic.name: nic for nic in facts.nics} if links else {}
    found = []
    for link in links:
        name, nic = link.interface, nics.get(link.interface)
        if nic is None:
            continue
        below = _below(nics.get(link.link or ""), facts.nics)
        least = max((one.mtu for one in below if one.mtu), default=None)
        found.append(
            Tunnel(
                name, below[0].name if len(below) == 1 else None, link.kind, nic.mtu,
                least - OVERHEAD[link.kind] if least and link.kind in OVERHEAD else None,
                nic.per_s.rx_packets, nic.per_s.tx_packets, nic.threaded,
            )
        )  # fmt: skip
    return tuple(found)


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
    Tunnel, "tunnels", needs=("links",), build=build, parents={"nic": attrgetter("nic")},
    example={"name": "vxlan0", "kind": "vxlan", "nic": "eth0", "mtu": 1450, "room": 1450},
)  # fmt: skip
