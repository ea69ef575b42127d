"""Trouble that no call tells: vain arrivals, dropped packets, questions by ARP, repeated SYN-ACKs.

In vain they arrive at a port at which something listens, or for an address to be found.

And interfaces that only receive, since nobody hears the answer to a question for their address.

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
from dataclasses import replace
from itertools import islice
from typing import Final

from ...collect import drop_reasons
from ...collect.arp_requests import Row as RequestRow
from ...collect.drop_reasons import Row as DropReasonRow
from ...collect.half_open import Row as HalfOpenRow
from ...collect.links import Row as LinkRow
from ...collect.ways import Question
from ...frame.rates import Entry, Frame
from ...terms.units import many
from ..counters import grown
from ..flow_words import EVERYWHERE, end
from .flow import FILTERED, Flow, Host, Trouble, address
from .legs import before
from .lookup import lookup
from .steps.listener import listeners, misses
from .steps.neighbour import KNOWN

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


def dropped(frame: Frame, flow: Flow) -> tuple[str, ...]:
    """The drops by the packet filter that are about the packets of a flow of this host."""
    sums, its = Counter[str](), Counter[str]()
    for row in frame.rows("drop_reasons"):
        if (row.reason, row.where) == (FILTERED, "here"):
            sums[f"{FILTERED}/{row.place}"] += row.packets
            if (row.to, row.to_port) == (flow.to, flow.port):
                its[f"{FILTERED}/{row.place}"] += row.packets
    return tuple(name for name, packets in its.items() if packets >= MOST * sums[name])


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


def asked(frame: Frame) -> Iterator[str]:
    """The addresses that are asked for in vain."""
    rows = frame.rows("arp_requests")
    return (row.target for row in rows if row.asks and row.requests >= LEAST)


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
        if not row.asks or row.requests < LEAST:
            continue
        if host.local(row.source) or row.interface not in host.links:
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

    The bridge itself where its table does not have the port. Where ports get no request of others
    the target is not known either way (br_forward.c, should_deliver(), br_flood()).
    """
    if host.links[row.interface].kind != "bridge":
        return ""
    port = host.port(row.interface, row.hardware)
    there = host.neighbours.get((row.interface, row.target))
    known = there is not None and there.state in KNOWN
    others = [one for one in host.links.values()
              if one.master == row.interface and one.interface != port]  # fmt: skip
    cut = host.links[port].isolated or host.left_out(others, row.target)[1] if port else ()
    return port or row.interface if known or cut else ""


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


UNHEARD: Final = "NO_SOCKET"
SINGLE: Final = 32  # prefix length of a single address
COMES: Final = 0.3  # packets/s: a host asks once a second
LOOK: Final = 10.0  # s: as rules judge losses
_IGNORES: Final = "net.ipv4.conf.all.arp_ignore"
_ASK: Final = {"arp": 4, "icmp6": 6}  # by protocol the family whose addresses it asks for


def arrivals(host: Host) -> Iterator[Trouble]:
    """Packets to a port at which something listens, and questions for an address of this host."""
    yield from unheard(host)
    yield from _unanswered(host)
    yield from _redirected(host)
    for entry in host.frame.tables.get("drop_reasons", ()):
        row: DropReasonRow = entry.now
        link = host.numbered.get(row.interface)
        if row.where != "here" or link is None or link.loopback or not row.packets:
            continue
        if row.reason == UNHEARD and row.protocol in ("tcp", "udp") and row.port:
            yield from _paced(_unheard(host, row, link), entry)
        elif row.reason == FILTERED and row.protocol in _ASK:
            yield from _paced(_unfound(host, row, link), entry)


def _paced(found: Iterator[Trouble], entry: Entry[DropReasonRow]) -> Iterator[Trouble]:
    """With the rate of the dropped packets."""
    return (replace(one, per_s=grown(entry, "packets")) for one in found)


def _unanswered(host: Host) -> Iterator[Trouble]:
    """An interface that only receives: others ask for its address, and get no answer.

    Looked at where its configuration may be why: it is NOARP, arp_ignore is set, or the host has
    one more address of its network elsewhere.
    """
    alone = [one for one in host.addresses if one.family == 4 and one.prefix == SINGLE]
    ignores = any(row.name == _IGNORES and row.value != "0" for row in host.frame.rows("sysctls"))
    for entry in host.frame.tables.get("link_stats", ()):
        link = host.links.get(entry.now.interface)
        if link is None or link.loopback or entry.still:
            continue
        if not (link.noarp or alone or ignores):
            continue
        own, rate = _own(host, link, 4), entry.per_s
        if not own or rate is None or rate.tx_packets:
            continue
        if rate.rx_packets >= COMES and entry.now.tx_packets < entry.now.rx_packets:
            said = f"packets arrive on {link.interface}, and none leaves"
            yield Trouble(
                Flow(own[0], arrives=link.interface), (said,), (),
                packets=round(rate.rx_packets * LOOK), per_s=rate.rx_packets, places=("arp",),
            )  # fmt: skip


def _redirected(host: Host) -> Iterator[Trouble]:
    """What filters of tc take from an interface with an address: it may be meant so.

    Not where the other interface gives its packets in return, as that of a guest does.
    """
    entries = host.frame.tables.get("filters", ())
    ways = {(one.now.interface, one.now.target) for one in entries if one.now.action == "redirect"}
    for entry in entries:
        row, rate = entry.now, entry.rate("packets") or 0.0
        link = host.links.get(row.interface)
        there = (row.interface, row.target) in ways and (row.target, row.interface) not in ways
        own = _own(host, link, 4) if there and link is not None else []
        if own and row.action == "redirect" and row.parent == "ingress" and rate >= COMES:
            yield Trouble(
                Flow(own[0], arrives=row.interface),
                (f"a filter takes what arrives on {row.interface}",), (), answered=None,
                packets=round(rate * LOOK), per_s=rate, places=("queue",), meant=True,
            )  # fmt: skip


def _own(host: Host, link: LinkRow, family: int) -> list[str]:
    """The addresses at which packets of an interface arrive; those of a host alone come last."""
    found = [row for row in host.addresses if row.family == family
             and row.interface in (link.interface, link.master)]  # fmt: skip
    return [row.address for row in sorted(found, key=lambda row: row.scope != "global")]


def _unheard(host: Host, row: DropReasonRow, link: LinkRow) -> Iterator[Trouble]:
    """Packets that no socket takes. Those of connections that are gone are alike.

    So a port tells nothing while one of its sockets may be the one that they mean.
    """
    on, port = link.interface, int(row.port)
    rows = listeners(host, row.protocol, port)
    own = _own(host, link, 6 if "6" in row.place else 4)
    missed = [to for to in own if all(misses(host, one, to, on) for one in rows)]
    bound = [one for one in rows if one.local not in EVERYWHERE
             and not address(one.local).is_loopback]  # fmt: skip
    open_ = any(one.local_port == port and one.state != "listen"
                for one in host.frame.rows("sockets_tcp"))  # fmt: skip
    if rows and missed and (missed == own or not open_) and not (bound and open_):
        said = (
            f"{many(row.packets, 'packets')} to {row.protocol} port {port} on {on} find no socket"
        )
        yield Trouble(
            Flow(missed[0], port, arrives=on, protocol=row.protocol), (said,),
            (f"{row.reason}/{row.place}",), packets=row.packets, places=("listener",),
        )  # fmt: skip


def _unfound(host: Host, row: DropReasonRow, link: LinkRow) -> Iterator[Trouble]:
    """What the filter drops, where questions for an address may be among it."""
    family = _ASK[row.protocol]
    own = [one.address for one in host.addresses if one.interface == link.interface
           and one.family == family and one.scope == "global"]  # fmt: skip
    if own:
        packets = many(row.packets, f"{row.protocol} packets")
        said = f"the packet filter drops {packets} on {link.interface}"
        yield Trouble(
            Flow(own[0], arrives=link.interface), (said,), (f"{row.reason}/{row.place}",),
            packets=row.packets, places=("discovery",),
        )  # fmt: skip
