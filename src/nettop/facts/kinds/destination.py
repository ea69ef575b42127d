"""Many connections of this host to one address and port: how many of its local ports they use.

A local port is used by an open connection, and for a minute after the close by one in TIME_WAIT if
this host closed first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ...frame.fields import gauge, label
from ...frame.rates import Frame
from ..kind import Kind
from ..single import triple

if TYPE_CHECKING:
    from .. import Facts

LEAST: Final = 500  # ports for one address and port: fewer are not listed
SHARE: Final = 4  # … unless they are 1/SHARE of the available ports


@dataclass(frozen=True, slots=True)
class Destination:
    """One local address, and one remote address and port."""

    id: str = label("remote address:port")
    local: str = gauge("local address", default="")
    ports: int = gauge("local ports in use", "ports", default=0)
    waiting: int | None = gauge("local ports held in TIME_WAIT", "ports", default=None)
    half: int | None = gauge(
        "local ports held in FIN_WAIT2: closed here, not by the server", "ports", default=None
    )
    available: int | None = gauge(
        "ports of ip_local_port_range without the reserved ones", "ports", default=None
    )
    loopback: bool = gauge("between loopback addresses", default=False)


def build(frame: Frame, facts: Facts) -> tuple[Destination, ...]:
    """The destinations that take many local ports, the most first."""
    entries = frame.tables.get("sockets_tcp", ())
    held = frame.rows("time_wait")
    available = _available(facts.sysctls)
    least = LEAST if available is None else min(LEAST, max(1, available // SHARE))
    if len(entries) < least and not held:
        return ()
    used = Counter(
        (row.local, row.remote, row.remote_port)
        for entry in entries
        if (row := entry.now).state != "listen"
    )
    waiting = Counter({(row.local, row.remote, row.remote_port): row.ports for row in held})
    half = Counter({(row.local, row.remote, row.remote_port): row.half for row in held})
    known = "time_wait" in frame.tables
    return tuple(
        Destination(
            f"{remote}:{port}", local, used[local, remote, port],
            waiting[local, remote, port] if known else None,
            half[local, remote, port] if known else None, available,
            ip_address(remote.partition("%")[0]).is_loopback,
        )
        for (local, remote, port), count in (used + waiting + half).most_common()
        if count >= least
    )  # fmt: skip


def _available(sysctls: Mapping[str, str]) -> int | None:
    low_high = triple(sysctls.get("net.ipv4.ip_local_port_range"))
    if len(low_high) != 2:
        return None
    reserved = _ports(sysctls.get("net.ipv4.ip_local_reserved_ports", ""))
    whole = range(low_high[0], low_high[1] + 1)
    return len(whole) - sum(
        max(0, min(last, whole[-1]) - max(first, whole[0]) + 1) for first, last in reserved
    )


def _ports(text: str) -> list[tuple[int, int]]:
    """The ranges of a list such as `8080,9148-9150`; other text is left out."""
    ranges = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if first.isdecimal() and (last.isdecimal() or not dash):
            ranges.append((int(first), int(last) if dash else int(first)))
    return ranges


KIND = Kind(
    name="destination", type=Destination, plural="destinations", key=attrgetter("local", "id"),
    target=lambda one: f"{one.local}-{one.id}", names={"destination": "destination.id"},
    example={"id": "10.0.0.2:443", "local": "10.0.0.1"}, tables={"": "sockets_tcp"},
    needs=("sockets_tcp", "time_wait", "sysctls"), build=build,
    lasts=True,
)  # fmt: skip
