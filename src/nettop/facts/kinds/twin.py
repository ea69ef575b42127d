"""Two interfaces of this host in one network: one receives, and the answers leave by the other.

An interface answers ARP for every address of the host, and a route chooses the interface by which
packets leave (Documentation/networking/ip-sysctl.rst, arp_filter and arp_ignore).
"""

from __future__ import annotations

from contextlib import suppress
from ipaddress import ip_network
from operator import attrgetter
from typing import Final

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind
from .nic import Nic

KINDS: Final = ("nic", "veth", "wireless", "vlan")  # a bridge or macvlan shares its port on purpose
WHOLE: Final = 31  # a prefix this long or longer is no network with other hosts


@dataclass(frozen=True, slots=True)
class Twin:
    """An interface, and the one in its network that sends most."""

    nic: str = label("interface name")
    other: str = gauge("interface of the same network that sends most", default="")
    network: str = gauge("network of both", default="")
    rx_packets: float | None = maybe("packets received", "packets/s")
    tx_packets: float | None = maybe("packets sent", "packets/s")
    other_tx: float | None = maybe("packets sent by the other one", "packets/s")


def build(frame: Frame, facts: Facts) -> tuple[Twin, ...]:
    """One fact for each interface whose IPv4 network has an interface that sends more."""
    ports = {nic.name: nic for nic in facts.nics if nic.kind in KINDS and nic.master is None}
    networks: dict[str, dict[str, Nic]] = {}
    for row in frame.rows("addresses"):
        if row.family == 4 and row.prefix < WHOLE and row.interface in ports:
            with suppress(ValueError):  # no address, in a table that a recording brought
                network = str(ip_network(f"{row.address}/{row.prefix}", strict=False))
                networks.setdefault(network, {})[row.interface] = ports[row.interface]
    found = {}
    for network, members in networks.items():
        most = max(members.values(), key=_sent)
        for nic in members.values():
            if nic is not most:
                found[nic.name] = Twin(
                    nic.name, most.name, network, nic.per_s.rx_packets, nic.per_s.tx_packets,
                    most.per_s.tx_packets,
                )  # fmt: skip
    return tuple(found.values())


def _sent(nic: Nic) -> float:
    return nic.per_s.tx_packets or 0.0


KIND = Kind(
    Twin, "twins", needs=("addresses",), build=build, parents={"nic": attrgetter("nic")}, names={},
    example={"nic": "eth1", "other": "eth0"},
)  # fmt: skip
