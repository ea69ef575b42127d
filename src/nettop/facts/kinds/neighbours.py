"""Neighbours: their tables with the limits, those that do not answer, those that answer twice.

From the collectors `neighbours`, `unresolved` (packets of this host wait for them) and `rivals` (of
two hardware addresses in turn), and the kernel parameters.

And two interfaces of this host in one network: one receives, and the answers leave by the other. An
interface answers ARP for every address of the host, and a route chooses the interface by which
packets leave (Documentation/networking/ip-sysctl.rst, arp_filter and arp_ignore).
"""

from __future__ import annotations

from contextlib import suppress
from ipaddress import ip_address, ip_network
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..counters import grown
from ..flow_words import end
from ..kind import Kind
from ..way.chains import numbered, shown, tabled
from ..way.lookup import TABLES, options, selects
from ..way.steps.neighbour import routed
from .nic import Nic

if TYPE_CHECKING:
    pass

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


def twins(frame: Frame, facts: Facts) -> tuple[Twin, ...]:
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


TWIN = Kind(
    Twin, "twins", needs=("addresses",), build=twins, parents={"nic": attrgetter("nic")}, names={},
    example={"nic": "eth1", "other": "eth0"},
)  # fmt: skip


_LIMITS: Final = {
    "arp": "net.ipv4.neigh.default.gc_thresh3", "ndisc": "net.ipv6.neigh.default.gc_thresh3",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Neighbours:
    """One table, of all network namespaces."""

    family: str = label("arp or ndisc")
    entries: int = gauge("neighbour entries", "entries", default=0)
    limit: int | None = maybe("limit of the table (gc_thresh3)", "entries")
    overflows: float | None = maybe("entries refused, table full", "events/s")


def build(frame: Frame, facts: Facts) -> tuple[Neighbours, ...]:
    """One fact for each table."""
    found = []
    for entry in frame.tables.get("neighbours", ()):
        row = entry.now
        limit = facts.sysctls.get(_LIMITS[row.family], "")
        found.append(
            Neighbours(
                row.family,
                row.entries,
                int(limit) if limit.isdecimal() else None,
                entry.rate("overflows"),
            )
        )
    return tuple(found)


KIND = Kind(
    Neighbours, "neighbour_tables", needs=("neighbours", "sysctls"), build=build,
    names={"family": "neighbours.family"}, example={"family": "arp"},
)  # fmt: skip


MOST: Final = 16


@dataclass(frozen=True, slots=True)
class Absent:
    """One address in the network of an interface that does not answer."""

    id: str = label("address@interface")
    nic: str = gauge("interface", default="")
    address: str = gauge("address", default="")
    gateway: bool = gauge("gateway of a route", default=False)
    what: str = gauge("address@interface, and what of this host sends there", default="")
    change: str = gauge("what no longer sends there", default="")
    count: int = gauge("neighbours that do not answer, on all interfaces", "neighbours", default=1)


def _absent(frame: Frame, facts: Facts) -> tuple[Absent, ...]:  # noqa: ARG001
    """The gateways first."""
    rows = frame.rows("unresolved")
    if not rows:
        return ()
    gateways = {(row.interface, row.gateway) for row in frame.rows("routes") if row.gateway}
    found = [
        Absent(
            f"{row.address}@{row.interface}",
            row.interface,
            row.address,
            (row.interface, row.address) in gateways,
            *_behind(frame, row.interface, row.address)
            or _sender(frame, row.address, f"{row.address}@{row.interface}"),
            len(rows),
        )
        for row in rows
    ]
    return tuple(sorted(found, key=lambda one: (not one.gateway, one.id))[:MOST])


def _behind(frame: Frame, nic: str, address: str) -> tuple[str, str] | tuple[()]:
    """A host that a network of the interface takes for on-link, and that is behind a router."""
    via = routed(frame, frame.rows("routes"), nic, address)
    if via is None:
        return ()
    near, gateway = via
    what = f"{address}@{nic}, whose SYNs arrive by a router, as it seems, while the prefix of "
    what += f"{near} takes it for on-link,"
    change = (
        f"Compare that prefix with the one of the router ({gateway}): if it is too short, give "
    )
    change += f"the address of {nic} the longer one (`ip addr add ADDRESS/PREFIX dev {nic}`, then "
    change += (
        "`ip addr del` of the other); answers go by the router then. Else that host filters ARP"
    )
    return what, change


def _sender(frame: Frame, address: str, name: str) -> tuple[str, str]:
    """The address with the rule or the route that leads there, and what changes that."""
    raw = ip_address(address.partition("%")[0]).packed.hex()
    for rule in frame.rows("nft_rules"):
        words = [word[0] for word in rule.does]
        if "nat" in words and any(word[-1] == raw for word in rule.does if word[0] == "immediate"):
            return (
                f"{name}, to which the {numbered(rule)} ({tabled(rule)}) translates,",
                f"Correct the address in that rule, or delete it: `{shown(rule)}`",
            )
    for row in frame.rows("translated"):
        if row.moved and row.sent_to == address:
            ends = f"{end(row.origin, row.origin_port)} to {end(row.to, row.port)}"
            what = f"{name}, to which an entry of connection tracking sends what goes from {ends},"
            change = "No rule of nf_tables translates to that address now, and the entry may be "
            change += f"older than the rules: `conntrack -D -p {row.protocol} -d {row.to} --dport "
            change += f"{row.port}` deletes it. Else correct the rule, or start that host"
            return what, change
    six = "-6 " if ":" in address else ""
    routes = frame.rows("routes")
    for way in routes:
        hops = [one for one in routes if (one.to, one.metric, one.table) == (
            way.to, way.metric, way.table)]  # fmt: skip
        if way.gateway == address and len(hops) > 1:
            others = (f"nexthop via {one.gateway}" for one in hops if one != way and one.gateway)
            keep = " ".join(others) or "nexthop via OTHER"
            table = f" table {way.table}" if way.table not in TABLES else ""
            change = "What goes by this hop is lost, and the rest arrives: start that gateway, or "
            change += f"take the hop out (`ip {six}route replace {way.to}{options(way)} {keep}`)"
            return f"{name}, 1 of {len(hops)} next hops of route {way.to}{table},", change
    for route in frame.rows("fib"):
        if route.gateway == address and route.table not in TABLES:
            asks = next((one for one in frame.rows("routing_rules") if one.table == route.table),
                        None)  # fmt: skip
            by = f" ({selects(asks)})" if asks else ""
            rest = f"; or `ip {six}rule del priority {asks.priority}`" if asks else ""
            new = f"ip {six}route replace {route.to} via GATEWAY{options(route)}"
            return (
                f"{name}, gateway of route {route.to} of table {route.table}{by},",
                f"Correct the gateway: `{new}`{rest}",
            )
    for asked in frame.rows("udp_questions"):
        if asked.server == address:
            who = asked.processes[0] if asked.processes else "a program of this host"
            change = "Correct its address in /etc/resolv.conf (`resolvectl status` with "
            change += "systemd-resolved), remove it there, or start that host"
            return f"{name}, the name server that {who} asks,", change
    return name, "Correct the address or the VLAN, or start that host"


ABSENT = Kind(
    Absent, "absent_neighbours", needs=("unresolved", "routes", "translated"), build=_absent,
    example={"id": "192.0.2.1@eth0"},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rival:
    """One IP address that two hardware addresses claim."""

    id: str = label("address@interface")
    address: str = gauge("address", default="")
    hardware: str = gauge("both hardware addresses", default="")
    nic: str | None = maybe("interface")
    ours: bool = gauge("it is an address of this host", default=False)


def _rivals(frame: Frame, facts: Facts) -> tuple[Rival, ...]:  # noqa: ARG001
    """One fact for each of them; also those that ask others by ARP with one address, both now.

    And who asks so, or announces itself, with an address that this host has on that interface.
    """
    found = {(row.interface, row.address): row.hardware for row in frame.rows("rivals")}
    macs = {row.interface: row.address for row in frame.rows("links")}
    own = {(row.interface, row.address): macs.get(row.interface) for row in frame.rows("addresses")}
    asks: dict[tuple[str, str], set[str]] = {}
    for entry in frame.tables.get("arp_requests", ()):
        place, mac = (entry.now.interface, entry.now.source), entry.now.hardware
        if grown(entry, "requests") and not (place in own and mac in macs.values()):
            asks.setdefault(place, set()).add(mac)
    both = {}
    for place, heard in asks.items():
        named = " ".join(sorted(heard))
        if place in own:
            both[place] = f"{named}, and this host, with {own[place]}"
        elif len(heard) > 1:
            both[place] = named
    return tuple(
        Rival(f"{address}@{nic}", address, hardware, nic, (nic, address) in own)
        for (nic, address), hardware in {**both, **found}.items()
    )


RIVAL = Kind(
    Rival, "rivals", needs=("rivals",), build=_rivals,
    parents={"nic": attrgetter("nic")}, example={"id": "192.0.2.1@eth0", "address": "192.0.2.1"},
)  # fmt: skip
