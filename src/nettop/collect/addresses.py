"""IP addresses of the interfaces: RTM_GETADDR (net/ipv4/devinet.c, net/ipv6/addrconf.c)."""

import struct
from collections.abc import Sequence
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import route
from ..host.netlink.codec import decode, of_kind
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=5.0)

_HEAD: Final = struct.Struct("=BBBBI")  # ifaddrmsg
_DADFAILED, _TENTATIVE = 0x08, 0x40
_SCOPES: Final = {0: "global", 200: "site", 253: "link", 254: "host"}


@dataclass(frozen=True, slots=True)
class Row:
    """One address of one interface."""

    interface: str = label("interface name")
    address: str = label("IP address")
    prefix: int = gauge("network prefix length", "bits")
    family: int = gauge("4 or 6")
    scope: str = gauge("global site link host")
    tentative: bool = gauge("IPv6: not yet usable", default=False)
    duplicate: bool = gauge("IPv6: another host has it", default=False)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every address; OSError without netlink, ValueError if the answer is cut off.

    The same rows as before while the answers are the same.
    """
    answers = route.addresses(source), route.names(source)
    return parsed(memory, "addresses", answers, lambda raw: parse(*raw))


def parse(reply: bytes, names: dict[int, str]) -> list[Row]:
    """The rows of an answer to RTM_GETADDR; ValueError if it is cut off."""
    rows = []
    for start, end in of_kind(reply, route.NEWADDR, _HEAD.size, "an address"):
        family, prefix, flags, scope, index = _HEAD.unpack_from(reply, start)
        values = decode(reply, start + _HEAD.size, end, route.ADDRESS)
        raw = values.get("local") or values.get("address")
        if not raw or index not in names:
            continue
        rows.append(
            Row(
                names[index],
                route.ip(raw),
                prefix,
                6 if family == 10 else 4,
                _SCOPES.get(scope, str(scope)),
                bool(values.get("flags", flags) & _TENTATIVE),
                bool(values.get("flags", flags) & _DADFAILED),
            )
        )
    return rows
