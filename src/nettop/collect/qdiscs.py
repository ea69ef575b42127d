"""Queueing disciplines with their drops: RTM_GETQDISC (net/sched/sch_api.c, tc_fill_qdisc())."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Final

from ..frame.fields import counter, gauge, label, maybe
from ..host.netlink import route
from ..host.netlink.codec import Attributes, decode, of_kind
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _shaping
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=0.9, needed="drops of the queues", may_rest=True, beside="snmp")


_HEAD: Final = struct.Struct("=BxHiIII")  # tcmsg
_ROOT, _INGRESS = 0xFFFFFFFF, 0xFFFFFFF1


@dataclass(frozen=True, slots=True)
class Row:
    """One qdisc. The leaves that mq creates itself all have the handle 0 (net/sched/sch_mq.c)."""

    interface: str = label("interface name")
    parent: str = label("parent: root, ingress, or a class, e.g. 1:2")
    handle: str = label("handle, e.g. 8001:")
    kind: str = gauge("fq_codel fq mq noqueue pfifo_fast …")
    root: bool = gauge("the interface's root qdisc")
    backlog: int | None = maybe("queued bytes", "bytes")
    qlen: int | None = maybe("queued packets", "packets")
    bytes: int | None = counter("bytes sent", "bytes", default=None)
    packets: int | None = counter("packets sent", "packets", default=None)
    drops: int | None = counter("packets dropped", "packets", default=None)
    requeues: int | None = counter("packets requeued by the driver", "packets", default=None)
    overlimits: int | None = counter("rate overlimits", "events", default=None)
    rate: float | None = maybe("rate limit; None: none", "bit/s")
    flow_rate: float | None = maybe("rate limit of each flow; None: none", "bit/s")
    largest: int | None = maybe(
        "largest frame that it lets pass; 0: it drops all; None: any", "bytes"
    )
    room: str = gauge("most that it holds, e.g. 1,000 packets; empty: not known", default="")

    @property
    def where(self) -> str:
        """Its place in the words of tc."""
        return "root" if self.root else f"parent {self.parent}"


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every qdisc; the same rows as before while the answer is the same. OSError."""
    reply = route.qdiscs(source)
    return parsed(memory, "qdiscs", reply, lambda reply: parse(reply, route.names(source)))


def parse(reply: bytes, names: Mapping[int, str]) -> list[Row]:
    """The rows of an answer to RTM_GETQDISC; ValueError if it is cut off."""
    rows = []
    for start, end in of_kind(reply, route.NEWQDISC, _HEAD.size, "a qdisc"):
        _family, _pad, index, handle, parent, _info = _HEAD.unpack_from(reply, start)
        if index in names:
            values = decode(reply, start + _HEAD.size, end, route.QDISC)
            rows.append(_row(names[index], handle, parent, values))
    return rows


def _row(interface: str, handle: int, parent: int, values: Attributes) -> Row:
    stats = values.get("stats", {})
    basic, queue = stats.get("basic", b""), stats.get("queue", b"")
    octets, packets = struct.unpack_from("=QI", basic) if len(basic) >= 12 else (None, None)
    counts = struct.unpack_from("=5I", queue) if len(queue) >= 20 else (None,) * 5
    qlen, backlog, drops, requeues, overlimits = counts
    rate, flow_rate = _shaping.qdisc(values.get("kind", ""), values.get("options", b""))
    return Row(
        interface=interface,
        parent={_ROOT: "root", _INGRESS: "ingress"}.get(parent, number(parent)),
        handle=number(handle),
        kind=values.get("kind", ""),
        root=parent == _ROOT,
        backlog=backlog,
        qlen=qlen,
        bytes=octets,
        packets=stats.get("packets", packets),  # 64 bits since Linux 5.5
        drops=drops,
        requeues=requeues,
        overlimits=overlimits,
        rate=rate,
        flow_rate=flow_rate,
        largest=_shaping.largest(values.get("kind", ""), values.get("options", b"")),
        room=_shaping.room(values.get("kind", ""), values.get("options", b"")),
    )


def number(handle: int) -> str:
    """A handle or class as tc(8) writes it: hexadecimal major:minor."""
    minor = f"{handle & 0xFFFF:x}" if handle & 0xFFFF else ""
    return f"{handle >> 16:x}:{minor}" if handle >> 16 or not minor else f":{minor}"
