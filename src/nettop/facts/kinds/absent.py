"""Neighbours that packets of this host wait for and that do not answer, from `unresolved`."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final

from ...frame.fields import gauge, label
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..flow_words import end
from ..kind import Kind
from ..way.chains import numbered, shown, tabled

MOST: Final = 16
USUAL: Final = (255, 254, 253)  # tables local, main and default


@dataclass(frozen=True, slots=True)
class Absent:
    """One address in the network of an interface."""

    id: str = label("address@interface")
    nic: str = gauge("interface", default="")
    address: str = gauge("address", default="")
    gateway: bool = gauge("gateway of a route", default=False)
    what: str = gauge("address@interface, and what of this host sends there", default="")
    change: str = gauge("what no longer sends there", default="")
    count: int = gauge("neighbours that do not answer, on all interfaces", "neighbours", default=1)


def build(frame: Frame, facts: Facts) -> tuple[Absent, ...]:  # noqa: ARG001
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
            *_sender(frame, row.address, f"{row.address}@{row.interface}"),
            len(rows),
        )
        for row in rows
    ]
    return tuple(sorted(found, key=lambda one: (not one.gateway, one.id))[:MOST])


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
        if row.sent_to == address:
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
            table = f" table {way.table}" if way.table not in USUAL else ""
            change = "What goes by this hop is lost, and the rest arrives: start that gateway, or "
            change += f"take the hop out (`ip {six}route replace {way.to} {keep}{table}`)"
            return f"{name}, 1 of {len(hops)} next hops of route {way.to}{table},", change
    for route in frame.rows("fib"):
        if route.gateway == address and route.table not in USUAL:
            asks = next((one for one in frame.rows("routing_rules") if one.table == route.table),
                        None)  # fmt: skip
            by = f" (rule {asks.priority} from {asks.source or 'all'})" if asks else ""
            rest = f"; or `ip {six}rule del priority {asks.priority}`" if asks else ""
            new = f"ip {six}route replace {route.to} via GATEWAY table {route.table}"
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


KIND = Kind(
    Absent, "absent_neighbours", needs=("unresolved", "routes", "translated"), build=build,
    example={"id": "192.0.2.1@eth0"},
)  # fmt: skip
