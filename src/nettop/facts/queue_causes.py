"""A queue that drops because it is small, or its interface takes nothing.

`seen`: the drop and the host, as in `drop_causes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .kinds.qdisc import LEAST
from .way.steps.queue import BOUNDS, HEADER, needed

MOST: Final = 0.5  # of the drops of an interface: a queue with fewer is not the cause


def short(seen: Any) -> Mapping[str, Any]:
    """A queue that has room for fewer packets than a sender sends at once, and drops most.

    Below a shaper it loses what could wait for its turn, at whatever rate: its limit is the cause.
    """
    nics = seen.drop.nics.split(", ")
    rates = {entry.now: entry.rate("drops") or 0.0 for entry in
             seen.host.frame.tables.get("qdiscs", ()) if entry.now.interface in nics}  # fmt: skip
    for row, rate in rates.items():
        count, _, unit = row.room.partition(" ")
        short = unit.startswith("packet") and int(count.replace(",", "")) < LEAST
        if short and rate and rate >= MOST * max(rates.values()):
            return {
                "qdisc": f"{row.kind} {row.handle}", "nic": row.interface, "room": row.room,
                "where": row.where, "type": row.kind,
                "handle": row.handle,
            }  # fmt: skip
    return {}


def sized(seen: Any) -> Mapping[str, Any]:
    """A qdisc without room for one packet of full size, which drops while none waits in it.

    net/sched/sch_tbf.c, tbf_enqueue(): what is larger than the burst; sch_fifo.c: than the limit.
    """
    for entry in seen.host.frame.tables.get("qdiscs", ()):
        row, link = entry.now, seen.host.links.get(entry.now.interface)
        longest = (link.mtu or 0) + HEADER if link is not None else 0
        small = row.largest and row.largest < longest and not row.backlog
        if small and row.interface == seen.drop.nic and entry.rate("drops"):
            need, why = needed(row.kind, link, longest)
            return {
                "qdisc": f"{row.kind} {row.handle}", "nic": row.interface, "longest": longest,
                "needed": need, "why": why,
                "largest": row.largest, "where": row.where, "type": row.kind,
                "bound": BOUNDS.get(row.kind, "burst"),
            }  # fmt: skip
    return {}


def dead(seen: Any) -> Mapping[str, Any]:
    """An interface without a carrier, which has no queue that is full.

    The kernel gives such an interface a queue that drops all (noop_enqueue()).
    """
    links, nics = seen.host.links, seen.drop.nics.split(", ")
    every = all(nic in links and links[nic].up and links[nic].carrier is False for nic in nics)
    return {"nic": seen.drop.nic} if every else {}


def down(seen: Any) -> Mapping[str, Any]:
    """An interface that is down, whose queue drops all; as lo, to which routes still lead."""
    links, nics = seen.host.links, seen.drop.nics.split(", ")
    every = all(nic in links and not links[nic].up for nic in nics)
    return {"nic": seen.drop.nic} if every else {}
