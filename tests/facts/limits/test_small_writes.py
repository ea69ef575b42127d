"""A request that is written in parts, of which one waits for a delayed acknowledgement."""

from __future__ import annotations

from typing import Any

from folded import folded
from limit_frames import flow, limits, moment

from nettop.collect import waits
from nettop.facts.limits.words import line

ASKS = waits.Row(7, 7, 5, "iperf3", "S", "recvfrom", "input", "socket:[101]")
PARTS = {"notsent": 300, "unacked": 1, "rtt": 20_400, "min_rtt": 60, "wmem_queued": 2304}


@folded(("gauges", "small"), [
    ({}, True),
    ({"notsent": 60_000}, False),  # more than a segment: another thing holds it
    ({"unacked": 9}, False),  # bulk with a small rest
    ({"rtt": 90}, False),  # acknowledged at once
    ({"min_rtt": 20_000}, False),  # a long path
])  # fmt: skip
def test_a_small_part_that_waits_limits_its_sender(gauges: dict[str, int], *, small: bool) -> None:
    def at(s: float) -> Any:
        return moment(s, rates={"bytes_acked": 9_000, "bytes_received": 5_000},
                      gauges={**PARTS, **gauges}, ran=0.01, more={"waits": [ASKS]})  # fmt: skip

    found = flow(limits(at))
    assert (found.stage.stage == "nagle") is small, line(found)
    assert ("nagle" in {one.stage for one in found.ladder}) is small
