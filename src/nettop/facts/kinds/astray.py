"""Datagrams that no socket takes, for ports from which this host asked a server.

A connected socket takes datagrams of its server's address and port only (net/ipv4/udp.c,
compute_score()). While it is open, a datagram without a socket comes from elsewhere; later, it may
be an answer that came too late. Collector `udp_connected`.
"""

from __future__ import annotations

from typing import Final

from ...frame.fields import gauge, label
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..flow_words import end
from ..kind import Kind

_REASON: Final = "NO_SOCKET"
_SHARE: Final = 0.5  # of the ports from which it was asked: of fewer, answers came late by chance


@dataclass(frozen=True, slots=True)
class Astray:
    """One server, and what became of the answers to connected datagram sockets."""

    id: str = label("address:port of the server")
    asked: int = gauge("sockets that asked it", "sockets", default=0)
    missed: int = gauge(
        "of these, those for whose port a datagram found no socket", "sockets", default=0
    )


def build(frame: Frame, facts: Facts) -> tuple[Astray, ...]:  # noqa: ARG001
    """The servers of which most answers are missed, most first."""
    lost = {
        row.port for row in frame.rows("drop_reasons")
        if (row.where, row.reason, row.protocol) == ("here", _REASON, "udp")
    }  # fmt: skip
    found = [
        Astray(end(row.server, row.port), len(row.asked), missed)
        for row in (frame.rows("udp_connected") if lost else ())
        if (missed := sum(str(port) in lost for port in row.asked)) > _SHARE * len(row.asked)
    ]
    return tuple(sorted(found, key=lambda one: (-one.missed, one.id)))


KIND = Kind(
    Astray, "astrays", needs=("udp_connected",), build=build,
    names={"server": "astray.id"}, example={"id": "192.0.2.7:123"},
)  # fmt: skip
