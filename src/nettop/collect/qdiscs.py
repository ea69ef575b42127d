"""Queueing disciplines with their drops: RTM_GETQDISC (net/sched/sch_api.c, tc_fill_qdisc()).

Also the rates that they and their classes are configured to: TCA_OPTIONS of tbf, fq, cake, netem,
HTB and HFSC (include/uapi/linux/pkt_sched.h). The kernel states rates in bytes per second: 32 bits
in struct tc_ratespec and struct tc_service_curve, and 64 bits in an attribute of its own where 32
do not suffice. Results are bit/s; None: no limit, or options that are not understood.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Final

from ..frame.fields import counter, gauge, label, maybe
from ..host.netlink import route
from ..host.netlink.codec import Attributes, attributes, decode, of_kind
from ..host.source import Source
from ..terms.dataclass import dataclass
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
    octets, packets, (qlen, backlog, drops, requeues, overlimits) = counted(values)
    rate, flow_rate = qdisc(values.get("kind", ""), values.get("options", b""))
    return Row(
        interface=interface,
        parent={_ROOT: "root", _INGRESS: "ingress"}.get(parent, number(parent)),
        handle=number(handle),
        kind=values.get("kind", ""),
        root=parent == _ROOT,
        backlog=backlog,
        qlen=qlen,
        bytes=octets,
        packets=packets,
        drops=drops,
        requeues=requeues,
        overlimits=overlimits,
        rate=rate,
        flow_rate=flow_rate,
        largest=largest(values.get("kind", ""), values.get("options", b"")),
        room=room(values.get("kind", ""), values.get("options", b"")),
    )


def counted(values: Attributes) -> tuple[int | None, int | None, tuple[int | None, ...]]:
    """Bytes, packets, and the five counts of struct gnet_stats_queue; None for what is not told."""
    stats = values.get("stats", {})
    basic, queue = stats.get("basic", b""), stats.get("queue", b"")
    octets, packets = struct.unpack_from("=QI", basic) if len(basic) >= 12 else (None, None)
    counts = struct.unpack_from("=5I", queue) if len(queue) >= 20 else (None,) * 5
    return octets, stats.get("packets", packets), counts  # 64 bits of packets since Linux 5.5


def number(handle: int) -> str:
    """A handle or class as tc(8) writes it: hexadecimal major:minor."""
    minor = f"{handle & 0xFFFF:x}" if handle & 0xFFFF else ""
    return f"{handle >> 16:x}:{minor}" if handle >> 16 or not minor else f":{minor}"


_RATESPEC: Final = struct.Struct("=8xI")  # the last field is the rate
_NO_LIMIT: Final = 0xFFFFFFFF
_CURVE: Final = struct.Struct("=8xI")  # struct tc_service_curve: the last field lasts
_REAL_TIME, _SHARED, _UPPER = 1, 2, 3  # the curves of an HFSC class
_TBF: Final = struct.Struct("=28xI")  # struct tc_tbf_qopt: time of the burst, in ticks
TICK: Final = 64e-9  # seconds: PSCHED_SHIFT, include/net/pkt_sched.h
_EACH: Final = 0xFFFFFFFF  # the share of packets that netem loses: all
_NETEM_HEAD: Final = 24  # struct tc_netem_qopt stands before the attributes

# by kind the attribute with the limit, 0 for the options themselves, its place there, and its unit
_ROOM: Final[Mapping[str, tuple[int, int, str]]] = {
    "pfifo": (0, 0, "packets"), "bfifo": (0, 0, "bytes"), "netem": (0, 4, "packets"),
    "sfq": (0, 8, "packets"), "tbf": (1, 24, "bytes"), "fq": (1, 0, "packets"),
    "fq_codel": (2, 0, "packets"), "codel": (2, 0, "packets"), "pie": (2, 0, "packets"),
}  # fmt: skip

Rates = tuple[float | None, float | None]


def qdisc(kind: str, options: bytes) -> Rates:
    """The rate limit of a qdisc as a whole, and that of each of its flows, in bit/s."""
    try:
        if kind == "tbf":
            return _spec(options, wide=4), None
        if kind == "cake":
            return _bits(_values(options).get(2, b"")), None
        if kind == "netem":
            values = _values(options, _NETEM_HEAD)
            return _bits(values.get(8, b"") or values.get(6, b"")[:4]), None
        if kind == "fq":
            return None, _bits(_values(options).get(7, b""))
    except ValueError:
        pass
    return None, None


def largest(kind: str, options: bytes) -> int | None:
    """The largest frame that a qdisc lets pass, bytes; 0: it drops all; None: any.

    tbf: its burst (net/sched/sch_tbf.c, tbf_enqueue()); bfifo: its limit (net/sched/sch_fifo.c,
    bfifo_enqueue()); netem: 0 where it loses each packet.
    """
    try:
        if kind == "tbf":
            rate, raw = _spec(options, wide=4), _values(options).get(1, b"")
            if rate and len(raw) >= _TBF.size:
                return round(rate / 8 * float(_TBF.unpack_from(raw)[0]) * TICK)
        if kind == "bfifo" and len(options) >= 4:
            return int(struct.unpack_from("=I", options)[0])
        if kind == "netem" and len(options) >= _NETEM_HEAD:
            return 0 if struct.unpack_from("=8xI", options)[0] == _EACH else None
    except ValueError:
        pass
    return None


def room(kind: str, options: bytes) -> str:
    """The most that a qdisc holds, with its unit; empty: not known.

    Of a class inside it, or of one flow, there may be less; a tbf with a qdisc of its own inside
    has that one's.
    """
    attribute, place, unit = _ROOM.get(kind, (0, 0, ""))
    try:
        raw = _values(options).get(attribute, b"") if attribute else options
        (size,) = struct.unpack_from("=I", raw if unit else b"", place)
    except (ValueError, struct.error):
        return ""
    return f"{size:,} {unit}" if size else ""


def default(kind: str, handle: int, options: bytes) -> int:
    """The class for what no filter of an HTB or HFSC qdisc leads elsewhere; 0: it has none.

    struct tc_htb_glob, its third word, and struct tc_hfsc_qopt (include/uapi/linux/pkt_sched.h).
    """
    try:
        if kind == "hfsc":
            (minor,) = struct.unpack_from("=H", options)
        else:
            (minor,) = struct.unpack_from("=I", _values(options).get(2, b""), 8)
    except (ValueError, struct.error):
        return 0
    return handle | minor if minor else 0


def htb(options: bytes) -> Rates:
    """The guaranteed rate and the ceiling of an HTB class, in bit/s."""
    try:
        rate = _spec(options, wide=6)
        return rate, _spec(options, wide=7, skip=_RATESPEC.size)
    except ValueError:
        return None, None


def hfsc(options: bytes) -> Rates:
    """The guaranteed rate and the rate limit of an HFSC class, in bit/s.

    A class that shares what others leave is limited by its upper curve only. One that does not has
    its guaranteed rate and no more (net/sched/sch_hfsc.c, hfsc_dequeue()).
    """
    try:
        curves = {number: _curve(raw) for number, raw in _values(options).items()}
    except ValueError:
        return None, None
    least = curves.get(_REAL_TIME)
    return least, curves.get(_UPPER) or (None if curves.get(_SHARED) else least)


def _curve(raw: bytes) -> float | None:
    rate = int(_CURVE.unpack(raw)[0]) if len(raw) == _CURVE.size else 0
    return 8.0 * rate if rate else None


def _spec(options: bytes, *, wide: int, skip: int = 0) -> float | None:
    """The 64-bit attribute `wide`, else the struct tc_ratespec at byte `skip` of the parameters."""
    values = _values(options)
    if wide in values:
        return _bits(values[wide])
    raw = values.get(1, b"")
    if len(raw) < skip + _RATESPEC.size:
        return None
    (rate,) = _RATESPEC.unpack_from(raw, skip)
    return 8.0 * rate if rate else None


def _values(options: bytes, start: int = 0) -> Mapping[int, bytes]:
    return {number: options[a:e] for number, a, e in attributes(options, start, len(options))}


def _bits(raw: bytes) -> float | None:
    """A 32-bit or 64-bit number of bytes per second, as bit/s; all ones in 32 bits: no limit."""
    if len(raw) not in (4, 8):
        return None
    rate = int(struct.unpack("=I" if len(raw) == 4 else "=Q", raw)[0])
    return 8.0 * rate if rate and rate != _NO_LIMIT else None
