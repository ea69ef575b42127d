"""The queueing disciplines of the outgoing interface, and filters before and behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..flow import HIDDEN, PASSES, Step
from ..legs import OUT, Leg

PLACE: Final = 60
_FILTERS: Final = ("clsact", "ingress")


def look(leg: Leg) -> Iterator[Step]:
    """The root qdisc of the way out; filters of both ways."""
    rows = leg.host.frame.rows("qdiscs")
    name = leg.hop.interface
    if leg.hop.goes and leg.hop.kind != "local":
        for row in rows:
            if row.interface == name and row.root and row.kind not in ("noqueue", "noop"):
                yield Step(
                    "queue", PASSES, f"qdisc {row.kind} of {name}", f"tc -s qdisc show dev {name}"
                )
    names = {name} if leg.role == OUT else {name, leg.question.arrives}
    for row in rows:
        if row.interface in names and row.kind in _FILTERS:
            hook = "egress" if row.interface == name and row.kind == "clsact" else "ingress"
            yield Step(
                "queue", HIDDEN, f"what the filters of {row.kind} on {row.interface} do (drop, "
                "redirect, BPF)", f"tc filter show dev {row.interface} {hook}",
            )  # fmt: skip
