"""Routes that limit flows: by a metric (ip-route(8)), or as one of several equal next hops (ECMP).

The kernel takes the metrics `window`, `cwnd`, `initcwnd` and `advmss` when a connection begins: no
window above `window` is offered (net/ipv4/tcp_input.c, tcp_init_buffer_space(); tcp_output.c,
tcp_select_initial_window()), the congestion window never exceeds a locked `cwnd`
(net/ipv4/tcp_metrics.c, tcp_init_metrics()) and begins with `initcwnd` (tcp_input.c,
tcp_init_cwnd()), and the peer is told to send no longer segments than `advmss` (tcp_output.c,
tcp_advertise_mss()).

Of several equal next hops (IPv4) some flows share one. With net.ipv4.fib_multipath_hash_policy=0
the kernel chooses the next hop by both addresses (net/ipv4/route.c, fib_multipath_hash()), so all
flows between two addresses take the same one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from operator import attrgetter
from typing import Final, TypeAlias

from ...collect.routes import Row as RouteRow
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind
from .flow import Flow

Network: TypeAlias = IPv4Network | IPv6Network
MAIN: Final = 254  # RT_TABLE_MAIN
NEAR: Final = 0.4  # of the window: what is in flight of a window that limits, on average
APART: Final = 2.0  # seconds between frames, at the most as a rule
FIRST: Final = 10  # segments: TCP_INIT_CWND, include/net/tcp.h
BEGINS: Final = 70  # segments: after three round trips from ten segments on, the begin is over
MOST: Final = 0.5  # of `advmss`: the mean size of segments that it limits, with some short ones


@dataclass(frozen=True, slots=True)
class Metric:
    """One route with a limit that flows have reached."""

    to: str = label("network of the route")
    nic: str = gauge("interface of the route", default="")
    window: int | None = maybe("`window` of the route", "bytes")
    cwnd: int | None = maybe("`cwnd` of the route, locked", "segments")
    initcwnd: int | None = maybe("`initcwnd` of the route", "segments")
    flows: int = gauge("flows that have reached it", "flows", default=0)
    rtt: float | None = maybe("shortest round trip of these flows", "s")
    advmss: int | None = maybe("segment size announced to peers", "bytes")
    cut: int = gauge("bulk flows that receive segments of this size", "flows", default=0)
    peers: tuple[str, ...] = gauge("the other ends of those that have reached it", default=())


def build(frame: Frame, facts: Facts) -> tuple[Metric, ...]:
    """Routes of the main table whose limit a flow has reached."""
    routes = [row for row in frame.rows("routes") if row.table == MAIN]
    if not any(row.window or row.clamp or row.advmss or row.initcwnd for row in routes):
        return ()
    networks = prefixes(routes)
    held: dict[str, list[tuple[str, float | None]]] = defaultdict(list)
    cut: Counter[str] = Counter()
    for flow in facts.flows:
        row = route(flow.remote, networks) if flow.protocol == "tcp" else None
        if row is not None and _at(flow, row):
            held[row.to].append((flow.remote, flow.min_rtt or flow.rtt))
        if row is not None and row.advmss:
            cut[row.to] += _cut(flow, row.advmss)
    for to, remote, trip in _begun(frame, facts, networks):
        held[to].append((remote, trip))
    return tuple(
        Metric(
            row.to, row.interface, row.window, row.clamp, row.initcwnd, len(trips),
            min((trip for _, trip in trips if trip), default=None), row.advmss, cut[row.to],
            tuple(sorted({remote for remote, _ in trips})),
        )
        for row in routes if (trips := held.get(row.to, [])) or cut[row.to]
    )  # fmt: skip


def _begun(
    frame: Frame, facts: Facts, networks: Sequence[tuple[Network, RouteRow]]
) -> Iterator[tuple[str, str, float | None]]:
    """The route, the peer and the round trip of each connection that began just now and is limited.

    It began with few segments, or has received since the last frame what keeps the window busy. The
    program may have closed it already.
    """
    later = any(nic.per_s.rx_packets is not None for nic in facts.nics)  # than the first frame
    for entry in frame.tables.get("sockets_tcp", ()):
        one, trip = entry.now, (entry.now.min_rtt or entry.now.rtt or 0) / 1e6
        begins = one.unacked and one.mss and (one.bytes_acked or 0) < BEGINS * one.mss
        taken = (one.bytes_received or 0) * trip / APART if later and not entry.rated else 0.0
        row = route(one.remote, networks) if begins or taken else None
        few = row is not None and begins and row.initcwnd and row.initcwnd < FIRST
        if row is not None and (few or (row.window and taken >= NEAR * row.window)):
            yield row.to, one.remote, trip or None


def _network(to: str) -> Network | None:
    try:
        return ip_network(to, strict=False)
    except ValueError:
        return None


def prefixes(routes: Sequence[RouteRow]) -> list[tuple[Network, RouteRow]]:
    """The networks of routes, the most specific first; of equal ones that of the lowest metric."""
    networks = [(net, row) for row in routes if (net := _network(row.to)) is not None]
    return sorted(networks, key=lambda one: (-one[0].prefixlen, one[1].metric or 0))


def main_routes(frame: Frame) -> list[tuple[Network, RouteRow]]:
    """The networks of the main table, as `prefixes`."""
    return prefixes([row for row in frame.rows("routes") if row.table == MAIN])


def route(remote: str, networks: Sequence[tuple[Network, RouteRow]]) -> RouteRow | None:
    """The most specific route to an address."""
    address = _address(remote)
    return next((row for net, row in networks if address is not None and address in net), None)


def locking(metrics: Sequence[Metric], remote: str, cwnd: int) -> Metric | None:
    """The route to an address that holds the congestion window of its flows at `cwnd`."""
    known = [(net, one) for one in metrics if one.cwnd == cwnd and (net := _network(one.to))]
    address = _address(remote) if known else None
    return next((one for net, one in known if address is not None and address in net), None)


def _address(remote: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(remote.partition("%")[0].removeprefix("::ffff:"))
    except ValueError:
        return None


def _cut(flow: Flow, size: int) -> bool:
    """Whether a bulk flow receives segments of about `size` bytes."""
    if not (flow.bulk and flow.direction == "receive" and flow.rx_per_s and flow.data_in):
        return False
    return MOST * size <= flow.rx_per_s / flow.data_in <= size


def _at(flow: Flow, row: RouteRow) -> bool:
    if row.clamp and flow.direction == "send" and flow.wants and flow.cwnd:
        return flow.cwnd >= row.clamp
    trip = flow.min_rtt or flow.rtt
    if row.window and flow.direction == "receive" and flow.rx_per_s and trip:
        return flow.rx_per_s * trip >= NEAR * row.window
    return False


KIND = Kind(
    Metric, "metrics", needs=("routes", "sockets_tcp"), build=build,
    parents={"nic": attrgetter("nic")}, example={"to": "192.0.2.0/24", "nic": "eth0"},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Multipath:
    """One route; the pair of addresses that sends most by it."""

    to: str = label("network of the route")
    hops: int = gauge("equal next hops", "hops", default=0)
    flows: int = gauge("flows that send by it and want to move data", "flows", default=0)
    pair: str = gauge("addresses of most of what is sent, as local-remote", default="")
    pair_flows: int = gauge("flows between these addresses", "flows", default=0)
    share: float | None = maybe("part of what is sent that goes between these addresses", "ratio")


def multipaths(frame: Frame, facts: Facts) -> tuple[Multipath, ...]:
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


MULTIPATH = Kind(
    Multipath, "multipaths", needs=("routes", "sockets_tcp"), build=multipaths,
    example={"to": "192.0.2.0/24"},
)  # fmt: skip
