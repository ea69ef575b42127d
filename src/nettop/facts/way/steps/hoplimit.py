"""How many routers the packets of this host may pass.

net/ipv4/route.c, ip4_dst_hoplimit(); net/ipv6/route.c, ip6_dst_hoplimit().
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..flow import PASSES, STOPS, SUSPECT, Step
from ..legs import OUT, Leg

PLACE: Final = 35
FAR: Final = 32  # routers: few ways through the Internet have more (RFC 1700 recommends 64)
_USUAL: Final = 64
_IPV4: Final = "net.ipv4.ip_default_ttl"


def look(leg: Leg) -> Iterator[Step]:
    """The hop limit of what this host sends to a router."""
    if leg.role != OUT or not leg.hop.goes or not leg.hop.gateway:
        return
    frame, six = leg.host.frame, ":" in leg.question.to
    if six:
        name = f"net.ipv6.conf.{leg.hop.interface}.hop_limit"
        rows = frame.rows("interface_sysctls")
        limit = next((one.hop_limit for one in rows if one.interface == leg.hop.interface), None)
    else:
        name = _IPV4
        value = next((one.value for one in frame.rows("sysctls") if one.name == name), "")
        limit = int(value) if value.isdecimal() else None
    if not limit:
        return
    show, change = f"sysctl {name}", f"nettop set sysctl.{name} {_USUAL}"
    saw = f"packets leave with a hop limit of {limit}"
    if limit == 1:
        yield Step("hop limit", STOPS, f"{saw}: the first router drops them", show, change)
    elif limit < FAR:
        said = f"{saw}: router number {limit} drops them"
        yield Step("hop limit", SUSPECT, said, show, change)
    else:
        yield Step("hop limit", PASSES, saw, show)
