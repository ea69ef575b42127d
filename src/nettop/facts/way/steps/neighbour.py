"""The neighbour: who answers for the hardware address (net/core/neighbour.c)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..flow import HIDDEN, PASSES, STOPS, SUSPECT, Step
from ..legs import Leg

PLACE: Final = 40
ABSENT: Final = ("failed", "incomplete")
ETHERNET, INFINIBAND = 1, 32  # ARPHRD_*: types whose frames need a hardware address


def look(leg: Leg) -> Iterator[Step]:
    """The entry of the next hop."""
    hop = leg.hop
    if hop.kind != "unicast" or hop.interface is None:
        return
    link = leg.host.links.get(hop.interface)
    if link is None or not link.up or link.carrier is False:
        return  # `device` names it
    if link.noarp or link.type not in (ETHERNET, INFINIBAND):
        yield Step("neighbour", PASSES, f"{hop.interface} needs no neighbour entry")
        return
    if why := leg.host.unread("neighbour_states"):
        yield Step("neighbour", HIDDEN, f"the neighbour entries: {why}", "ip neigh")
        return
    to = hop.gateway or leg.question.to
    show = f"ip neigh show {to} dev {hop.interface}"
    row = leg.host.neighbours.get((hop.interface, to))
    if row is None:
        yield Step("neighbour", PASSES, f"{to} on {hop.interface}: no entry yet; the first packet "
                   "asks for it", show)  # fmt: skip
    elif row.state in ABSENT:
        word = "neighbour discovery" if row.family == 6 else "ARP"
        yield Step(
            "neighbour", STOPS, f"no neighbour answers for {to} on {hop.interface}", show,
            f"the host with {to} must answer {word}: there, its interface up and without NOARP, "
            f"the address on it, and no filter on the way back to this host (rp_filter)",
        )  # fmt: skip
    elif row.state == "permanent":
        yield Step(
            "neighbour", SUSPECT, f"the neighbour entry of {to} on {hop.interface} is permanent "
            f"({row.hardware}): the kernel never asks whether it is right", show,
            f"ip neigh del {to} dev {hop.interface}",
        )  # fmt: skip
    else:
        yield Step("neighbour", PASSES, f"{to} on {hop.interface} is {row.hardware} ({row.state})",
                   show)  # fmt: skip
