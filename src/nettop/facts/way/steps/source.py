"""The source address: net/ipv4/fib_semantics.c, fib_result_prefsrc()."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..flow import PASSES, STOPS, Step
from ..legs import OUT, Leg

PLACE: Final = 30


def look(leg: Leg) -> Iterator[Step]:
    """The address that this host writes into the packets."""
    hop = leg.hop
    if leg.role != OUT or not hop.goes:
        return
    source = leg.question.source or hop.address
    if source:
        name = next((one for one in leg.host.addresses if one.address == source), None)
        if name is not None and name.tentative:
            what = "another host has it" if name.duplicate else "it is tentative"
            yield Step("source", STOPS, f"the source address {source} cannot be used: {what}",
                       f"ip -6 addr show dev {name.interface}")  # fmt: skip
            return
        yield Step("source", PASSES, f"source address {source}")
        return
    if leg.host.unread("addresses"):
        return
    family = 6 if ":" in leg.question.to else 4
    yield Step("source", STOPS, f"{hop.interface} has no IPv{family} address for the source",
               f"ip -br addr show dev {hop.interface}",
               f"ip addr add ADDRESS/LENGTH dev {hop.interface}")  # fmt: skip
