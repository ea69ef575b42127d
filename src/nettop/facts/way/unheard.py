"""Connections to this host whose SYN-ACKs are repeated: their clients do not hear the answers.

The client may be gone, or have spoofed its address. So they count beside the connections at the
same address whose answers take the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from ...collect.half_open import Row as HalfOpenRow
from ...collect.ways import Question
from ...terms.units import many
from ..flow_words import end
from .flow import Flow, Trouble
from .host import Host, address
from .lookup import lookup

LEAST: Final = 2  # connections: one client may be gone
MOST: Final = 64  # open connections whose way is looked up
# where it can be decided by this host's configuration: what comes arrives, since it is answered
PLACES: Final = ("answers", "route", "neighbour", "device", "ttl")


def unheard(host: Host) -> Iterator[Trouble]:
    """The addresses of this host that are asked so, with the client that asks most."""
    places = tuple(one for one in PLACES if one != "neighbour" or not _flooded(host))
    for row in host.frame.rows("half_open"):
        local = str(address(row.local))
        if row.unheard < LEAST or not row.client or address(local).is_loopback:
            continue
        client, name = str(address(row.client)), end(local, row.local_port)
        flow = Flow(local, row.local_port, client, _place(host, local))
        of = many(row.unheard, "connections")
        said = f"the SYN-ACKs of {of} to {name}, most from {client}, are repeated without an answer"
        yield Trouble(
            flow, (said,), (), sockets=row.unheard, answered=_answered(host, row, local, client),
            places=places,
        )  # fmt: skip


def _flooded(host: Host) -> bool:
    """Whether SYNs are dropped and no accept queue is full: clients of forged addresses are silent.

    So an entry of one that does not answer is not shown to be wrong.
    """
    return any((one.rate("listen_drops") or 0.0) > (one.rate("listen_overflows") or 0.0)
               for one in host.frame.tables.get("snmp", ()))  # fmt: skip


def _place(host: Host, local: str) -> str:
    """The interface with the address; empty: no packets arrive there, or it is not known."""
    names = (one.interface for one in host.addresses if one.address == local)
    link = host.links.get(next(names, ""))
    return "" if link is None or link.loopback else link.interface


def _answered(host: Host, row: HalfOpenRow, local: str, client: str) -> int:
    """The open connections at the same place whose answers leave as those to the client do."""
    there = (
        str(address(one.remote)) for one in host.frame.rows("sockets_tcp")
        if one.state != "listen" and one.local_port == row.local_port
        and str(address(one.local)) == local
    )  # fmt: skip
    way = _leaves(host, client, local)
    return sum(_leaves(host, one, local) == way for one in islice(there, MOST))


def _leaves(host: Host, to: str, local: str) -> tuple[str | None, str | None]:
    """Interface and gateway of answers, by the tables."""
    hops = lookup(host, Question(to, local)).routes
    return (hops[0].interface, hops[0].gateway) if hops else (None, None)
