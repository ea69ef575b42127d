"""Packets that come back by the interface by which they leave: a loop of routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .flow import STOPS, Step, Way

LEAST: Final = 4  # packets that came back
EXPIRES: Final = 4  # TTL: only in a loop packets are this near to their end


def loop(way: Way, hops: Sequence[int]) -> Step | None:
    """The step of a way whose packets arrive where they leave, with these TTLs.

    What is sent on by one interface only, as by a router with one arm, does not expire there.
    """
    if len(hops) < LEAST or min(hops) > EXPIRES:
        return None
    to, name = way.flow.to, way.interface
    by = next((one.neighbours[0] for one in way.steps if one.neighbours), "the next hop")
    family = "-6 " if ":" in to else ""
    return Step(
        "loop", STOPS, f"packets to {to} come back on {name}, by which they leave ({len(hops)} "
        f"while nettop looked, ttl {max(hops)} down to {min(hops)}): {by} sends them to this "
        "host, and this host to it", f"tcpdump -nvi {name} dst host {to}",
        f"correct the route to {to} at one of both; `ip {family}route add unreachable NETWORK` "
        "here ends the loop for a network that nobody has",
    )  # fmt: skip
