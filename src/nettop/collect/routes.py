"""Unicast routes: RTM_GETROUTE (net/ipv4/fib_semantics.c, net/ipv6/route.c).

The large table of a router is refused, because parsing 100,000 routes takes a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.netlink import route
from ..host.netlink.codec import Attributes
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._routes import IPV4, Head, answers, entries, gateway, hops, network
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=10.0)

_UNICAST, _LOCAL_TABLE = 1, 255
_CWND: Final = 7  # RTAX_CWND: its bit in the locked metrics


@dataclass(frozen=True, slots=True)
class Row:
    """One unicast route; a multipath route is one row for each hop."""

    to: str = label("network, e.g. 10.0.0.0/8; default is 0.0.0.0/0 or ::/0")
    interface: str = label("outgoing interface")
    metric: int = label("metric: the lowest is preferred")
    table: int = label("routing table; 254 is main")
    gateway: str | None = maybe("next hop")
    source: str | None = maybe("source address")
    family: int = gauge("4 or 6", default=4)
    initcwnd: int | None = maybe("initial congestion window", "segments")
    initrwnd: int | None = maybe("initial receive window", "segments")
    mtu: int | None = maybe("path MTU set on the route", "bytes")
    window: int | None = maybe("largest receive window set on the route", "bytes")
    clamp: int | None = maybe("largest congestion window set on the route, locked", "segments")
    advmss: int | None = maybe("advertised segment size", "bytes")
    congestion: str | None = maybe("congestion control set on the route")


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every unicast route of both families (IPv6 may be absent). OSError, or ValueError.

    The same rows as before while the answers are the same.
    """
    return parsed(
        memory, "routes", answers(source),
        lambda raw: [row for reply in raw[1] for row in parse(reply, raw[0])],
    )  # fmt: skip


def parse(reply: bytes, names: Mapping[int, str]) -> list[Row]:
    """The rows of an answer to RTM_GETROUTE; ValueError if it is cut off or too large."""
    unicast = entries(reply, _unicast, ": interfaces by local address")
    return [row for head, values in unicast for row in _rows(head, values, names)]


def _unicast(head: Head) -> bool:
    return head[7] == _UNICAST and head[4] != _LOCAL_TABLE


def _rows(head: Head, values: Attributes, names: Mapping[int, str]) -> list[Row]:
    metrics = values.get("metrics", {})
    origin = values.get("source")
    return [
        Row(
            to=route.prefix(network(head, values), head[1]),
            interface=names[index],
            metric=values.get("metric", 0),
            table=values.get("table", head[4]),
            gateway=gateway(hop),
            source=route.ip(origin) if origin else None,
            family=4 if head[0] == IPV4 else 6,
            initcwnd=metrics.get("initcwnd"),
            initrwnd=metrics.get("initrwnd"),
            mtu=metrics.get("mtu"),
            window=metrics.get("window"),
            clamp=metrics.get("cwnd") if metrics.get("lock", 0) & 1 << _CWND else None,
            advmss=metrics.get("advmss"),
            congestion=metrics.get("congestion"),
        )
        for index, _flags, hop in hops(head[8], values)
        if index in names
    ]
