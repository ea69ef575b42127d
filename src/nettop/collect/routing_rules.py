"""Rules of policy routing: RTM_GETRULE (net/core/fib_rules.c, fib_nl_fill_rule())."""

import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.netlink import route
from ..host.netlink.codec import Attributes, Field, decode, of_kind
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=2.0, asked=True, optional=True)

_IPV4, _IPV6 = 2, 10  # AF_INET, AF_INET6
# FRA_*, include/uapi/linux/fib_rules.h
RULE: Final = {
    1: Field("to", "raw"), 2: Field("source", "raw"), 3: Field("arrives", "text"),
    4: Field("goto"), 6: Field("priority"), 10: Field("mark"), 12: Field("tunnel", "raw"),
    14: Field("suppress", "i"), 15: Field("table"), 16: Field("mask"), 17: Field("leaves", "text"),
    19: Field("master", "B"), 20: Field("users", "raw"), 22: Field("protocol", "B"),
    23: Field("source_ports", "raw"), 24: Field("ports", "raw"),
}  # fmt: skip
_ACTIONS: Final = {
    1: "lookup", 2: "goto", 3: "nop", 6: "blackhole", 7: "unreachable", 8: "prohibit",
}  # fmt: skip
_INVERT: Final = 2  # FIBRULE_INVERT
_MORE: Final = ("tunnel", "master", "source_ports", "goto")
_RANGE: Final = struct.Struct("=II")  # struct fib_rule_uid_range
_PORTS: Final = struct.Struct("=HH")  # struct fib_rule_port_range
_PROTOCOLS: Final = {1: "icmp", 6: "tcp", 17: "udp"}
_ALL_USERS: Final = bytes(4) + b"\xff\xff\xff\xff"
_NOT_SUPPRESSED: Final = -1


@dataclass(frozen=True, slots=True)
class Row:
    """One rule."""

    family: int = label("4 or 6")
    priority: int = label("rules are tried from the lowest on")
    number: int = label("its place among the rules of the family")
    action: str = gauge("lookup blackhole unreachable prohibit goto nop")
    table: int = gauge("routing table of a lookup", default=0)
    to: str | None = maybe("destination network; None: any")
    source: str | None = maybe("source network; None: any")
    arrives: str | None = maybe("incoming interface; None: any")
    leaves: str | None = maybe("interface of the binding; None: any")
    mark: int = gauge("packet mark", default=0)
    mask: int = gauge("bits of the mark that are compared; 0: none", default=0)
    suppress: int | None = maybe("routes of this prefix length or less do not count")
    more: bool = gauge("has conditions that only the kernel evaluates", default=False)
    users: tuple[int, int] | None = maybe("first and last user number; None: any")
    protocol: str = gauge("protocol; empty: any", default="")
    ports: tuple[int, int] | None = maybe("first and last destination port; None: any")


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every rule of both families (IPv6 may be absent), in the order of trial. OSError."""
    replies = [route.rules(source, _IPV4)]
    with suppress(OSError):
        replies.append(route.rules(source, _IPV6))
    return parsed(
        memory, "routing_rules", replies, lambda raw: [r for one in raw for r in parse(one)]
    )


def parse(reply: bytes) -> list[Row]:
    """The rows of an answer to RTM_GETRULE; ValueError if it is cut off."""
    rows: list[Row] = []
    for start, end in of_kind(reply, route.NEWRULE, route.RTMSG.size, "a rule"):
        head = route.RTMSG.unpack_from(reply, start)
        if head[0] in (_IPV4, _IPV6):
            values = decode(reply, start + route.RTMSG.size, end, RULE)
            rows.append(_row(len(rows), head, values))
    return rows


def _row(number: int, head: tuple[int, ...], values: Attributes) -> Row:
    family, to, source, tos, table = head[:5]
    if values.get("users") == _ALL_USERS:
        del values["users"]
    suppress_at = values.get("suppress", _NOT_SUPPRESSED)
    mark, protocol = values.get("mark", 0), values.get("protocol", 0)
    return Row(
        family=4 if family == _IPV4 else 6,
        priority=values.get("priority", 0),
        number=number,
        action=_ACTIONS.get(head[7], str(head[7])),
        table=values.get("table", table),
        to=route.prefix(values["to"], to) if values.get("to") else None,
        source=route.prefix(values["source"], source) if values.get("source") else None,
        arrives=values.get("arrives"),
        leaves=values.get("leaves"),
        mark=mark,
        mask=values.get("mask", 0xFFFFFFFF if mark else 0),
        suppress=suppress_at if suppress_at != _NOT_SUPPRESSED else None,
        users=_RANGE.unpack(values["users"]) if values.get("users") else None,
        protocol=_PROTOCOLS.get(protocol, str(protocol)) if protocol else "",
        ports=_PORTS.unpack(values["ports"]) if values.get("ports") else None,
        more=bool(tos or head[8] & _INVERT or any(values.get(name) for name in _MORE)),
    )
