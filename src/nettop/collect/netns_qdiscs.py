"""Qdiscs and HTB classes of other network namespaces that hold a TCP flow that moves data.

The requests are those of `qdiscs` and `classes` (RTM_GETQDISC, RTM_GETTCLASS), sent in that
namespace: one for each reading, one for each interface with HTB, and every ten seconds two for the
names and addresses of its interfaces. A namespace whose flows move no data is not asked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Final

from ..frame.fields import counter, gauge, label, maybe
from ..host.netlink import route
from ..host.netlink.codec import Request, Space
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import addresses, classes, namespaces, netns_tcp, qdiscs
from ._table import Memory, Table, recall

TABLE: Final = Table(every=0.9, optional=True, may_rest=True, memory="sockets")

MOST: Final = 16  # namespaces to ask: those with the highest rates
MOVED: Final = 100_000  # bytes between two readings: less needs no queue
_NAMED: Final = 10.0  # seconds for which names and addresses are kept
_ROUNDS: Final = 10  # readings for which a namespace is asked after its flows moved data


@dataclass(frozen=True, slots=True)
class Row:
    """One qdisc or HTB class."""

    namespace: int = label("inode of its network namespace")
    interface: str = label("interface name")
    parent: str = label("parent: root, ingress, or a class, e.g. 1:2")
    handle: str = label("handle, e.g. 8001: or 1:10")
    kind: str = gauge("fq_codel tbf htb …; class: of HTB or HFSC")
    leaf: bool = gauge("a qdisc, or a class with no class below it")
    addresses: tuple[str, ...] = gauge("addresses of the interface")
    backlog: int | None = maybe("queued bytes", "bytes")
    bytes: int | None = counter("bytes sent", "bytes", default=None)
    drops: int | None = counter("packets dropped", "packets", default=None)
    rate: float | None = maybe("rate limit; None: none", "bit/s")
    flow_rate: float | None = maybe("rate limit of each flow; None: none", "bit/s")


@dataclass
class _Space:
    """What is kept of one namespace."""

    amount: int = 0  # bytes that its flows moved
    moved: int = 0  # between the last two readings
    left: int = 0  # readings for which it is asked
    at: float = float("-inf")  # when the names were read
    names: dict[int, str] = field(default_factory=dict)
    local: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class _Known:
    spaces: dict[int, _Space] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Inside:
    """Netlink of a source, asked in another network namespace."""

    source: Source
    space: Space

    def netlink(self, request: Request) -> bytes:
        """The answer there; OSError."""
        name = f"{request.name}@{self.space.inode}"
        return self.source.netlink(replace(request, name=name, space=self.space))


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """The rows of each namespace that moves data; none of one that ended or may not be entered.

    `netns_tcp` says which cannot be entered. OSError when the namespaces are not known.
    """
    rows: list[Row] = []
    known = recall(memory, _Known)
    for space, kept in _moving(memory, known):
        try:
            rows += _read(Inside(source, space), space.inode, kept, source.now())
        except (OSError, ValueError):
            kept.left = 0
    return rows


def _moving(memory: Memory, known: _Known) -> list[tuple[Space, _Space]]:
    """The namespaces whose flows moved data lately, those that moved most first."""
    around = namespaces.known_of(memory)
    seen = recall(memory, netns_tcp.Known).seen
    kept = {space.inode: known.spaces.get(space.inode) for space in around.spaces}
    known.spaces = {}
    for inode, sockets in seen.items():
        if inode not in kept:
            continue
        rows = [row for *_, row in sockets.values()]
        amount = sum((row.bytes_acked or 0) + (row.bytes_received or 0) for row in rows)
        one = kept[inode] or _Space(amount)
        waits = any(row.notsent for row in rows)
        one.moved, one.amount = max(0, amount - one.amount), amount
        one.left = _ROUNDS if waits or one.moved >= MOVED else max(0, one.left - 1)
        known.spaces[inode] = one
    chosen = [
        (space, known.spaces[space.inode]) for space in around.spaces
        if space.inode in known.spaces and known.spaces[space.inode].left
    ]  # fmt: skip
    return sorted(chosen, key=lambda one: -one[1].moved)[:MOST]


def _read(inside: Inside, inode: int, kept: _Space, now: float) -> Iterator[Row]:
    if now - kept.at >= _NAMED:
        kept.at, kept.names, kept.local = now, route.names(inside), {}
        for row in addresses.parse(route.addresses(inside), kept.names):
            kept.local[row.interface] = (*kept.local.get(row.interface, ()), row.address)
    reply = route.qdiscs(inside)
    for one in qdiscs.parse(reply, kept.names):
        yield Row(
            inode, one.interface, one.parent, one.handle, one.kind, leaf=True,
            addresses=kept.local.get(one.interface, ()), backlog=one.backlog, bytes=one.bytes,
            drops=one.drops, rate=one.rate, flow_rate=one.flow_rate,
        )  # fmt: skip
    for index in classes.shaped(reply):
        if index not in kept.names:
            continue
        answer = route.classes(inside, index, kept.names[index])
        for below in classes.parse(answer, kept.names):
            yield Row(
                inode, below.interface, below.parent, below.handle, "class", leaf=below.leaf,
                addresses=kept.local.get(below.interface, ()), backlog=below.backlog,
                bytes=below.bytes, drops=below.drops, rate=below.limit,
            )  # fmt: skip
