"""Unicast routes: RTM_GETROUTE (net/ipv4/fib_semantics.c, net/ipv6/route.c).

The large table of a router is refused, because parsing 100,000 routes takes a second.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from ..frame.fields import gauge, label, maybe
from ..host.netlink import route
from ..host.netlink.codec import Attributes, decode, of_kind
from ..host.source import Source
from ..terms.dataclass import dataclass
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


Head: TypeAlias = tuple[int, ...]
"""struct rtmsg: family, bits of the network, …, table at 4, type at 7, flags at 8."""

IPV4: Final = 2  # AF_INET
_FAMILIES: Final = (IPV4, 10)  # and AF_INET6
_CACHED: Final = 0x200  # RTM_F_CLONED
_CACHE: Final = struct.Struct("=IIi")  # struct rta_cacheinfo: references, last use, expires
TICKS: Final = 100  # USER_HZ: clock ticks of a second
_HOP: Final = struct.Struct("=HBBi")  # rtnexthop
_LARGEST: Final = 1 << 20  # bytes of answer: some 17,000 routes


def answers(source: Source) -> tuple[dict[int, str], list[bytes]]:
    """The names of interfaces by index, and the routes of each family (IPv6 may be absent)."""
    names = route.names(source)
    replies = [route.routes(source, 2)]
    with suppress(OSError):
        replies.append(route.routes(source, 10))
    return names, replies


def entries(
    reply: bytes, wanted: Callable[[Head], bool] = lambda _: True, instead: str = ""
) -> Iterator[tuple[Head, Attributes]]:
    """The head and the attributes of each wanted route that is no cached answer.

    ValueError if the answer is cut off or too large; `instead` says what is used then.
    """
    if len(reply) > _LARGEST:
        size = f"{len(reply) / (1 << 20):.1f} MiB"
        raise ValueError(f"a routing table of {size} is not read{instead}")
    for start, end in of_kind(reply, route.NEWROUTE, route.RTMSG.size, "a route"):
        head = route.RTMSG.unpack_from(reply, start)
        if head[0] in _FAMILIES and not head[8] & _CACHED and wanted(head):
            yield head, decode(reply, start + route.RTMSG.size, end, route.ROUTE)


def network(head: Head, values: Attributes) -> bytes:
    """The address of the network; of the default route zeros."""
    raw: bytes = values.get("to") or bytes(4 if head[0] == IPV4 else 16)
    return raw


def gateway(values: Attributes) -> str | None:
    """The next hop of a route, also one of the other family (struct rtvia)."""
    raw = values.get("gateway") or values.get("via", b"")[2:]
    return route.ip(raw) if raw else None


def expires(cache: bytes) -> int:
    """The time after which the kernel forgets what it learnt, in clock ticks; 0: never."""
    return int(_CACHE.unpack_from(cache)[2]) if len(cache) >= _CACHE.size else 0


def hops(flags: int, values: Attributes) -> Iterator[tuple[int, int, Attributes]]:
    """The interface, the flags and the attributes of each hop."""
    raw = values.get("multipath")
    if not raw:
        yield values.get("interface", 0), flags, values
        return
    at = 0
    while len(raw) - at >= _HOP.size:
        length, bits, _weight, index = _HOP.unpack_from(raw, at)
        if length < _HOP.size or length > len(raw) - at:
            raise ValueError("a route's hop has a wrong length")
        yield index, bits, decode(raw, at + _HOP.size, at + length, route.ROUTE)
        at += (length + 3) & ~3
