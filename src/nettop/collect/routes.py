"""Unicast routes: RTM_GETROUTE (net/ipv4/fib_semantics.c, net/ipv6/route.c).

The large table of a router is refused, because parsing 100,000 routes takes a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import route
from ..host.netlink.codec import Attributes, decode, messages
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._memory import Memory, parsed
from .fib import gateway, hops

EVERY = 10.0

_UNICAST, _LOCAL_TABLE, _CACHED = 1, 255, 0x200
_CWND: Final = 7  # RTAX_CWND: its bit in the locked metrics
_LARGEST: Final = 1 << 20  # bytes of answer: some 17,000 routes


@dataclass(frozen=True, slots=True)
class Row:
    """One unicast route; a multipath route is one row for each hop."""

    to: str = label("network, e.g. 10.0.0.0/8; default is 0.0.0.0/0 or ::/0")
    interface: str = label("outgoing interface")
    metric: int = label("metric: the lowest is preferred")
    table: int = label("routing table; 254 is main")
    gateway: str | None = gauge("next hop", default=None)
    source: str | None = gauge("source address", default=None)
    family: int = gauge("4 or 6", default=4)
    initcwnd: int | None = gauge("initial congestion window", "segments", default=None)
    initrwnd: int | None = gauge("initial receive window", "segments", default=None)
    mtu: int | None = gauge("path MTU set on the route", "bytes", default=None)
    window: int | None = gauge("largest receive window set on the route", "bytes", default=None)
    clamp: int | None = gauge(
        "largest congestion window set on the route, locked", "segments", default=None
    )
    advmss: int | None = gauge("advertised segment size", "bytes", default=None)
    congestion: str | None = gauge("congestion control set on the route", default=None)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every unicast route of both families (IPv6 may be absent). OSError, or ValueError.

    The same rows as before while the answers are the same.
    """
    names = route.names(source)
    replies = [route.routes(source, 2)]
    with suppress(OSError):
        replies.append(route.routes(source, 10))
    return parsed(
        memory, "routes", (names, replies),
        lambda raw: [row for reply in raw[1] for row in parse(reply, raw[0])],
    )  # fmt: skip


def parse(reply: bytes, names: Mapping[int, str]) -> list[Row]:
    """The rows of an answer to RTM_GETROUTE; ValueError if it is cut off or too large."""
    if len(reply) > _LARGEST:
        size = f"{len(reply) / (1 << 20):.1f} MiB"
        raise ValueError(f"a routing table of {size} is not read: interfaces by local address")
    rows: list[Row] = []
    for kind, start, end in messages(reply):
        if kind != route.NEWROUTE:
            continue
        if end - start < route.RTMSG.size:
            raise ValueError("a route is cut off")
        head = route.RTMSG.unpack_from(reply, start)
        if head[7] == _UNICAST and head[4] != _LOCAL_TABLE and not head[8] & _CACHED:
            rows += _rows(head, decode(reply, start + route.RTMSG.size, end, route.ROUTE), names)
    return rows


def _rows(head: tuple[int, ...], values: Attributes, names: Mapping[int, str]) -> list[Row]:
    family, bits = head[0], head[1]
    if family not in {2, 10}:
        return []
    to = values.get("to") or bytes(4 if family == 2 else 16)
    metrics = values.get("metrics", {})
    origin = values.get("source")
    return [
        Row(
            to=f"{route.ip(to)}/{bits}",
            interface=names[index],
            metric=values.get("metric", 0),
            table=values.get("table", head[4]),
            gateway=gateway(hop),
            source=route.ip(origin) if origin else None,
            family=6 if family == 10 else 4,
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
