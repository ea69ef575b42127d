"""Traffic classes of HTB and HFSC with their rates: RTM_GETTCLASS.

net/sched/sch_htb.c, htb_dump_class(), and sch_hfsc.c, hfsc_dump_class(). The kernel is asked only
about interfaces that have such a qdisc.
"""

import struct
from collections.abc import Mapping
from typing import Final

from ..frame.fields import counter, gauge, label, maybe
from ..host.netlink import route
from ..host.netlink.codec import Attributes, decode, messages, of_kind
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import qdiscs
from ._table import Table
from .qdiscs import number

TABLE: Final = Table(every=0.9, optional=True, may_rest=True)


_KINDS: Final = ("htb", "hfsc")
_HEAD: Final = struct.Struct("=BxHiIII")  # tcmsg
_ROOT: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Row:
    """One class. Only a leaf has a queue."""

    interface: str = label("interface name")
    handle: str = label("class, e.g. 1:10")
    parent: str = gauge("parent class; root: none")
    leaf: bool = gauge("no class below it: packets wait here")
    rate: float | None = maybe("guaranteed rate", "bit/s")
    ceiling: float | None = maybe("rate limit with what others do not use", "bit/s")
    backlog: int | None = maybe("queued bytes", "bytes")
    bytes: int | None = counter("bytes sent", "bytes", default=None)
    drops: int | None = counter("packets dropped", "packets", default=None)
    overlimits: int | None = counter("rate overlimits", "events", default=None)
    kind: str = gauge("htb or hfsc", default="htb")
    default: bool = gauge("takes what no filter leads elsewhere", default=False)

    @property
    def limit(self) -> float | None:
        """The rate that it cannot exceed, in bit/s; of HTB without a ceiling its rate."""
        return self.ceiling or (self.rate if self.kind == "htb" else None)


def read(source: Source) -> list[Row]:
    """The classes of each interface whose root qdisc is HTB; none where there is no such qdisc."""
    found = shaped(route.qdiscs(source)) if _named(source) else {}
    names = route.names(source) if found else {}
    return [
        row
        for index in found
        if index in names
        for row in parse(route.classes(source, index, names[index]), names, found[index])
    ]


def _named(source: Source) -> bool:
    """Whether a link may have such a root qdisc: links name it, and are read already."""
    try:
        links = route.links(source)
    except OSError:
        return True
    return any(kind.encode() + b"\0" in links for kind in _KINDS)


def shaped(reply: bytes) -> dict[int, int]:
    """The default class by the index of each interface whose root qdisc is HTB or HFSC."""
    found = {}
    for kind, start, end in messages(reply):
        if kind != route.NEWQDISC or end - start < _HEAD.size:
            continue
        _family, _pad, index, handle, parent, _info = _HEAD.unpack_from(reply, start)
        values = decode(reply, start + _HEAD.size, end, route.QDISC)
        if parent == _ROOT and (name := values.get("kind", "")) in _KINDS:
            found[index] = qdiscs.default(name, handle, values.get("options", b""))
    return found


def parse(reply: bytes, names: Mapping[int, str], default: int = 0) -> list[Row]:
    """The rows of an answer to RTM_GETTCLASS; ValueError when it is cut off."""
    found = []
    for start, end in of_kind(reply, route.NEWCLASS, _HEAD.size, "a traffic class"):
        _family, _pad, index, handle, parent, _leaf = _HEAD.unpack_from(reply, start)
        if index in names:
            values = decode(reply, start + _HEAD.size, end, route.QDISC)
            found.append((index, handle, parent, values))
    above = {(index, parent) for index, _, parent, _ in found}
    return [
        _row(names[index], handle, parent, (index, handle) not in above, values, default == handle)
        for index, handle, parent, values in found
    ]


def _row(
    interface: str, handle: int, parent: int, leaf: bool, values: Attributes, default: bool
) -> Row:  # fmt: skip
    octets, _, (_, backlog, drops, _, overlimits) = qdiscs.counted(values)
    kind, options = values.get("kind", "htb"), values.get("options", b"")
    rate, ceiling = (qdiscs.hfsc if kind == "hfsc" else qdiscs.htb)(options)
    return Row(
        interface, number(handle), "root" if parent == _ROOT else number(parent), leaf,
        rate, ceiling, backlog, octets, drops, overlimits, kind, default,
    )  # fmt: skip
