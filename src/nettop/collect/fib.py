"""Routes of every type in every table, with dead next hops: RTM_GETROUTE (net/ipv4/fib_trie.c).

The collector `routes` has the unicast routes with their metrics; a way needs also those that
refuse, the local ones, and hops that are not used.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import route
from ..host.netlink.codec import Attributes, decode, messages
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._memory import Memory, parsed

EVERY: Final = 2.0
ASKED = True
OPTIONAL = True

_IPV4, _IPV6 = 2, 10  # AF_INET, AF_INET6
# RTN_*, include/uapi/linux/rtnetlink.h
KINDS: Final = {
    1: "unicast", 2: "local", 3: "broadcast", 4: "anycast", 5: "multicast", 6: "blackhole",
    7: "unreachable", 8: "prohibit", 9: "throw", 10: "nat",
}  # fmt: skip
_CACHED: Final = 0x200  # RTM_F_CLONED
_DEAD, _LINKDOWN = 0x01, 0x10  # RTNH_F_*
_HOP: Final = struct.Struct("=HBBi")  # rtnexthop
_LARGEST: Final = 1 << 20  # bytes of answer: some 17,000 routes


@dataclass(frozen=True, slots=True)
class Row:
    """One next hop of a route; a route that refuses has one without interface."""

    family: int = label("4 or 6")
    table: int = label("routing table; 254 is main, 255 local")
    to: str = label("network, e.g. 10.0.0.0/8; default is 0.0.0.0/0 or ::/0")
    metric: int = label("metric: the lowest is preferred")
    hop: int = label("number of the next hop")
    kind: str = gauge("unicast local blackhole unreachable prohibit throw …")
    interface: str | None = gauge("outgoing interface", default=None)
    gateway: str | None = gauge("next hop", default=None)
    source: str | None = gauge("source address", default=None)
    dead: bool = gauge("not used: its interface is down", default=False)
    linkdown: bool = gauge("its interface has no carrier", default=False)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every route of both families (IPv6 may be absent). OSError, or ValueError."""
    names = route.names(source)
    replies = [route.routes(source, 2)]
    with suppress(OSError):
        replies.append(route.routes(source, 10))
    return parsed(
        memory, "fib", (names, replies),
        lambda raw: [row for reply in raw[1] for row in parse(reply, raw[0])],
    )  # fmt: skip


def parse(reply: bytes, names: Mapping[int, str]) -> list[Row]:
    """The rows of an answer to RTM_GETROUTE; ValueError if it is cut off or too large."""
    if len(reply) > _LARGEST:
        size = f"{len(reply) / (1 << 20):.1f} MiB"
        raise ValueError(f"a routing table of {size} is not read")
    rows: list[Row] = []
    for kind, start, end in messages(reply):
        if kind != route.NEWROUTE:
            continue
        if end - start < route.RTMSG.size:
            raise ValueError("a route is cut off")
        head = route.RTMSG.unpack_from(reply, start)
        if head[0] in (_IPV4, _IPV6) and not head[8] & _CACHED:
            values = decode(reply, start + route.RTMSG.size, end, route.ROUTE)
            rows += _rows(head, values, names)
    return rows


def _rows(head: tuple[int, ...], values: Attributes, names: Mapping[int, str]) -> Iterator[Row]:
    to = values.get("to") or bytes(4 if head[0] == _IPV4 else 16)
    origin = values.get("source")
    for number, (index, flags, hop) in enumerate(hops(head[8], values)):
        yield Row(
            family=4 if head[0] == _IPV4 else 6,
            table=values.get("table", head[4]),
            to=route.prefix(to, head[1]),
            metric=values.get("metric", 0),
            hop=number,
            kind=KINDS.get(head[7], str(head[7])),
            interface=names.get(index),
            gateway=gateway(hop),
            source=route.ip(origin) if origin else None,
            dead=bool(flags & _DEAD),
            linkdown=bool(flags & _LINKDOWN),
        )


def gateway(values: Attributes) -> str | None:
    """The next hop of a route, also one of the other family (struct rtvia)."""
    raw = values.get("gateway") or values.get("via", b"")[2:]
    return route.ip(raw) if raw else None


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
