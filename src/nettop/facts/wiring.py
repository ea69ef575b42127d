"""How interfaces hang together and which one a packet takes: kinds, lower ports, routes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any, Final

_SAME: Final = {"veth": "veth", "bond": "bond", "team": "bond", "bridge": "bridge", "vlan": "vlan",
                "openvswitch": "bridge"}  # fmt: skip
_TUNNELS: Final = frozenset(
    "gre gretap erspan ip6gre ip6gretap ip6erspan ipip sit ip6tnl vxlan geneve wireguard tun tap "
    "gtp vti vti6 xfrm bareudp amt ovpn ppp".split()
)
_LOOPBACK: Final = 772  # ARPHRD_LOOPBACK and the three kinds of IEEE 802.11
_WIRELESS: Final = frozenset({801, 802, 803})
_ENDS: Final = 256  # pairs of addresses whose interface is remembered
_DEPTH: Final = 8  # a VLAN on a bond on …: deeper is a loop
PARAVIRTUAL: Final = frozenset(
    "virtio_net ena gve vmxnet3 hv_netvsc mana xen-netfront vif xen_netfront xen:vif netvsc "
    "virtio-net".split()
)


def kind_of(link: Any, device: str | None, *, wireless: bool = False) -> str:
    """Kind of an interface: nic veth bond bridge vlan tunnel loopback wireless or other.

    `device` is what the interface sits on (a PCI, virtio, USB, Xen or VMBus address), if anything.
    """
    if link.loopback or link.type == _LOOPBACK:
        return "loopback"
    if wireless or link.type in _WIRELESS:
        return "wireless"
    if link.kind in _SAME:
        return _SAME[link.kind]
    if link.kind in _TUNNELS:
        return "tunnel"
    return "nic" if device and not link.kind else "other"


def lower_ports(
    kinds: Mapping[str, str], below: Mapping[str, Iterable[str]]
) -> dict[str, tuple[str, ...]]:
    """The physical ports under each interface that is none itself.

    `below` says what each stands on directly: a bond's or bridge's members, a VLAN's parent.
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
        if kinds.get(lower) == "nic":
            found.add(lower)
        elif depth and lower != name:
            found |= _ports(lower, kinds, below, depth - 1)
    return found


@dataclass(slots=True)
class Routes:
    """Which interface a packet to an address leaves by: the longest prefix of the main table.

    Policy routing is not followed; a wrong guess there shows as a flow on the wrong interface.
    """

    # by IP version, the longest first: bits of the host part, and the interface of each network
    prefixes: dict[int, list[tuple[int, dict[int, str]]]] = field(default_factory=dict)
    own: dict[str, str] = field(default_factory=dict)  # this host's addresses
    known: dict[tuple[str, str], str | None] = field(default_factory=dict)

    @classmethod
    def of(cls, routes: Sequence[Any], addresses: Sequence[Any]) -> Routes:
        """From the rows of the `routes` and `addresses` tables."""
        found = cls()
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
            found.prefixes.setdefault(version, []).append((host, same))
        for row in addresses:
            if row.address:
                found.own[row.address] = row.interface
        return found

    def interface(self, remote: str, local: str = "") -> str | None:
        """The interface of a flow; None when no route tells and the local address is nobody's."""
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
        if address.is_link_local:  # every interface has that network
            return self.own.get(local)
        for host, networks in self.prefixes.get(address.version, ()):
            interface = networks.get(int(address) >> host)
            if interface is not None:
                return interface
        return self.own.get(local.removeprefix("::ffff:") if "." in local else local)
