"""The queueing disciplines of the outgoing interface, and filters before and behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ..flow import HIDDEN, PASSES, STOPS, SUSPECT, Step
from ..legs import OUT, Leg

if TYPE_CHECKING:
    from ....collect.qdiscs import Row as QdiscRow

PLACE: Final = 60
_SMALL: Final = 74  # bytes of a frame with a SYN and its options
_HEADER: Final = 14  # bytes of an Ethernet header, which the MTU does not count
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
            yield Step(
                "queue", HIDDEN, f"what the filters of {row.kind} on {row.interface} do (drop, "
                "redirect, BPF)", f"tc filter show dev {row.interface} {hook}",
            )  # fmt: skip


def _queue(leg: Leg, row: QdiscRow) -> Iterator[Step]:
    """A qdisc, and whether frames are too long for it."""
    name, show = row.interface, f"tc -s qdisc show dev {row.interface}"
    link = leg.host.links.get(name)
    longest = (link.mtu or 0) + _HEADER if link is not None else 0
    where = "root" if row.root else f"parent {row.parent}"
    if row.largest is None or row.largest >= longest:
        if row.root:
            yield Step("queue", PASSES, f"qdisc {row.kind} of {name}", show)
    elif row.largest == 0:
        yield Step("queue", STOPS, f"qdisc {row.kind} of {name} drops every packet", show,
                   f"tc qdisc del dev {name} {where}")  # fmt: skip
    else:
        outcome = STOPS if row.largest < _SMALL else SUSPECT
        yield Step(
            "queue", outcome, f"qdisc {row.kind} of {name} drops frames above {row.largest} bytes, "
            f"its burst; those of {name} have up to {longest}", show,
            f"tc qdisc replace dev {name} {where} {row.kind} … with a burst of {longest} bytes or "
            "more",
        )  # fmt: skip
