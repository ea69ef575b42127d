"""Kinds of interfaces, the ports below them, and the interface of a packet by its route."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from ipaddress import ip_address, ip_network
from typing import Final, Protocol

from ..collect.addresses import Row as AddressRow
from ..collect.links import Row as LinkRow
from ..collect.netns_links import Row as FarRow
from ..collect.routes import Row as RouteRow
from ..terms.dataclass import dataclass

_SAME: Final = {"veth": "veth", "bond": "bond", "team": "bond", "bridge": "bridge", "vlan": "vlan",
                "openvswitch": "bridge"}  # fmt: skip
_TUNNELS: Final = frozenset(
    "gre gretap erspan ip6gre ip6gretap ip6erspan ipip sit ip6tnl vxlan geneve wireguard tun tap "
    "gtp vti vti6 xfrm bareudp amt ovpn ppp".split()
)
_LOOPBACK: Final = 772  # ARPHRD_LOOPBACK and the three kinds of IEEE 802.11
_WIRELESS: Final = frozenset({801, 802, 803})
_ENDS: Final = 256  # pairs of addresses whose interface is remembered
_DEPTH: Final = 8  # levels of a stack such as a VLAN on a bond; a deeper one is a loop
PARAVIRTUAL: Final = frozenset(
    "virtio_net ena gve vmxnet3 hv_netvsc mana xen-netfront vif xen_netfront xen:vif netvsc "
    "virtio-net".split()
)


Ends = Mapping[tuple[int, int, int], int]
"""MTU of ends of veth pairs in other namespaces: by namespace, own index, that of the end here."""


def far_ends(known: Ends, rows: Sequence[FarRow], links: Sequence[LinkRow]) -> Ends:
    """`known`, and what was read now: a namespace at rest is not read in each frame.

    What belongs to no interface of this namespace, by its `links`, is forgotten.
    """
    if not known and not rows:
        return known
    own = {link.index for link in links}
    kept = {key: mtu for key, mtu in known.items() if key[2] in own}
    for row in rows:
        if row.peer is not None and row.peer in own and row.mtu is not None:
            kept[row.namespace, row.index, row.peer] = row.mtu
    return known if kept == known else kept


def far_mtu(peer: int | None, index: int | None, ends: Ends) -> int | None:
    """The MTU of the other end of a veth pair; None where it is not known, or two may be it."""
    found = {mtu for (_, end, other), mtu in ends.items() if (end, other) == (peer, index)}
    return found.pop() if len(found) == 1 else None


class LinkKind(Protocol):
    """The attributes that decide the kind of an interface; a row of `links` has them."""

    @property
    def kind(self) -> str:
        """Kind of a software interface by rtnetlink, e.g. veth; empty for hardware."""

    @property
    def type(self) -> int | None:
        """ARPHRD type."""

    @property
    def loopback(self) -> bool:
        """The loopback interface."""


def kind_of(link: LinkKind, device: str | None, *, wireless: bool = False) -> str:
    """Kind of an interface: nic veth bond bridge vlan tunnel loopback wireless or other.

    `device` is the address of its PCI, virtio, USB, Xen or VMBus device, if it has one.
    """
    if link.loopback or link.type == _LOOPBACK:
        return "loopback"
    if wireless or link.type in _WIRELESS:
        return "wireless"
    if link.kind in _SAME:
        return _SAME[link.kind]
    if link.kind in _TUNNELS:
        return "tunnel"
    return "nic" if device and link.kind in ("", "dsa") else "other"


def lower_ports(
    kinds: Mapping[str, str], below: Mapping[str, Iterable[str]]
) -> dict[str, tuple[str, ...]]:
    """The physical ports below each interface that is not a physical port.

    `below` are the interfaces directly below: members of a bond or bridge, the parent of a VLAN or
    macvlan. In a container this parent may be a veth, which is the port there.
    """
    return {
        name: tuple(sorted(_ports(name, kinds, below, _DEPTH)))
        for name, kind in kinds.items()
        if kind in ("bond", "bridge", "vlan", "tunnel", "other")
    }


def _ports(
    name: str, kinds: Mapping[str, str], below: Mapping[str, Iterable[str]], depth: int
) -> set[str]:
    found: set[str] = set()
    for lower in below.get(name, ()):
        kind = kinds.get(lower)
        if kind == "nic" or (kind == "veth" and kinds.get(name) in ("vlan", "other")):
            found.add(lower)
        elif depth and lower != name:
            found |= _ports(lower, kinds, below, depth - 1)
    return found


@dataclass(slots=True)
class Routes:
    """The outgoing interface of an address: the longest matching prefix of the main table.

    Policy routing (ip-rule(8)) is ignored; with it a flow may be shown at the wrong interface.
    """

    # by IP version, the longest first: bits of the host part, and the interface of each network
    prefixes: dict[int, list[tuple[int, dict[int, str]]]] = field(default_factory=dict)
    own: dict[str, str] = field(default_factory=dict)  # this host's addresses
    known: dict[tuple[str, str], str | None] = field(default_factory=dict)

    @classmethod
    def of(cls, routes: Sequence[RouteRow], addresses: Sequence[AddressRow]) -> Routes:
        """From the rows of the `routes` and `addresses` tables."""
        result = cls()
        networks: dict[tuple[int, int], dict[int, str]] = {}
        for row in sorted(routes, key=lambda row: (row.metric or 0, row.interface or "")):
            if row.table not in (None, 254):
                continue
            try:
                net = ip_network(row.to, strict=False)
            except (ValueError, TypeError):
                continue
            host = net.max_prefixlen - net.prefixlen
            same = networks.setdefault((net.version, host), {})
            same.setdefault(int(net.network_address) >> host, row.interface)
        for (version, host), same in sorted(networks.items()):
            result.prefixes.setdefault(version, []).append((host, same))
        for own in addresses:
            if own.address:
                result.own[own.address] = own.interface
        return result

    def interface(self, remote: str, local: str = "") -> str | None:
        """The interface of a flow; None if neither a route nor the local address gives one."""
        ends = (remote, local)
        if ends not in self.known:
            if len(self.known) >= _ENDS:
                self.known.clear()
            self.known[ends] = self._find(remote, local)
        return self.known[ends]

    def _find(self, remote: str, local: str) -> str | None:
        plain, _, scope = remote.partition("%")
        if scope:
            return scope
        plain = plain.removeprefix("::ffff:") if "." in plain else plain
        if plain in self.own:
            return "lo"
        try:
            address = ip_address(plain)
        except ValueError:
            return self.own.get(local)
        if address.is_loopback:
            return "lo"
        if address.is_link_local:  # every interface has a link-local network
            return self.own.get(local)
        for host, networks in self.prefixes.get(address.version, ()):
            interface = networks.get(int(address) >> host)
            if interface is not None:
                return interface
        return self.own.get(local.removeprefix("::ffff:") if "." in local else local)
