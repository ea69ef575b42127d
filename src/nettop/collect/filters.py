"""Filters of tc and their actions: RTM_GETTFILTER.

net/sched/cls_api.c, tc_dump_tfilter(), and act_api.c, tcf_action_copy_stats(): each action counts
the packets that it drops. The kernel is asked only about interfaces whose qdisc can have filters:
`ingress` and `clsact`, and roots with classes. A BPF program that decides by itself (direct-action)
counts nothing; its row has the name of the program, or `bytecode` for one of classic BPF.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from ..frame.fields import counter, gauge, label, maybe
from ..host.netlink import route
from ..host.netlink.codec import Attributes, Field, attributes, decode, messages, of_kind
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Table
from .qdiscs import TICK, counted

TABLE: Final = Table(every=2.0, optional=True, may_rest=True)

_HEAD: Final = struct.Struct("=BxHiIII")  # tcmsg: its last word is priority and protocol
_ROOT: Final = 0xFFFFFFFF
_INGRESS, _EGRESS = 0xFFFFFFF2, 0xFFFFFFF3  # TC_H_CLSACT with TC_H_MIN_INGRESS, …EGRESS
# roots that sort packets into classes by filters
_CLASSFUL: Final = frozenset({"htb", "hfsc", "prio", "drr", "qfq", "ets", "cbq", "dsmark"})
_STATS: Final = {1: Field("basic", "raw"), 3: Field("queue", "raw"), 8: Field("packets", "Q")}
_FILTER: Final = {1: Field("kind", "text"), 2: Field("options", "raw"),
                  7: Field("stats", "nest", _STATS)}  # fmt: skip
_ACTION: Final = {1: Field("kind", "text"), 2: Field("options", "raw"),
                  4: Field("stats", "nest", _STATS)}  # fmt: skip


class _Form(NamedTuple):
    """Where the options of a kind of filter have its actions, and a policer of the old form."""

    actions: int
    police: int = 0


_FORMS: Final[Mapping[str, _Form]] = {
    "flower": _Form(3), "matchall": _Form(2), "u32": _Form(7, 6), "basic": _Form(3, 4),
    "fw": _Form(4, 2), "bpf": _Form(1, 2), "route": _Form(6, 5), "flow": _Form(9),
    "cgroup": _Form(1),
}  # fmt: skip
_BYTECODE, _PROGRAM = 5, 7  # TCA_BPF_OPS, TCA_BPF_NAME
_TBF, _RATE64 = 1, 8  # of a policer: struct tc_police, and its rate where 32 bits are too few
_BURST, _RATE = 12, 28  # places in struct tc_police
_MIRRED: Final = 2  # struct tc_mirred
_WAY, _TARGET = 20, 24  # places in it: what it does, number of the interface
_REDIRECTS: Final = (1, 3)  # TCA_EGRESS_REDIR, TCA_INGRESS_REDIR: else the packet goes on too


@dataclass(frozen=True, slots=True)
class Row:
    """One action of a filter, or a program that is all of it."""

    interface: str = label("interface name")
    parent: str = label("where it sits: ingress, egress, or the root qdisc, e.g. 1:")
    priority: int = label("preference: the lowest is asked first")
    handle: int = label("handle of the filter")
    place: int = label("place of the action in the filter")
    kind: str = gauge("flower matchall u32 bpf …")
    action: str = gauge("gact police redirect mirror …; program: a BPF program decides")
    target: str = gauge("interface to which it redirects or mirrors", default="")
    program: str = gauge("name of its BPF program", default="")
    rate: float | None = maybe("rate of a policer", "bit/s")
    burst: int | None = maybe("burst of a policer", "bytes")
    bytes: int | None = counter("bytes that reached the action", "bytes", default=None)
    packets: int | None = counter("packets that reached the action", "packets", default=None)
    drops: int | None = counter(
        "packets dropped by the action, or not taken by its target", "packets", default=None
    )


def read(source: Source) -> list[Row]:
    """The actions of all filters; none where no qdisc can have one. OSError."""
    asked = list(_places(route.qdiscs(source)))
    names = route.names(source) if asked else {}
    return [
        row
        for index, parent, where in asked
        if index in names
        for row in parse(
            route.filters(source, index, parent, f"{names[index]}/{where}"), names, where
        )
    ]


def _places(reply: bytes) -> Iterator[tuple[int, int, str]]:
    """The interface, qdisc and word of each place that may have filters."""
    for kind, start, end in messages(reply):
        if kind != route.NEWQDISC or end - start < _HEAD.size:
            continue
        _family, _pad, index, handle, parent, _info = _HEAD.unpack_from(reply, start)
        name = decode(reply, start + _HEAD.size, end, route.QDISC).get("kind")
        if name in ("ingress", "clsact"):
            yield index, _INGRESS, "ingress"
            if name == "clsact":
                yield index, _EGRESS, "egress"
        elif parent == _ROOT and name in _CLASSFUL:
            yield index, handle, f"{handle >> 16:x}:"


def parse(reply: bytes, names: Mapping[int, str], where: str) -> list[Row]:
    """The rows of an answer to RTM_GETTFILTER; ValueError when it is cut off."""
    found = []
    for start, end in of_kind(reply, route.NEWFILTER, _HEAD.size, "a filter"):
        _family, _pad, index, handle, _parent, info = _HEAD.unpack_from(reply, start)
        if index in names:
            values = decode(reply, start + _HEAD.size, end, _FILTER)
            place = names[index], where, info >> 16, handle
            found += [Row(*place, n, *one) for n, one in enumerate(_actions(values, names))]
    return found


def _actions(values: Attributes, names: Mapping[int, str]) -> Iterator[tuple[Any, ...]]:
    """The fields of each row of a filter from `kind` on."""
    kind, options = values.get("kind", ""), values.get("options", b"")
    form = _FORMS.get(kind)
    if form is None:
        return
    parts = _parts(options)
    named = parts.get(_PROGRAM, b"") if kind == "bpf" else b""
    program = named.rstrip(b"\0").decode(errors="replace")
    program = program or "bytecode" * (kind == "bpf" and _BYTECODE in parts)
    actions = [
        decode(raw, 0, len(raw), _ACTION) for raw in _parts(parts.get(form.actions)).values()
    ]
    if form.police in parts:
        old = parts[form.police]
        actions.append({"kind": "police", "options": old, "stats": values.get("stats", {})})
    for one in actions or ([{"kind": "program"}] if program else []):
        name, given = one.get("kind", ""), _parts(one.get("options", b""))
        hands = given.get(_MIRRED, b"") if name == "mirred" else b""
        target = names.get(_word(hands, _TARGET) or 0, "")
        name = "redirect" if _word(hands, _WAY) in _REDIRECTS else "mirror" if hands else name
        rate = _rate(given) if name == "police" else None
        ticks = _word(given.get(_TBF, b""), _BURST)
        burst = round(rate / 8 * ticks * TICK) if rate and ticks else None
        octets, packets, (_, _, drops, _, refused) = counted(one)
        # what the target does not take counts as overlimits: tcf_mirred_to_dev()
        lost = refused if name == "redirect" else drops
        yield kind, name, target, program, rate, burst, octets, packets, lost


def _parts(raw: bytes | None) -> dict[int, bytes]:
    """The attributes by number."""
    return {number: raw[a:e] for number, a, e in attributes(raw, 0, len(raw))} if raw else {}


def _word(raw: bytes, place: int) -> int | None:
    return struct.unpack_from("=I", raw, place)[0] if len(raw) >= place + 4 else None


def _rate(given: Mapping[int, bytes]) -> float | None:
    """The rate of a policer in bit/s; None without one."""
    wide = given.get(_RATE64, b"")
    rate = struct.unpack("=Q", wide)[0] if len(wide) == 8 else _word(given.get(_TBF, b""), _RATE)
    return 8.0 * rate if rate else None
