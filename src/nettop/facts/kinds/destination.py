"""Many connections of this host to one address and port: how many of its local ports they use.

Only connected sockets are counted, not those in TIME_WAIT, which the kernel does not list here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ...frame.fields import gauge, label
from ...frame.rates import Frame
from ..kind import Kind
from ..single import triple

if TYPE_CHECKING:
    from .. import Facts

LEAST: Final = 500  # connections to one address and port: fewer are not listed


@dataclass(frozen=True, slots=True)
class Destination:
    """One local address, and one remote address and port."""

    id: str = label("remote address:port")
    local: str = gauge("local address", default="")
    ports: int = gauge("local ports in use", "ports", default=0)
    available: int | None = gauge(
        "ports of ip_local_port_range without the reserved ones", "ports", default=None
    )


def build(frame: Frame, facts: Facts) -> tuple[Destination, ...]:
    """The destinations with many connections, the most first."""
    entries = frame.tables.get("sockets_tcp", ())
    if len(entries) < LEAST:
        return ()
    used = Counter(
        (row.local, row.remote, row.remote_port)
        for entry in entries
        if (row := entry.now).state != "listen"
    )
    low_high = triple(facts.sysctls.get("net.ipv4.ip_local_port_range"))
    available = None
    if len(low_high) == 2:
        reserved = _ports(facts.sysctls.get("net.ipv4.ip_local_reserved_ports", ""))
        whole = range(low_high[0], low_high[1] + 1)
        available = len(whole) - sum(
            max(0, min(last, whole[-1]) - max(first, whole[0]) + 1) for first, last in reserved
        )
    return tuple(
        Destination(f"{remote}:{port}", local, count, available)
        for (local, remote, port), count in used.most_common()
        if count >= LEAST
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
    needs=("sockets_tcp", "sysctls"), build=build,
    lasts=True,
)  # fmt: skip
