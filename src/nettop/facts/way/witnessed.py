"""Packets that the kernel drops, each one more flow in trouble.

Of each kind the collector `drop_reasons` has one packet. The reason says at which places of the way
it may be decided. A port of this host at which nothing listens is what strangers try, and no
trouble. While others have connections there, the packets may be dropped on purpose. Of datagrams,
and of what is forwarded, it is not known whether others get through.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from ...collect import drop_reasons
from ...collect.drop_reasons import Row as DropReasonRow
from ...terms.units import many
from ..counters import grown
from .flow import Flow, Trouble
from .host import Host, address
from .legs import before
from .steps.listener import listeners

MOST: Final = 0.5  # of the drops of a reason at a place: their finding is about these packets


def witnessed(host: Host) -> Iterator[Trouble]:
    """The flows of packets that this host receives and drops by a rule, a policy or a filter."""
    entries = [one for one in host.frame.tables.get("drop_reasons", ()) if one.now.where == "here"]
    sums = Counter[tuple[str, str]]()
    for row in (one.now for one in entries):
        sums[row.reason, row.place] += row.packets
    for entry in entries:
        row = entry.now
        places = drop_reasons.decided(row.reason, row.place)
        flow = _flow(host, row) if row.source and places else None
        if flow is None:
            continue
        whole = False
        if host.local(flow.to):
            if not listeners(host, flow.protocol, flow.port):
                continue
            whole = flow.protocol == "tcp" and not _served(host, flow.port)
        said = (
            f"{many(row.packets, 'packets')} to {flow.name} are dropped, such as from {flow.origin}"
        )
        most = row.packets >= MOST * sums[row.reason, row.place]
        known = f"{row.reason}/{row.place}", drop_reasons.words(row.reason, row.place).rule
        yield Trouble(
            before(host, flow), (said,), tuple(filter(None, known)) if most else (),
            answered=0 if whole else None, packets=row.packets, per_s=grown(entry, "packets"),
            places=places,
        )  # fmt: skip


def _flow(host: Host, row: DropReasonRow) -> Flow | None:
    """The flow of the packet, or that which it answers; None: this host opens it.

    Clients take their ports above those of services.
    """
    if row.protocol not in ("tcp", "udp"):
        return None
    link = host.numbered.get(row.interface)
    flow = Flow(row.to, row.to_port, row.source, link.interface if link is not None else "",
                protocol=row.protocol, hardware=row.hardware)  # fmt: skip
    if row.source_port < row.to_port:
        flow = Flow(row.source, row.source_port, row.to, protocol=row.protocol)
    if host.local(flow.origin) or address(flow.to).is_multicast:
        return None
    return flow


def _served(host: Host, port: int) -> bool:
    """Whether a connection of another host is open at the port."""
    return any(
        one.local_port == port and one.state not in ("listen", "syn_recv")
        and not host.local(one.remote)
        for one in host.frame.rows("sockets_tcp")
    )  # fmt: skip
