"""Packets that arrive in vain: at a port at which something listens, or for an address to be found.

And interfaces that only receive, since nobody hears the answer to a question for their address.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ...collect.drop_reasons import Row as DropReasonRow
from ...collect.links import Row as LinkRow
from ...frame.rates import Entry
from ...terms.units import many
from ..counters import grown
from ..flow_words import EVERYWHERE
from .flow import FILTERED, Flow, Host, Trouble, address
from .steps.listener import listeners, misses
from .witnessed import unheard

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
