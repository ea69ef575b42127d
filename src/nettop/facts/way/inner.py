"""What this host forwards for other namespaces of it: containers and pods on its bridges and veths.

Their sockets are read (`netns_tcp`), their routes and filters are not: the way begins where their
packets enter this namespace. No counter of theirs moves here when it ends here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from ...collect.routes import Row as RouteRow
from ...terms import units
from .flow import Flow, Host, Network, Trouble, address, network
from .legs import CARRIED
from .lookup import MAIN

ABROAD: Final = "192.0.2.1"  # for documentation (RFC 5737): only a default route leads there
RATE: Final = 0.3  # packets/s: a SYN is sent again after 1, 2 and 4 s
LOOK: Final = 10.0  # s: as rules judge losses
MOST: Final = 4  # ways of each kind


def ends(host: Host, name: str) -> dict[int, int]:
    """The veths of an interface whose other end is in another namespace: index, and that of it."""
    return {
        one.index: one.peer for one in host.links.values()
        if name in (one.interface, one.master) and one.kind == "veth" and one.peer is not None
    }  # fmt: skip


def entrance(
    host: Host, networks: Sequence[tuple[Network, RouteRow]], local: str, namespace: int
) -> str:  # fmt: skip
    """The interface by which packets of an address of a namespace come; empty: by none of here.

    Several namespaces may have one address. So one end of a veth pair must be there, where its
    interfaces were read (a namespace that rests is not read each time).
    """
    own = address(local)
    way = next((row for net, row in networks if own in net), None)
    if way is None or way.gateway is not None or host.local(local):
        return ""
    here = ends(host, way.interface)
    there = [row for row in host.frame.rows("netns_links") if row.namespace == namespace]
    known = any(here.get(row.peer or 0) == row.index for row in there)
    return way.interface if here and (known or not there) else ""


def forwarded(host: Host) -> Iterator[Trouble]:
    """Ways that a host with other namespaces is there for, while it drops what it should forward.

    A counter tells that packets are dropped, and not which. So the ways between its namespaces,
    its tunnels and its default route are walked.
    """
    routes = [one for one in host.frame.rows("routes") if one.table == MAIN]
    inside = [
        (name, client) for name, link in host.links.items()
        if not link.master and ends(host, name) and (client := _client(host, routes, name))
    ]  # fmt: skip
    if inside:
        yield from _policies(host, routes, inside)
        yield from _foreign(host, inside)


def _client(host: Host, routes: Sequence[RouteRow], name: str) -> str:
    """An address of another host to which a route leads by an interface; empty: there is none."""
    near = (network(one.to) for one in routes
            if (one.interface, one.family) == (name, 4) and one.gateway is None)  # fmt: skip
    hosts = (str(one) for net in near if net.prefixlen for one in islice(net.hosts(), 2))
    return next((one for one in hosts if not host.local(one)), "")


def _policies(
    host: Host, routes: Sequence[RouteRow], inside: Sequence[tuple[str, str]]
) -> Iterator[Trouble]:  # fmt: skip
    """A policy of a chain for forwarded packets whose counter rises, and new connections meet it.

    Other nodes reach what is behind this one by its tunnels: that is never to be dropped.
    """
    rates: dict[str, float] = {}
    for entry in host.frame.tables.get("nftables", ()):
        if (entry.now.rule, entry.now.hook) == ("policy", "forward"):
            rates[entry.now.chain] = entry.rate("packets") or 0.0
    chain = max(rates, key=lambda one: rates[one], default="")
    rate = rates.get(chain, 0.0)
    if rate < RATE:
        return
    by, said = f"the policy of chain {chain} ", f"its counter rises by {units.packets(rate)}"
    tunnels = [one for one in host.links.values() if one.kind in CARRIED and one.up]
    for name, client in inside[:MOST]:
        for one in tunnels[:MOST]:
            gates = (row.gateway for row in routes if row.interface == one.interface)
            far = next(filter(None, gates), _client(host, routes, one.interface))
            if far:
                flow = Flow(client, 0, far, one.interface)
                yield _dropped(flow, said, rate, "hooks", by, meant=False)
        out = Flow(ABROAD, 0, client, name)
        yield _dropped(out, f"{said}, and {ABROAD} stands for all others", rate, "hooks", by)


def _foreign(host: Host, inside: Sequence[tuple[str, str]]) -> Iterator[Trouble]:
    """Packets for others, of an interface from which this host does not forward."""
    rate = max((one.rate("ip_foreign") or 0.0 for one in host.frame.tables.get("snmp", ())),
               default=0.0)  # fmt: skip
    if rate < RATE:
        return
    moved = {one.now.interface: one.rate("rx_packets") or 0.0
             for one in host.frame.tables.get("link_stats", ())}  # fmt: skip
    for name, client in inside[:MOST]:
        if moved.get(name, 0.0) >= rate:
            said = f"{units.packets(rate)} arrive for other hosts"
            flow = Flow(ABROAD, 0, client, name)
            yield _dropped(flow, said, rate, "forwarding", meant=False)


def _dropped(
    flow: Flow, said: str, rate: float, place: str, by: str = "", *, meant: bool = True
) -> Trouble:  # fmt: skip
    return Trouble(flow, (said,), packets=round(rate * LOOK), per_s=rate, places=(place,), by=by,
                   meant=meant)  # fmt: skip
