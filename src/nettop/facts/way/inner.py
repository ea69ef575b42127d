"""What this host forwards for other namespaces of it: containers and pods on its bridges and veths.

Their sockets are read (`netns_tcp`), their routes and filters are not: the way begins where their
packets enter this namespace. No counter of theirs moves here when it ends here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from ...collect.links import Row as LinkRow
from ...collect.routes import Row as RouteRow
from ...terms import units
from .arrivals import LOOK
from .flow import Flow, Host, Network, Trouble, address, network
from .legs import CARRIED
from .lookup import MAIN

ABROAD: Final = "192.0.2.1"  # for documentation (RFC 5737): only a default route leads there
RATE: Final = 0.3  # packets/s: a SYN is sent again after 1, 2 and 4 s
MOST: Final = 4  # ways of each kind


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
    here = {one.index: one.peer for one in host.links.values()
            if way.interface in (one.interface, one.master) and _pair(one)}  # fmt: skip
    there = [row for row in host.frame.rows("netns_links") if row.namespace == namespace]
    known = any(here.get(row.peer or 0) == row.index for row in there)
    return way.interface if here and (known or not there) else ""


def _pair(link: LinkRow) -> bool:
    """Whether it is a veth whose other end is in another namespace."""
    return link.kind == "veth" and link.peer is not None


def forwarded(host: Host) -> Iterator[Trouble]:
    """Ways that a host with other namespaces is there for, while it drops what it should forward.

    A counter tells that packets are dropped, and not which: that of a policy for forwarded packets,
    or of those for others. So the ways from its tunnels to its namespaces, which are never to be
    stopped, and from these to any address are walked.
    """
    tables = host.frame.tables
    drops, chain = max(((one.rate("packets") or 0.0, one.now.chain)
                        for one in tables.get("nftables", ())
                        if (one.now.rule, one.now.hook) == ("policy", "forward")),
                       default=(0.0, ""))  # fmt: skip
    foreign = max((one.rate("ip_foreign") or 0.0 for one in tables.get("snmp", ())), default=0.0)
    if max(drops, foreign) < RATE:
        return
    names = dict.fromkeys(one.master or one.interface for one in host.links.values() if _pair(one))
    inside = {name: one for name in names if (one := _beyond(host, name, near=True))}
    tunnels = [one.interface for one in host.links.values() if one.kind in CARRIED and one.up]
    by, told = f"the policy of chain {chain} ", f"its counter rises by {units.packets(drops)}"
    every = f"{told}, and {ABROAD} stands for all others"
    for name, client in islice(inside.items(), MOST) if drops >= RATE else ():
        for one in tunnels[:MOST]:
            if far := _beyond(host, one):
                yield _dropped(Flow(client, 0, far, one), told, drops, by, meant=False)
        yield _dropped(Flow(ABROAD, 0, client, name), every, drops, by)
    moved = {
        one.now.interface: one.rate("rx_packets") or 0.0 for one in tables.get("link_stats", ())
    }
    for name, client in islice(inside.items(), MOST) if foreign >= RATE else ():
        if moved.get(name, 0.0) >= foreign:
            told = f"{units.packets(foreign)} arrive for other hosts"
            yield _dropped(Flow(ABROAD, 0, client, name), told, foreign, meant=False)


def _beyond(host: Host, name: str, *, near: bool = False) -> str:
    """An address of another host behind an interface, without a gateway if `near`; or empty."""
    for one in host.frame.rows("routes"):
        if (one.interface, one.family, one.table) == (name, 4, MAIN):
            net = network(one.to)
            hosts = islice(net.hosts(), 2) if net.prefixlen and one.gateway is None else ()
            every = [str(each) for each in hosts] if near or not one.gateway else [one.gateway]
            if found := next((each for each in every if not host.local(each)), ""):
                return found
    return ""


def _dropped(flow: Flow, said: str, rate: float, by: str = "", *, meant: bool = True) -> Trouble:
    return Trouble(flow, (said,), packets=round(rate * LOOK), per_s=rate, by=by, meant=meant,
                   places=("hooks",) if by else ("forwarding",))  # fmt: skip
