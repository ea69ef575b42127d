"""Routes of every type in every table, with dead next hops: RTM_GETROUTE (net/ipv4/fib_trie.c).

The collector `routes` has the unicast routes with their metrics; a way needs also those that
refuse, the local ones, and hops that are not used.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.netlink import route
from ..host.netlink.codec import Attributes, Field, decode
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, parsed
from .routes import IPV4, TICKS, Head, answers, entries, expires, gateway, hops, network

TABLE: Final = Table(every=2.0, asked=True, optional=True)

# RTN_*, include/uapi/linux/rtnetlink.h
KINDS: Final = {
    1: "unicast", 2: "local", 3: "broadcast", 4: "anycast", 5: "multicast", 6: "blackhole",
    7: "unreachable", 8: "prohibit", 9: "throw", 10: "nat",
}  # fmt: skip
_DEAD, _LINKDOWN = 0x01, 0x10  # RTNH_F_*
_BY_ADVERTISEMENT: Final = 9  # RTPROT_RA
_BPF: Final = 6  # LWTUNNEL_ENCAP_BPF
# LWT_BPF_IN, _OUT and _XMIT, each with LWT_BPF_PROG_NAME
_NAMED: Final = {2: Field("name", "text")}
_PLACES: Final = {number: Field(place, "nest", _NAMED)
                  for number, place in enumerate(("in", "out", "xmit"), 1)}  # fmt: skip
_PREFERENCES: Final = {1: "high", 3: "low"}  # ICMPV6_ROUTER_PREF_*: RFC 4191


@dataclass(frozen=True, slots=True)
class Row:
    """One next hop of a route; a route that refuses has one without interface."""

    family: int = label("4 or 6")
    table: int = label("routing table; 254 is main, 255 local")
    to: str = label("network, e.g. 10.0.0.0/8; default is 0.0.0.0/0 or ::/0")
    metric: int = label("metric: the lowest is preferred")
    hop: int = label("number of the next hop")
    kind: str = gauge("unicast local blackhole unreachable prohibit throw …")
    interface: str | None = maybe("outgoing interface")
    gateway: str | None = maybe("next hop")
    source: str | None = maybe("source address")
    dead: bool = gauge("not used: its interface is down", default=False)
    linkdown: bool = gauge("its interface has no carrier", default=False)
    advertised: bool = gauge("learnt by a router advertisement", default=False)
    preference: str = gauge("preference that the router advertised: high low, or empty", default="")
    lasts: int | None = maybe("time after which it is forgotten", "s")
    nexthop: int | None = maybe("nexthop object that decides where it leads")
    programs: str = gauge("BPF programs that see each packet it leads (encap bpf)", default="")


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every route of both families (IPv6 may be absent). OSError, or ValueError."""
    return parsed(
        memory, "fib", answers(source),
        lambda raw: [row for reply in raw[1] for row in parse(reply, raw[0])],
    )  # fmt: skip


def parse(reply: bytes, names: Mapping[int, str]) -> list[Row]:
    """The rows of an answer to RTM_GETROUTE; ValueError if it is cut off or too large."""
    return [row for head, values in entries(reply) for row in _rows(head, values, names)]


def _rows(head: Head, values: Attributes, names: Mapping[int, str]) -> Iterator[Row]:
    origin = values.get("source")
    learnt = head[0] != IPV4 and head[5] == _BY_ADVERTISEMENT
    left = 0 if head[0] == IPV4 else expires(values.get("cacheinfo", b"")) // TICKS
    if left < 0:  # it has ended, and is not removed yet: rt6_check_expired()
        return
    for number, (index, flags, hop) in enumerate(hops(head[8], values)):
        yield Row(
            family=4 if head[0] == IPV4 else 6,
            table=values.get("table", head[4]),
            to=route.prefix(network(head, values), head[1]),
            metric=values.get("metric", 0),
            hop=number,
            kind=KINDS.get(head[7], str(head[7])),
            interface=names.get(index),
            gateway=gateway(hop),
            source=route.ip(origin) if origin else None,
            dead=bool(flags & _DEAD),
            linkdown=bool(flags & _LINKDOWN),
            advertised=learnt,
            preference=_PREFERENCES.get(values.get("pref", 0), "") if learnt else "",
            lasts=left or None if learnt else None,
            nexthop=values.get("nexthop"),
            programs=_programs(hop),
        )


def _programs(hop: Attributes) -> str:
    """The programs of a hop with their places, e.g. `acl at xmit`; empty: it has none."""
    raw = hop.get("encapsulation", b"")
    if hop.get("encap") != _BPF:
        return ""
    values = decode(raw, 0, len(raw), _PLACES)
    found = (f"{values[one.name].get('name') or 'a program'} at {one.name}"
             for one in _PLACES.values() if one.name in values)  # fmt: skip
    return ", ".join(found) or "a program"
