"""The queueing disciplines of the outgoing interface, and filters before and behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from ....collect.links import Row as LinkRow
from ....collect.qdiscs import Row as QdiscRow
from ....terms.units import many
from ..flow import HIDDEN, PASSES, STOPS, SUSPECT, Step
from ..legs import OUT, Leg

PLACE: Final = 60
_SMALL: Final = 74  # bytes of a frame with a SYN and its options
HEADER: Final = 14  # bytes of an Ethernet header, which the MTU does not count
BOUNDS: Final = {"bfifo": "limit"}  # of the size of one frame; of other qdiscs it is the burst
WHOLE: Final = 2  # packets of GSO for which such a limit has room: one waits, and the next comes
MOST: Final = 0.5  # of the received packets
# why the kernel says that it drops a packet, by where the filter is
REASONS: Final = {"ingress": "TC_INGRESS", "egress": "TC_EGRESS"}
_FILTERS: Final = ("clsact", "ingress")


def look(leg: Leg) -> Iterator[Step]:
    """The root qdisc of the way out; filters of both ways."""
    rows = leg.host.frame.rows("qdiscs")
    name = leg.hop.interface
    if leg.hop.goes and leg.hop.kind != "local":
        for row in rows:
            if row.interface == name and row.kind not in (*_FILTERS, "noqueue", "noop"):
                yield from _queue(leg, row)
    names = {name} if leg.role == OUT else {name, leg.question.arrives}
    for row in rows:
        if row.interface in names and row.kind in _FILTERS:
            hook = "egress" if row.interface == name and row.kind == "clsact" else "ingress"
            if (step := _taken(leg, row) or _drops(leg, row, hook)) is not None:
                yield step
                continue
            yield Step(
                "queue", HIDDEN, f"what the filters of {row.kind} on {row.interface} do (drop, "
                "redirect, BPF)", f"tc filter show dev {row.interface} {hook}",
            )  # fmt: skip


def _drops(leg: Leg, row: QdiscRow, hook: str) -> Step | None:
    """Filters that drop most of what their interface receives or sends; None: they do not.

    clsact has one counter for both: they drop what is sent where the kernel says so. What is
    redirected to an interface that is down is dropped as well (net/sched/act_mirred.c).
    """
    name, flow = row.interface, leg.flow
    index = str(leg.host.links[name].index) if name in leg.host.links else ""
    sends = hook == "egress" and leg.host.dropped(
        REASONS[hook], lambda one: one.interface == index) > 0  # fmt: skip
    hook = "egress" if sends else "ingress"
    drops = _rate(leg, "qdiscs", lambda one: (one.interface, one.handle) == (name, row.handle))
    port = _rate(leg, "link_stats", lambda one: one.interface == name)
    most = False
    if drops and port:
        passes = drops.drops + port.tx_packets if sends else port.rx_packets
        most = bool(drops.drops) and drops.drops >= MOST * passes
    down = [one.interface for one in leg.host.links.values() if one.kind == "ifb" and not one.up]
    ours = leg.host.dropped(REASONS[hook], lambda one: (
        one.interface, one.protocol, str(one.to_port) if sends else one.port) == (
        index, flow.protocol, str(flow.port)))  # fmt: skip
    if not most and not (down and ours):
        return None
    what = f"dropped {many(ours, 'packets')} to {flow.protocol} port {flow.port}"
    what = what if ours else f"drop most of what it {'sends' if sends else 'receives'}"
    why, change = "", f"correct them, or tc qdisc del dev {name} {row.kind}"
    if down:
        why = f" ({down[0]}, an ifb, is down)"
        change = f"ip link set {down[0]} up"
    return Step(
        "queue", SUSPECT, f"the filters of {row.kind} on {name} {what}{why}",
        f"tc -s filter show dev {name} {hook}", change, qdisc=f"{name}/{row.kind}-{row.handle}",
    )  # fmt: skip


def _taken(leg: Leg, row: QdiscRow) -> Step | None:
    """A filter that redirects packets to another interface: they do not come here.

    Those of an IFB come back; a guest takes what goes to its TAP, or to where its own come from.
    One that is down takes none, and they are dropped (tcf_mirred_to_dev()). Which packets is not
    read.
    """
    name, links = row.interface, leg.host.links
    rules = leg.host.frame.rows("filters")
    back = {one.interface for one in rules if (one.action, one.target) == ("redirect", name)}
    hooks = ("ingress", "egress") if name == leg.hop.interface else ("ingress",)
    for rule in rules:
        to = links.get(rule.target)
        here = rule.interface == name and rule.parent in hooks and rule.action == "redirect"
        if not here or to is None or not rule.packets:
            continue
        saw = f"the filter pref {rule.priority} ({rule.kind}) of {rule.parent} on {name} redirects "
        show = f"tc -s filter show dev {name} {rule.parent}"
        remove = f"or tc filter del dev {name} {rule.parent} pref {rule.priority}"
        if not to.up:
            return Step(
                "queue", SUSPECT, f"{saw}packets to {rule.target}, which is down: they are dropped",
                show, f"ip link set {rule.target} up, {remove}",
                qdisc=f"{name}/{row.kind}-{row.handle}",
            )  # fmt: skip
        if to.kind not in ("ifb", "tun") and rule.target not in back:
            gone = "this host gets none of those"
            gone = gone if rule.parent == "ingress" else f"those do not leave by {name}"
            return Step(
                "queue", SUSPECT, f"{saw}packets to {rule.target}: {gone}",
                show, f"mirror them instead (action mirred egress mirror dev {rule.target}), "
                f"{remove}",
            )  # fmt: skip
    return None


def _rate(leg: Leg, table: str, wanted: Callable[[Any], bool]) -> Any:
    """The rates of the first row that is wanted; None if they are not known."""
    rows = leg.host.frame.tables.get(table, ())
    return next((one.per_s for one in rows if wanted(one.now)), None)


def _queue(leg: Leg, row: QdiscRow) -> Iterator[Step]:
    """A qdisc, and whether frames are too long for it."""
    name, show = row.interface, f"tc -s qdisc show dev {row.interface}"
    link = leg.host.links.get(name)
    longest = (link.mtu or 0) + HEADER if link is not None else 0
    if row.largest is None or row.largest >= longest:
        if row.root:
            yield Step("queue", PASSES, f"qdisc {row.kind} of {name}", show)
    elif row.largest == 0:
        yield Step("queue", STOPS, f"qdisc {row.kind} of {name} drops every packet", show,
                   f"tc qdisc del dev {name} {row.where}")  # fmt: skip
    else:
        outcome, bound = STOPS if row.largest < _SMALL else SUSPECT, BOUNDS.get(row.kind, "burst")
        need, why = needed(row.kind, link, longest)
        yield Step(
            "queue", outcome, f"qdisc {row.kind} of {name} drops frames above {row.largest} bytes, "
            f"its {bound}; those of {name} have up to {longest}", show,
            f"tc qdisc replace dev {name} {row.where} {row.kind} … "
            f"with a {bound} of {need} bytes or more{why}",
        )  # fmt: skip


def needed(kind: str, link: LinkRow | None, longest: int) -> tuple[int, str]:
    """The least bound of one packet, in bytes, and what it counts beside the longest frame.

    A token bucket cuts packets of GSO first (sch_tbf.c, tbf_segment()); a queue of bytes counts
    them whole, with the headers of each segment (sch_fifo.c, bfifo_enqueue()).
    """
    size = link.gso_max_size if link is not None and kind in BOUNDS else None
    if not size or size <= longest:
        return longest, ""
    return WHOLE * size, f" (packets of GSO, up to {size} bytes, wait there uncut)"
