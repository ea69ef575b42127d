"""What arrives in vain: packets that this host drops though it could take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ...frame.rates import Frame
from ..flow_words import EVERYWHERE
from .flow import FILTERED, Flow, Trouble
from .host import Host, address
from .steps.listener import listeners, misses

if TYPE_CHECKING:
    from ..rows import DropReasonRow, LinkRow

UNHEARD: Final = "NO_SOCKET"
SINGLE: Final = 32  # prefix length of a single address
COMES: Final = 0.3  # packets/s: a host asks once a second
LOOK: Final = 10.0  # s: as rules judge losses
_IGNORES: Final = "net.ipv4.conf.all.arp_ignore"
_ASK: Final = {"arp": 4, "icmp6": 6}  # by protocol the family whose addresses it asks for


def arrivals(frame: Frame) -> Iterator[Trouble]:
    """Packets to a port at which something listens, and questions for an address of this host."""
    host = Host.of(frame)
    yield from _unanswered(host)
    named = {str(link.index): link for link in host.links.values()}
    for row in frame.rows("drop_reasons"):
        link = named.get(row.interface)
        if row.where != "here" or link is None or link.loopback or not row.packets:
            continue
        if row.reason == UNHEARD and row.protocol in ("tcp", "udp") and row.port:
            yield from _unheard(host, row, link)
        elif row.reason == FILTERED and row.protocol in _ASK:
            yield from _unfound(host, row, link)


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
                round(rate.rx_packets * LOOK), places=("arp",),
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
        said = f"{row.packets} packets to {row.protocol} port {port} on {on} find no socket"
        yield Trouble(
            Flow(missed[0], port, arrives=on, protocol=row.protocol), (said,),
            (f"{row.reason}/{row.place}",), row.packets, places=("listener",),
        )  # fmt: skip


def _unfound(host: Host, row: DropReasonRow, link: LinkRow) -> Iterator[Trouble]:
    """What the filter drops, where questions for an address may be among it."""
    family = _ASK[row.protocol]
    own = [one.address for one in host.addresses if one.interface == link.interface
           and one.family == family and one.scope == "global"]  # fmt: skip
    if own:
        said = f"the packet filter drops {row.packets} {row.protocol} packets on {link.interface}"
        yield Trouble(
            Flow(own[0], arrives=link.interface), (said,), (f"{row.reason}/{row.place}",),
            row.packets, places=("discovery",),
        )  # fmt: skip
