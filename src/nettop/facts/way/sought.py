"""Addresses for which other hosts ask again and again, and whose way is walked: ARP.

No counter moves where a question is not answered. So the addresses of this host count, and those of
hosts that this host reaches behind one of its bridges: of others nobody here knows whether they are
there at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...collect.arp_requests import Row as RequestRow
from ...frame.rates import Frame
from ...terms.units import many
from ..counters import grown
from .flow import Flow, Trouble
from .host import Host

LEAST: Final = 3  # requests: after as many the kernel gives up (net.ipv4.neigh.*.mcast_solicit)
KNOWN: Final = ("reachable", "stale", "delay", "probe")


def asked(frame: Frame) -> Iterator[str]:
    """The addresses that are asked for in vain."""
    return (row.target for row in frame.rows("arp_requests") if row.requests >= LEAST)


def sought(host: Host) -> Iterator[Trouble]:
    """The addresses that are asked for in vain, with one who asks; it may be meant so."""
    for entry in host.frame.tables.get("arp_requests", ()):
        row: RequestRow = entry.now
        ours = host.local(row.target)
        if row.requests < LEAST or host.local(row.source) or row.interface not in host.links:
            continue
        arrives = row.interface if ours else _port(host, row)
        if arrives:
            asked = f"asked {many(row.requests, 'times')} for {row.target} by ARP"
            said = f"{row.source} {asked}, and asks on"
            yield Trouble(
                Flow(row.target, origin=row.source, arrives=arrives), (said,), (), answered=None,
                packets=row.requests, per_s=grown(entry, "requests"),
                places=("arp",) if ours else ("bridge",),
            )  # fmt: skip


def _port(host: Host, row: RequestRow) -> str:
    """The port of the bridge behind which it is asked; empty if this host knows no such target.

    The bridge itself where its table does not have the port.
    """
    there = host.neighbours.get((row.interface, row.target))
    if host.links[row.interface].kind != "bridge" or there is None or there.state not in KNOWN:
        return ""
    return host.port(row.interface, row.hardware) or row.interface
