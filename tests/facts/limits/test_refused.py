"""Segments that this host itself drops: nothing is in flight, and the peer's window is open."""

from __future__ import annotations

from typing import Any

from folded import folded
from limit_frames import limits, moment

from nettop.facts.limits.words import line

DROPPED = {"notsent": 60_000, "unacked": 0, "backoff": 4, "snd_wnd": 500_000, "mss": 1448}
STILL = {"bytes_acked": 0, "bytes_sent": 0, "delivered": 0}


@folded(("gauges", "refused"), [
    ({}, True),
    ({"snd_wnd": 0}, False),  # the peer takes nothing: probes are right
    ({"backoff": 1}, False),  # a full queue refuses a segment once
    ({"unacked": 3}, False),  # what is in flight gets no answer: not here
    ({"notsent": 0}, False),  # nothing waits
])  # fmt: skip
def test_a_local_drop_is_the_limit(gauges: dict[str, int], *, refused: bool) -> None:
    def at(s: float) -> Any:
        return moment(s, rates=STILL, gauges={**DROPPED, **gauges}, ran=0.0)

    said = [line(one) for one in limits(at)]
    assert any(text.endswith("limited by a drop on this host") for text in said) is refused, said
