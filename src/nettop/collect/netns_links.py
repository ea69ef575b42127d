"""Counters of the interfaces of other network namespaces.

Each reading sends one request to a namespace (RTM_GETSTATS). The names take another request, every
ten seconds and for a new interface. A namespace that moves almost nothing is asked only at every
fifth reading.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from math import inf
from typing import Final

from ..frame.fields import counter, gauge, label, maybe
from ..frame.rates import Partly
from ..host.netlink import route
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import link_stats, namespaces
from ._table import Memory, Table, recall
from .netns_qdiscs import Inside

TABLE: Final = Table(every=0.9, optional=True, may_rest=True, memory="sockets")

MOST: Final = 32  # namespaces that are asked in a reading, those that move most
SECONDS: Final = 0.05  # seconds of a reading after which no further namespace is asked
INTERFACES: Final = 256  # of a namespace that are read
MOVED: Final = 20_000  # bytes and lost packets between two readings: less is almost nothing
_REST: Final = 4  # readings in which such a namespace is not asked
_NAMED: Final = 10.0  # seconds for which names are kept


@dataclass(frozen=True, slots=True)
class Row:
    """Counters of one interface since it was made."""

    namespace: int = label("inode of its network namespace")
    interface: str = label("interface name")
    index: int = gauge("interface index")
    rx_packets: int = counter("packets received", "packets")
    tx_packets: int = counter("packets sent", "packets")
    rx_bytes: int = counter("bytes received", "bytes")
    tx_bytes: int = counter("bytes sent", "bytes")
    rx_errors: int = counter("receive errors", "packets")
    tx_errors: int = counter("transmit errors", "packets")
    rx_dropped: int = counter("packets dropped on receive", "packets")
    tx_dropped: int = counter("packets dropped on transmit", "packets")
    peer: int | None = maybe(
        "index of the lower interface or other end of a veth, in its own namespace"
    )
    mtu: int | None = maybe("MTU", "bytes")


@dataclass
class _Space:
    """What is kept of one namespace."""

    amount: int = 0  # bytes and lost packets that its interfaces counted
    moved: float = inf  # between the last two readings; inf: it was not read yet
    rests: int = 0  # readings for which it is not asked
    at: float = -inf  # when the names were read
    names: Mapping[int, str] = field(default_factory=dict)
    peers: Mapping[int, int] = field(default_factory=dict)
    mtus: Mapping[int, int] = field(default_factory=dict)


@dataclass
class _Known:
    spaces: dict[int, _Space] = field(default_factory=dict)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """The rows of each namespace that moves packets; none of one that ended or may not be entered.

    `netns_tcp` says which cannot be entered. `Partly` when some that move packets are left out,
    since they are too many or a reading takes too long. OSError when the namespaces are not known.
    """
    around = namespaces.known_of(memory)
    known = recall(memory, _Known)
    known.spaces = {one.inode: known.spaces.get(one.inode) or _Space() for one in around.spaces}
    due = []
    for space in around.spaces:
        kept = known.spaces[space.inode]
        kept.rests = max(0, kept.rests - 1)
        if not kept.rests:
            due.append((space, kept))
    due.sort(key=lambda one: -one[1].moved)
    rows: list[Row] = []
    began = source.now()
    asked = 0
    for space, kept in due[:MOST]:
        if source.now() - began > SECONDS:
            break
        asked += 1
        try:
            found = list(_read(Inside(source, space), space.inode, kept, source.now()))
        except (OSError, ValueError):
            kept.rests = _REST
            continue
        rows += found
        _count(kept, found)
    left = sum(kept.moved >= MOVED for _, kept in due[asked:])
    if not left:
        return rows
    return Partly(
        rows, f"the interfaces of {left} network namespace{'s' * (left > 1)} are not read"
    )


def _count(kept: _Space, rows: Sequence[Row]) -> None:
    """Note what a namespace moved; it rests if that is almost nothing."""
    amount = sum(
        row.rx_bytes + row.tx_bytes + MOVED * (row.rx_dropped + row.tx_dropped) for row in rows
    )
    first = kept.moved == inf  # a single reading does not show what moves
    kept.moved, kept.amount = max(0, amount - kept.amount), amount
    kept.rests = 0 if first or kept.moved >= MOVED else _REST


def _read(inside: Inside, inode: int, kept: _Space, now: float) -> Iterator[Row]:
    if now - kept.at >= _NAMED:
        _name(inside, kept, now)
    reply = route.counters(inside)
    try:
        found, _ = link_stats.parse(reply, kept.names, {})
    except KeyError:  # a new interface; one that is gone has no row
        _name(inside, kept, now)
        found, _ = link_stats.parse(reply, link_stats.known_names(reply, kept.names), {})
    for row in found[:INTERFACES]:
        yield Row(
            inode, row.interface, row.index, row.rx_packets, row.tx_packets, row.rx_bytes,
            row.tx_bytes, row.rx_errors, row.tx_errors, row.rx_dropped, row.tx_dropped,
            kept.peers.get(row.index), kept.mtus.get(row.index),
        )  # fmt: skip


def _name(inside: Inside, kept: _Space, now: float) -> None:
    reply = route.links(inside)
    kept.at, kept.names, kept.peers = now, dict(route.names_in(reply)), route.peers_in(reply)
    kept.mtus = route.mtus_in(reply)
