"""Two routes to one gateway, by two addresses of its network.

An interface that is configured twice, as by a file and by DHCP, has two addresses of one network
and a route by each. What is translated takes the first address, and a router or another host may
know the other one only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..flow import HIDDEN, SUSPECT, Step, inside
from ..legs import OUT, THROUGH, Leg
from ..lookup import MAIN

PLACE: Final = 33
_STRICT: Final = 1  # rp_filter


def look(leg: Leg) -> Iterator[Step]:
    """A doubt, where nothing stops the packets."""
    hop, host = leg.hop, leg.host
    gateway, net = hop.gateway, hop.network
    if leg.back or leg.role not in (OUT, THROUGH) or gateway is None or net is None:
        return
    ways = {(row.interface, row.metric): row for row in host.fib
            if (row.table, row.to, row.gateway) == (MAIN, net, gateway)}  # fmt: skip
    names = sorted({name for name, _ in ways if name})
    own = [one for one in host.addresses if one.interface in names and one.scope == "global"
           and inside(gateway, f"{one.address}/{one.prefix}")]  # fmt: skip
    if len(ways) < 2 or len({one.address for one in own}) < 2:
        return
    six = "-6 " if ":" in gateway else ""
    listed = " and ".join(f"{one.address}/{one.prefix}" for one in own)
    show = f"ip {six}route show {net}; ip -br {six}addr show"
    if len(names) == 1:
        yield Step(
            "twice", SUSPECT, f"{names[0]} is configured twice, as by a file and by DHCP: it has "
            f"{listed} of one network and {len(ways)} routes {net} via {gateway}, and what leaves "
            "by one address may get no answer",
            f"{show} dev {names[0]}", f"keep one of both: take the address from the file of "
            f"{names[0]}, or DHCP; for now: ip addr del {own[-1].address}/{own[-1].prefix} dev "
            f"{names[0]}",
        )  # fmt: skip
        return
    strict = any(host.strongest(name, "rp_filter")[0] == _STRICT for name in names)
    yield Step(
        "twice", SUSPECT if strict else HIDDEN, f"{' and '.join(names)} are in one network "
        f"({listed}), each with a route {net} via {gateway}: answers may come by the other one"
        f"{', and its reverse path filter drops them' * strict}", show,
        f"keep one of both routes: ip {six}route del {net} via {gateway} dev {names[-1]}",
    )  # fmt: skip
