"""A queueing discipline or traffic class that limits: a configured rate, or drops on ingress.

Queues without a rate are judged by the sum of their interface, `nic.per_s.qdisc_drops`. Policers
(act_police), `drop` actions and BPF programs on ingress count their drops in the qdisc `ingress`
or `clsact` of the interface (net/core/dev.c, sch_handle_ingress()).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ...collect.classes import Row as ClassRow
from ...collect.qdiscs import Row as QdiscRow
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Entry, Frame
from ...terms import units
from ...terms.dataclass import dataclass
from ...terms.text import few
from ..flow_words import QUIET, owners
from ..kind import Kind
from .firewall import HOOKS

if TYPE_CHECKING:
    from .. import Facts

LATE: Final = 0.5  # seconds of its rate that wait: programs send again what comes later
LEAST: Final = 10  # packets: fewer do not hold what a sender sends at once
LONGEST: Final = 1514  # bytes of a full packet of Ethernet
FRAME: Final = 8 * LONGEST  # bit
# of the packets: TCP keeps 1.2 / √share segments in flight, so here 5, enough to notice each loss
HEEDED: Final = 0.05
MANAGED: Final = ("fq_codel", "codel", "fq_pie", "pie", "cake")  # they keep the delay short
COPIES: Final = 0.25  # of its rate: copies that are fewer leave it to the others
IDLE: Final = 0.05  # of its rate
FULL: Final = 0.9  # of its rate: then a leaf is its own limit
MUCH: Final = 0.2  # of what it sends: less may be headers, or sent between two readings
MOST: Final = 3  # programs that are told


@dataclass(frozen=True, slots=True)
class Qdisc:
    """One of them."""

    id: str = label("interface, kind and handle, e.g. eth0/tbf-8001:")
    nic: str = gauge("interface", default="")
    kind: str = gauge("tbf cake netem, htb class, hfsc class, ingress clsact", default="")
    rate: float | None = maybe("configured rate", "bit/s")
    load: float | None = maybe("share of the configured rate in use", "ratio")
    queued: int | None = maybe("bytes queued", "bytes")
    drops_per_s: float | None = maybe("packets dropped", "packets/s")
    ingress: bool = gauge("filters received packets", default=False)
    received: bool = gauge("on an IFB: holds back received packets", default=False)
    root: bool = gauge("root of its interface", default=False)
    sink: str = gauge("an IFB that is down: what is redirected to it is dropped", default="")
    delay: float | None = maybe("what waits in it / configured rate", "s")
    told: str = gauge("its rate, and that delay where it is long", default="")
    fewer: int | None = maybe("full packets that its rate sends in 100 ms")
    room: str = gauge("most that it holds; empty: not known", default="")
    default: str = gauge("that it is a default class, and a wider one that idles", default="")
    mirror: str = gauge("the filter of tc whose copies take much of its rate", default="")
    filled: str = gauge("what fills it, as shares of what it sends", default="")


def build(frame: Frame, facts: Facts) -> tuple[Qdisc, ...]:
    """Those with a configured rate, leaf classes among them, and those on ingress.

    Packets are redirected to an IFB as they arrive, and return after its queue (drivers/net/ifb.c).
    """
    redirected = {row.interface: row for row in frame.rows("links") if row.kind == "ifb"}
    down = next((name for name, row in redirected.items() if not row.up), "")
    return tuple(
        replace(_copied(one, frame), received=one.nic in redirected,
                sink=down if one.ingress else "", filled=_filled(one, frame, facts))
        for one in _build(frame)
    )  # fmt: skip


def _filled(one: Qdisc, frame: Frame, facts: Facts) -> str:
    """The programs whose flows fill the shaper of an interface, and what they leave.

    Of datagrams a socket does not count how many it sends, but it holds those that wait.
    """
    sent = (one.load or 0.0) * (one.rate or 0.0) / 8
    if not one.root or (one.load or 0.0) < FULL:
        return ""
    comes = {row.interface for row in frame.rows("filters") if row.target == one.nic}
    by: dict[str, list[float]] = {}
    for flow in facts.here().flows:
        moved = (flow.rx_per_s if comes else flow.tx_per_s) or 0.0
        if flow.nic in (comes or {one.nic}) and 8 * moved >= QUIET:
            by.setdefault(flow.process or "programs that are not known", []).append(moved)
    found = [
        (sum(each), f"{units.count(len(each))} {'flows' if each[1:] else 'flow'} of {name}")
        for name, each in by.items()
    ]
    names = owners(frame)
    waits = {names[row.inode] for row in frame.rows("sockets_udp")
             if row.send_q and row.inode in names}  # fmt: skip
    rest = sent - sum(moved for moved, _ in found)
    if rest >= MUCH * sent:
        what = f"datagrams of {few(sorted(waits), 2)}" if waits else "other packets"
        found.append((rest, what))
    return few((f"{what} {units.share(moved / sent)}" for moved, what in sorted(found)[::-1]), MOST)


def _copied(one: Qdisc, frame: Frame) -> Qdisc:
    """With the filter of another interface that mirrors packets into its queue.

    Not on an interface for copies alone, which has no address (net/sched/act_mirred.c).
    """
    if not one.rate or not any(row.interface == one.nic for row in frame.rows("addresses")
                               if row.scope != "link"):  # fmt: skip
        return one
    for entry in frame.tables.get("filters", ()):
        row, sent = entry.now, 8 * (entry.rate("bytes") or 0.0)
        if (row.action, row.target) == ("mirror", one.nic) and sent >= COPIES * one.rate:
            at = row.parent if row.parent in HOOKS else f"parent {row.parent}"
            told = f"{one.told}, and {units.scaled(sent, 'b/s')} of what it gets are copies that a "
            told += f"filter of {row.interface} mirrors there"
            return replace(one, told=told, mirror=f"{row.interface} {at} pref {row.priority}")
    return one


def _build(frame: Frame) -> Iterator[Qdisc]:
    for entry in frame.tables.get("qdiscs", ()):
        row = entry.now
        if row.rate or row.parent == "ingress":
            one = _one(entry, row.kind, row.rate, ingress=row.parent == "ingress")
            fewer = max(LEAST, round(0.1 * row.rate / FRAME)) if row.rate else None
            yield replace(one, root=row.root, room=row.room, fewer=fewer)
    yield from _classes(frame.tables.get("classes", ()))


def _classes(entries: Sequence[Entry[ClassRow]]) -> Iterator[Qdisc]:
    """Leaves, and inner classes that are the limit of leaves with more room.

    An inner class has no queue: what waits in the leaves below it waits for it.
    """
    found = {(one.now.interface, one.now.handle): one for one in entries}
    below: dict[tuple[str, str], list[Qdisc]] = {}
    for entry in entries:
        rate = entry.now.limit
        if not entry.now.leaf or not rate:
            continue
        leaf = _one(entry, f"{entry.now.kind} class", rate)
        told = leaf.told + ", in the default class" * entry.now.default
        yield replace(leaf, told=told, default=_default(entry, entries))
        place, seen = (entry.now.interface, entry.now.parent), set()
        while place in found and place not in seen:
            seen.add(place)
            below.setdefault(place, []).append(leaf)
            place = place[0], found[place].now.parent
    for place, leaves in below.items():
        row = found[place].now
        rate = row.limit
        waits = sum(leaf.queued or 0 for leaf in leaves)
        if rate and waits and not any((leaf.load or 0.0) > FULL for leaf in leaves):
            delay = 8 * waits / rate
            one = _one(found[place], f"{row.kind} class", rate)
            yield replace(one, queued=waits, delay=delay, told=_told(rate, delay))


def _default(entry: Entry[ClassRow], entries: Sequence[Entry[ClassRow]]) -> str:
    """In words that no filter leads its packets elsewhere; of the wider classes, who idles."""
    row = entry.now
    if not row.default:
        return ""
    idle = (
        f"; class {one.handle} ({units.scaled(one.limit, 'b/s')}) idles"
        for one, sent in ((each.now, each.rate("bytes")) for each in entries)
        if one.interface == row.interface and one.leaf and one.limit and sent is not None
        and one.limit > (row.limit or 0.0) and 8 * sent < IDLE * one.limit
    )  # fmt: skip
    said = f"class {row.handle} is the default of {row.kind}: no filter matches what falls into it"
    return said + next(idle, "")


def _one(entry: Entry, kind: str, rate: float | None, *, ingress: bool = False) -> Qdisc:  # type: ignore[type-arg]
    row, sent = entry.now, entry.rate("bytes")
    delay = 8 * row.backlog / rate if rate and row.backlog is not None else None
    return Qdisc(
        f"{row.interface}/{kind.replace(' ', '-')}-{row.handle}",
        row.interface,
        kind,
        rate,
        8 * sent / rate if rate and sent is not None else None,
        row.backlog,
        entry.rate("drops"),
        ingress,
        delay=delay,
        told=_told(rate, delay),
    )


def _told(rate: float | None, delay: float | None) -> str:
    late = f" and delays it by {units.seconds(delay)}" if delay and delay >= LATE else ""
    return f"{units.scaled(rate, 'b/s')}{late}" if rate else ""


def described(row: QdiscRow) -> str:
    """A queue in words."""
    name = f"{row.kind} {row.handle} of {row.interface}"
    name += f", parent {row.parent}" * (not row.root) + f", limit {row.room}" * bool(row.room)
    return name + (f", {units.scaled(row.rate, 'b/s')}" if row.rate else "")


def paced(frame: Frame, queue: Entry[QdiscRow]) -> tuple[float | None, float | None]:
    """The rate of a queue, or of its class, in bit/s, and what passes, in bytes/s."""
    row = queue.now
    if not row.rate:
        for one in frame.tables.get("classes", ()):
            if (one.now.interface, one.now.handle) == (row.interface, row.parent):
                return one.now.limit, one.rate("bytes")
    return row.rate, queue.rate("bytes")


def paces(frame: Frame, queue: Entry[QdiscRow]) -> bool:
    """Whether a queue sends at its rate, and drops so few packets that TCP is but slowed down.

    Its own, or, where it keeps itself short, that of its class: any other queue may be too small.
    """
    row, sent = queue.now, queue.per_s
    rate, passed = row.rate, queue.rate("bytes")
    if row.kind in MANAGED:
        rate, passed = paced(frame, queue)
    if sent is None or not rate or 8 * (passed or 0.0) < FULL * rate:
        return False
    dropped = sent.drops or 0.0
    return dropped <= HEEDED * ((sent.packets or 0.0) + dropped)


KIND = Kind(
    Qdisc, "qdiscs", needs=("qdiscs", "classes", "filters"), build=build,
    parents={"nic": attrgetter("nic")},
    example={"id": "eth0/tbf-8001:", "nic": "eth0", "kind": "tbf"},
)  # fmt: skip
