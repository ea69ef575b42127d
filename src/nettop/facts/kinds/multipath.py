"""IPv4 routes with several equal next hops (ECMP), and the flows that share one of them.

With net.ipv4.fib_multipath_hash_policy=0 the kernel chooses the next hop by both addresses
(net/ipv4/route.c, fib_multipath_hash()), so all flows between two addresses take the same one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from ipaddress import ip_address

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind
from .flow import Flow
from .metric import prefixes, route


@dataclass(frozen=True, slots=True)
class Multipath:
    """One route; the pair of addresses that sends most by it."""

    to: str = label("network of the route")
    hops: int = gauge("equal next hops", "hops", default=0)
    flows: int = gauge("flows that send by it and want to move data", "flows", default=0)
    pair: str = gauge("addresses of most of what is sent, as local-remote", default="")
    pair_flows: int = gauge("flows between these addresses", "flows", default=0)
    share: float | None = maybe("part of what is sent that goes between these addresses", "ratio")


def build(frame: Frame, facts: Facts) -> tuple[Multipath, ...]:
    """Routes of the main table with several hops by which flows send."""
    routes = [row for row in frame.rows("routes") if row.table == 254 and row.family == 4]
    # two interfaces in one network have a route each, without a gateway
    hops = Counter((row.to, row.metric) for row in routes if row.gateway)
    if not any(count > 1 for count in hops.values()):
        return ()
    networks = prefixes(routes)
    sent: dict[tuple[str, int], dict[str, list[Flow]]] = defaultdict(lambda: defaultdict(list))
    for flow in facts.flows:
        if flow.protocol != "tcp" or not flow.wants or not flow.tx_per_s:
            continue
        row = route(flow.remote, networks)
        if row is not None and hops[row.to, row.metric] > 1:
            pair = f"{_plain(flow.local)}-{_plain(flow.remote)}"
            sent[row.to, row.metric][pair].append(flow)
    return tuple(_made(to, hops[to, metric], pairs) for (to, metric), pairs in sorted(sent.items()))


def _made(to: str, hops: int, pairs: dict[str, list[Flow]]) -> Multipath:
    rates = {pair: sum(one.tx_per_s or 0.0 for one in flows) for pair, flows in pairs.items()}
    most = max(rates, key=lambda pair: (rates[pair], pair))
    count = sum(len(flows) for flows in pairs.values())
    return Multipath(to, hops, count, most, len(pairs[most]), rates[most] / sum(rates.values()))


def _plain(address: str) -> str:
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(getattr(known, "ipv4_mapped", None) or known)


KIND = Kind(
    Multipath, "multipaths", needs=("routes", "sockets_tcp"), build=build,
    example={"to": "192.0.2.0/24"},
)  # fmt: skip
