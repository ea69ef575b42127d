"""What connection tracking knows of translated flows: `collect.translated`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...collect.translated import Row
from ..flow_words import end
from .flow import Flow, Trouble
from .host import Host, inside

LEAST: Final = 2  # connections without an answer: one may have begun just now


def entries(host: Host, flow: Flow) -> list[Row]:
    """The entries of a flow, of each port of its origin where it has none."""
    return [
        row for row in host.frame.rows("translated")
        if (row.protocol, row.origin, row.to) == (flow.protocol, flow.origin, flow.to)
        and flow.port in (0, row.port) and flow.source_port in (0, row.origin_port)
    ]  # fmt: skip


def unreplied(host: Host) -> Iterator[Trouble]:
    """Connections without an answer that are translated into the network of their client."""
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in host.frame.rows("translated"):
        if row.protocol == "tcp" and not host.local(row.origin) and _near(host, row):
            groups.setdefault((row.origin, row.to, row.port), []).append(row)
    for (origin, to, port), rows in groups.items():
        silent = sum(not one.answered for one in rows)
        if silent >= LEAST:
            said = f"{silent} connections of {origin} to {end(to, port)} get no answer here"
            yield Trouble(
                Flow(to, port, origin=origin), (said,), sockets=silent,
                answered=len(rows) - silent, places=("hairpin",),
            )  # fmt: skip


def _near(host: Host, row: Row) -> bool:
    """Whether the client and the new destination are in one network of this host."""
    networks = (f"{one.address}/{one.prefix}" for one in host.addresses)
    return any(inside(row.origin, net) and inside(row.sent_to, net) for net in networks)
