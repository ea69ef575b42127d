"""The entries of an answer to RTM_GETROUTE (net/ipv4/fib_trie.c), for the tables made of them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, TypeAlias

from ..host.netlink import route
from ..host.netlink.codec import Attributes, decode, of_kind
from ..host.source import Source

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
