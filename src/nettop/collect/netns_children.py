"""Interfaces of other network namespaces that ride on one of this: RTM_GETLINK, RTM_GETADDR there.

A macvlan or an ipvlan exchanges frames with the others of its lower interface and with the network.
What the host itself sends by the lower interface leaves by the wire, and none of them takes it
(macvlan_start_xmit() and macvlan_handle_frame() of drivers/net/macvlan.c).
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import route
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import addresses, links, namespaces
from ._table import Memory, Table
from .netns_qdiscs import Inside

TABLE: Final = Table(every=2.0, asked=True, optional=True, memory="sockets")

KINDS: Final = ("macvlan", "ipvlan")
MOST: Final = 64  # namespaces that are asked: those with the most processes


@dataclass(frozen=True, slots=True)
class Row:
    """One interface."""

    namespace: int = label("inode of its network namespace")
    interface: str = label("interface name")
    kind: str = gauge("macvlan ipvlan")
    below: int = gauge("index of the interface below, in the namespace of that one")
    place: str = gauge("name of its namespace")
    pid: int = gauge("a process in that namespace")
    addresses: tuple[str, ...] = gauge("IP addresses", default=())


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """The rows of each namespace that may be entered; OSError if they are not known.

    This one may be that of a container too, whose interface others ride on.
    """
    rows: list[Row] = []
    for place in islice(namespaces.known_of(memory).others.values(), MOST):
        try:
            rows += _read(Inside(source, namespaces.space_of(place)), place)
        except (OSError, ValueError):  # it ended, or may not be entered
            continue
    return rows


def _read(inside: Inside, place: namespaces.Row) -> Iterator[Row]:
    found = [one for one in links.parse(route.links(inside)) if one.kind in KINDS and one.peer]
    if not found:
        return
    own: dict[str, list[str]] = {}
    for row in addresses.parse(route.addresses(inside), route.names(inside)):
        own.setdefault(row.interface, []).append(row.address)
    for one in found:
        yield Row(place.inode, one.interface, one.kind, one.peer or 0, place.name, place.pid,
                  tuple(own.get(one.interface, ())))  # fmt: skip
