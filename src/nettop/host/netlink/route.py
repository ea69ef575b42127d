"""The rtnetlink family: links, their 64-bit counters, addresses, routes and qdiscs.

Numbers: include/uapi/linux/{if_link,if_addr,rtnetlink,pkt_sched}.h. Every question is one dump.

One question about a route: RTM_GETROUTE with its parameters (rtnetlink(7)).

net/ipv4/route.c, inet_rtm_getroute(); net/ipv6/route.c, inet6_rtm_getroute(). With an incoming
interface the kernel answers as for a packet that arrives there.
"""

import errno
import os
import struct
from collections.abc import Iterator, Mapping
from functools import lru_cache
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton
from typing import Final, Protocol

from ...terms.dataclass import dataclass
from ..source import Source
from .codec import (
    Attributes,
    Field,
    Request,
    attribute,
    attributes,
    decode,
    messages,
    numbered,
    text,
)

_LOOKUP_TABLE, _FIB_MATCH = 0x1000, 0x2000  # RTM_F_*; the second since Linux 4.13
DST, SRC, IIF, OIF, MARK, UID, IP_PROTO, DPORT = 1, 2, 3, 4, 16, 25, 27, 29  # RTA_*
_PROTOCOLS: Final = {"tcp": 6, "udp": 17}


@dataclass(frozen=True, slots=True)
class Question:
    """What the kernel is asked; empty fields are left out."""

    to: str
    source: str = ""  # source address
    arrives: str = ""  # interface on which the packet comes in
    leaves: str = ""  # interface to which the socket is bound
    mark: int = 0
    protocol: str = "tcp"
    port: int = 0
    user: int = 0  # who sends

    @property
    def name(self) -> str:
        """The parameters as a recording has them."""
        words = [self.to]
        for word in ("source", "arrives", "leaves", "mark", "protocol", "port", "user"):
            value = getattr(self, word)
            if value and (word != "protocol" or self.port):
                words += [word, str(value)]
        return "route/way/" + "/".join(words)


def request(question: Question, names: Mapping[int, str], *, match: bool = False) -> Request:
    """The request; OSError for an interface that is not there, ValueError for no address."""
    family = AF_INET6 if ":" in question.to else AF_INET
    to = inet_pton(family, question.to)
    known = {name: index for index, name in names.items()}
    body = attribute(DST, to)
    if question.source:
        body += attribute(SRC, inet_pton(family, question.source))
    for number, interface in ((IIF, question.arrives), (OIF, question.leaves)):
        if interface:
            if interface not in known:
                raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
            body += attribute(number, struct.pack("=I", known[interface]))
    if question.mark:
        body += attribute(MARK, struct.pack("=I", question.mark))
    if question.user:
        body += attribute(UID, struct.pack("=I", question.user))
    if question.port:
        body += attribute(IP_PROTO, struct.pack("=B", _PROTOCOLS[question.protocol]))
        body += attribute(DPORT, struct.pack(">H", question.port))
    bits, flags = 8 * len(to), _FIB_MATCH if match else _LOOKUP_TABLE
    head = RTMSG.pack(family, bits, bits if question.source else 0, 0, 0, 0, 0, 0, flags)
    name = question.name + "/match" if match else question.name
    return Request("route", GETROUTE, head + body, name)


def answered(reply: bytes) -> tuple[tuple[int, ...], Attributes]:
    """The head and the attributes of the one route; OSError for none."""
    for kind, start, end in messages(reply):
        if kind == NEWROUTE and end - start >= RTMSG.size:
            head = RTMSG.unpack_from(reply, start)
            return head, decode(reply, start + RTMSG.size, end, ROUTE)
    raise OSError(errno.ENOENT, "the kernel gave no route")


GETLINK, GETADDR, GETROUTE, GETNEIGH, GETQDISC, GETCLASS, GETSTATS = 18, 22, 26, 30, 38, 42, 94
NEWLINK, NEWADDR, NEWROUTE, NEWNEIGH, NEWQDISC, NEWCLASS, NEWSTATS = 16, 20, 24, 28, 36, 40, 92
NEWRULE, GETRULE = 32, 34
NEWFILTER, GETFILTER = 44, 46
_SKIP_STATISTICS: Final = 8  # RTEXT_FILTER_SKIP_STATS: those of address families

# family, lengths of destination and source, TOS, table, protocol, scope, type, flags; the head of
# a rule has the same form, with its action as the type
RTMSG: Final = struct.Struct("=BBBBBBBBI")
IFINFO: Final = struct.Struct("=BxHiII")  # family, ARPHRD type, index, flags, change
_IFNAME: Final = 3
_MTU: Final = 4
_LINK: Final = 5
_PROPERTIES, _ALTERNATIVE = 52, 53  # IFLA_PROP_LIST, Linux 5.5, of IFLA_ALT_IFNAME

_KIND: Final = {**numbered(1, "kind:text data:raw xstats:raw slave_kind:text slave_data:raw")}
LINK: Final = {
    1: Field("address", "raw"),
    3: Field("name", "text"),
    4: Field("mtu"),
    5: Field("link"),
    6: Field("qdisc", "text"),
    10: Field("master"),
    13: Field("txqlen"),
    16: Field("operstate", "B"),
    18: Field("info", "nest", _KIND),
    20: Field("alias", "text"),
    30: Field("promiscuity"),
    31: Field("tx_queues"),
    32: Field("rx_queues"),
    33: Field("carrier", "B"),
    35: Field("carrier_changes"),
    37: Field("link_netns", "i"),
    40: Field("gso_max_segs"),
    41: Field("gso_max_size"),
    43: Field("xdp", "nest", {2: Field("attached", "B"), 4: Field("program")}),
    50: Field("min_mtu"),
    51: Field("max_mtu"),
    56: Field("parent", "text"),
    57: Field("bus", "text"),
    58: Field("gro_max_size"),
    59: Field("tso_max_size"),
}
ADDRESS: Final = numbered(1, "address:raw local:raw label:text") | {8: Field("flags")}
ROUTE: Final = {
    1: Field("to", "raw"),
    4: Field("interface"),
    5: Field("gateway", "raw"),
    6: Field("metric"),
    7: Field("source", "raw"),
    8: Field("metrics", "nest", {1: Field("lock"), 2: Field("mtu"), 3: Field("window"),
                                 7: Field("cwnd"), 8: Field("advmss"), 11: Field("initcwnd"),
                                 14: Field("initrwnd"), 16: Field("congestion", "text")}),
    9: Field("multipath", "raw"),
    12: Field("cacheinfo", "raw"),
    15: Field("table"),
    18: Field("via", "raw"),
    20: Field("pref", "B"),
    21: Field("encap", "H"),
    22: Field("encapsulation", "raw"),
    30: Field("nexthop"),
}  # fmt: skip
QDISC: Final = {
    1: Field("kind", "text"),
    2: Field("options", "raw"),
    7: Field("stats", "nest", {1: Field("basic", "raw"), 3: Field("queue", "raw"),
                               8: Field("packets", "Q")}),
}  # fmt: skip


class Asked(Protocol):
    """What answers a question: a source, or a source in another network namespace."""

    def netlink(self, request: Request) -> bytes:
        """The answer; OSError."""


LINKS: Final = Request(
    "route",
    GETLINK,
    IFINFO.pack(0, 0, 0, 0, 0) + attribute(29, struct.pack("=I", _SKIP_STATISTICS)),
    "route/links",
    dump=True,
    announced=True,
)


def links(source: Asked) -> bytes:
    """Every link; a live source leaves out the counters (see `uncounted`)."""
    return source.netlink(LINKS)


def link(source: Source, name: str) -> bytes:
    """One link by its name, without counters."""
    body = IFINFO.pack(0, 0, 0, 0, 0) + attribute(_IFNAME, os.fsencode(name) + b"\0")
    body += attribute(29, struct.pack("=I", _SKIP_STATISTICS))
    return source.netlink(Request("route", GETLINK, body, f"route/link/{name}"))


def names(source: Asked) -> dict[int, str]:
    """The name of every interface, by index."""
    return dict(names_in(links(source)))


@lru_cache(maxsize=1)
def names_in(reply: bytes) -> Mapping[int, str]:
    """The names in an answer to RTM_GETLINK, by index.

    Cached: a live source returns the same object until a link changes.
    """
    found = {}
    for index, parts in _links_in(reply):
        for number, a, e in parts:
            if number == _IFNAME:
                found[index] = text(reply[a:e])
                break
    return found


def _links_in(reply: bytes) -> Iterator[tuple[int, Iterator[tuple[int, int, int]]]]:
    """The index and the attributes of each link in an answer to RTM_GETLINK."""
    for kind, start, end in messages(reply):
        if kind == NEWLINK and end - start >= IFINFO.size:
            index = IFINFO.unpack_from(reply, start)[2]
            yield index, attributes(reply, start + IFINFO.size, end)


def alternatives(source: Asked) -> dict[str, str]:
    """The name of each interface that has alternative names, by each of these."""
    reply = links(source)
    found: dict[str, str] = {}
    for _, every in _links_in(reply):
        parts = list(every)
        own = [text(reply[a:e]) for number, a, e in parts if number == _IFNAME]
        for number, a, e in parts:
            if own and number == _PROPERTIES:
                inner = attributes(reply, a, e)
                found |= {text(reply[b:f]): own[0] for n, b, f in inner if n == _ALTERNATIVE}
    return found


def peers_in(reply: bytes) -> dict[int, int]:
    """In an answer to RTM_GETLINK, the lower interface or end of a veth pair (IFLA_LINK), by index.

    Its index is that of its own namespace.
    """
    return _numbers_in(reply, _LINK)


def mtus_in(reply: bytes) -> dict[int, int]:
    """The MTU of each link in an answer to RTM_GETLINK, by index."""
    return _numbers_in(reply, _MTU)


def _numbers_in(reply: bytes, wanted: int) -> dict[int, int]:
    found = {}
    for index, parts in _links_in(reply):
        for number, a, e in parts:
            if number == wanted and e - a == 4:
                (found[index],) = struct.unpack_from("=I", reply, a)
    return found


def counters(source: Asked) -> bytes:
    """The 64-bit counters of every link (RTM_GETSTATS, Linux 4.7)."""
    body = struct.pack("=BxHII", 0, 0, 0, 1)  # IFLA_STATS_LINK_64
    return source.netlink(Request("route", GETSTATS, body, "route/counters", dump=True))


def addresses(source: Asked) -> bytes:
    """Every IP address."""
    body = struct.pack("=BBBBI", 0, 0, 0, 0, 0)
    return source.netlink(Request("route", GETADDR, body, "route/addresses", dump=True))


def routes(source: Source, family: int) -> bytes:
    """Every route of an address family (2: IPv4, 10: IPv6)."""
    return _of_family(source, GETROUTE, family, "routes")


def rules(source: Source, family: int) -> bytes:
    """Every policy routing rule of an address family (2: IPv4, 10: IPv6)."""
    return _of_family(source, GETRULE, family, "rules")


def _of_family(source: Source, kind: int, family: int, what: str) -> bytes:
    body = RTMSG.pack(family, 0, 0, 0, 0, 0, 0, 0, 0)
    name = f"route/{what}{4 if family == 2 else 6}"
    return source.netlink(Request("route", kind, body, name, dump=True))


def neighbours(source: Asked) -> bytes:
    """Every neighbour entry of both families."""
    body = struct.pack("=Bxxxi4x", 0, 0)  # struct ndmsg
    return source.netlink(Request("route", GETNEIGH, body, "route/neighbours", dump=True))


def forwarding(source: Asked) -> bytes:
    """Every forwarding entry of bridges and of VXLAN."""
    body = struct.pack("=Bxxxi4x", 7, 0)  # struct ndmsg, AF_BRIDGE
    return source.netlink(Request("route", GETNEIGH, body, "route/fdb", dump=True))


def qdiscs(source: Asked) -> bytes:
    """Every queueing discipline with its counters."""
    body = struct.pack("=BxHiIII", 0, 0, 0, 0, 0, 0)
    return source.netlink(Request("route", GETQDISC, body, "route/qdiscs", dump=True))


def classes(source: Asked, index: int, interface: str) -> bytes:
    """Every traffic class of one interface with its counters."""
    body = struct.pack("=BxHiIII", 0, 0, index, 0, 0, 0)
    name = f"route/classes/{interface}"
    return source.netlink(Request("route", GETCLASS, body, name, dump=True))


def filters(source: Asked, index: int, parent: int, name: str) -> bytes:
    """Every filter of tc below one qdisc of an interface, with its actions and their counters."""
    body = struct.pack("=BxHiIII", 0, 0, index, 0, parent, 0)
    return source.netlink(Request("route", GETFILTER, body, f"route/filters/{name}", dump=True))


def ip(raw: bytes) -> str:
    """An address of 4 or 16 bytes as text (RFC 5952); an IPv4-mapped IPv6 address as IPv4.

    ValueError for any other length.
    """
    if len(raw) == 16 and raw.startswith(b"\0" * 10 + b"\xff\xff"):
        raw = raw[12:]
    if len(raw) not in (4, 16):
        raise ValueError(f"an address of {len(raw)} bytes")
    return inet_ntop(AF_INET if len(raw) == 4 else AF_INET6, raw)


def prefix(raw: bytes, bits: int) -> str:
    """A network, ADDRESS/BITS; ValueError for an impossible one."""
    if bits > 8 * len(raw):
        raise ValueError(f"a network of {bits} bits")
    return f"{ip(raw)}/{bits}"


def mac(raw: bytes) -> str:
    """A link-layer address, colon hex."""
    return raw.hex(":")
