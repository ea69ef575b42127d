"""Flows in trouble that no call tells: dropped packets, questions by ARP, repeated SYN-ACKs.

Of each kind of drop the collector `drop_reasons` has one packet. The reason says at which places of
the way it may be decided. A port of this host at which nothing listens is what strangers try, and
no trouble. While others have connections there, the packets may be dropped on purpose. Of
datagrams, and of what is forwarded, it is not known whether others get through.

No counter moves where other hosts ask again and again for an address (ARP). So the addresses of
this host count, and those of hosts that this host reaches behind one of its bridges: of others
nobody here knows whether they are there at all.

A client that does not hear a SYN-ACK may be gone, or have spoofed its address. So they count beside
the connections at the same address whose answers take the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Final

from ...collect import drop_reasons
from ...collect.arp_requests import Row as RequestRow
from ...collect.drop_reasons import Row as DropReasonRow
from ...collect.half_open import Row as HalfOpenRow
from ...collect.ways import Question
from ...frame.rates import Frame
from ...terms.units import many
from ..counters import grown
from ..flow_words import end
from .flow import Flow, Host, Trouble, address
from .legs import before
from .lookup import lookup
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
            whole = flow.protocol == "tcp" and not _served(host, flow, places)
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


def _served(host: Host, flow: Flow, places: tuple[str, ...]) -> bool:
    """Whether a connection of another host is open at the port.

    The reverse path filter forbids no service: one at another address of this host, to which
    packets come by another interface, tells nothing of these, and is open in some frames only.
    """
    to = address(flow.to) if places == ("rp_filter",) else None
    return any(
        one.local_port == flow.port and one.state not in ("listen", "syn_recv")
        and not host.local(one.remote) and to in (None, address(one.local))
        for one in host.frame.rows("sockets_tcp")
    )  # fmt: skip


LEAST: Final = 3  # requests: after as many the kernel gives up (net.ipv4.neigh.*.mcast_solicit)
KNOWN: Final = ("reachable", "stale", "delay", "probe")


def asked(frame: Frame) -> Iterator[str]:
    """The addresses that are asked for in vain."""
    return (row.target for row in frame.rows("arp_requests") if row.requests >= LEAST)


def sought(host: Host) -> Iterator[Trouble]:
    """The addresses that are asked for in vain, with one who asks; it may be meant so.

    Where nothing leaves the interface, nobody there is answered. An address of another interface
    that no connection has is not answered for by anybody else either, such as a load balancer.
    """
    moved = host.frame.tables.get("link_stats", ())
    mute = {one.now.interface for one in moved if one.rate("tx_packets") == 0}
    for entry in host.frame.tables.get("arp_requests", ()):
        row: RequestRow = entry.now
        ours = host.local(row.target)
        if row.requests < LEAST or host.local(row.source) or row.interface not in host.links:
            continue
        arrives = row.interface if ours else _port(host, row)
        if arrives:
            unused = ours and _unused(host, row)
            asked = f"asked {many(row.requests, 'times')} for {row.target} by ARP"
            said = f"{row.source} {asked}, and asks on"
            yield Trouble(
                Flow(row.target, origin=row.source, arrives=arrives), (said,), (),
                answered=0 if unused or (ours and row.interface in mute) else None,
                meant=False if unused else None,
                packets=row.requests, per_s=grown(entry, "requests"),
                places=("arp",) if ours else ("bridge",),
            )  # fmt: skip


def _unused(host: Host, row: RequestRow) -> bool:
    """Whether it is an address of another interface, with which no connection is open."""
    places = {one.interface for one in host.addresses if one.address == row.target}
    rows = (one for one in host.frame.rows("sockets_tcp") if one.state == "established")
    return row.interface not in places and all(str(address(o.local)) != row.target for o in rows)


def _port(host: Host, row: RequestRow) -> str:
    """The port of the bridge behind which it is asked; empty if this host knows no such target.

    The bridge itself where its table does not have the port. From a port that is isolated the
    target is not known either way: the bridge forwards no request to the others (br_forward.c,
    should_deliver()).
    """
    if host.links[row.interface].kind != "bridge":
        return ""
    port = host.port(row.interface, row.hardware)
    there = host.neighbours.get((row.interface, row.target))
    known = there is not None and there.state in KNOWN
    return port or row.interface if known or (port and host.links[port].isolated) else ""


CLIENTS: Final = 2  # connections: one client may be gone
LOOKED_UP: Final = 64  # open connections whose way is looked up
# where it can be decided by this host's configuration: what comes arrives, since it is answered
PLACES: Final = ("answers", "route", "neighbour", "device", "ttl")


def unheard(host: Host) -> Iterator[Trouble]:
    """The addresses of this host that are asked so, with the client that asks most."""
    places = tuple(one for one in PLACES if one != "neighbour" or not _flooded(host))
    for row in host.frame.rows("half_open"):
        local = str(address(row.local))
        if row.unheard < CLIENTS or not row.client or address(local).is_loopback:
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
    return sum(_leaves(host, one, local) == way for one in islice(there, LOOKED_UP))


def _leaves(host: Host, to: str, local: str) -> tuple[str | None, str | None]:
    """Interface and gateway of answers, by the tables."""
    hops = lookup(host, Question(to, local)).routes
    return (hops[0].interface, hops[0].gateway) if hops else (None, None)
