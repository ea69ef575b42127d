"""A small receive window on a short path, which its reader empties each time that it runs."""

from __future__ import annotations

from typing import Any

from folded import folded
from limit_frames import AWAY, RECEIVES, flow, limits, moment

from nettop.facts.limits.words import line

# all of a small window is unread on a path of 10 us
CLOSED = {**AWAY, "rcvbuf": 32_768, "rmem_alloc": 29_000, "recv_q": 28_000, "rcv_ssthresh": 28_100,
          "rcv_rtt": 10}  # fmt: skip
CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "a short path whose window is full until its reader runs": (
        {"ran": 0.3, "waited": 0.3, "gauges": CLOSED}, "rcvbuf", "here"),
    "the same with a core that others use": (
        {"ran": 0.3, "waited": 0.6, "gauges": CLOSED}, "rcvbuf", "here"),
    "the same with a reader that never sleeps": (
        {"ran": 0.6, "waited": 0.4, "runs": 300.0, "gauges": CLOSED}, "thread", "here"),
    "the same with a reader that sleeps elsewhere": (
        {"ran": 0.05, "gauges": CLOSED}, "application", "here"),
    "the same with room in the window": (
        {"ran": 0.3, "waited": 0.3, "gauges": {**CLOSED, "rcv_ssthresh": 64_000}}, "thread",
        "here"),
    "the same with a large buffer": (
        {"ran": 0.3, "waited": 0.6, "gauges": {**CLOSED, "rcvbuf": 6_000_000,
                                               "rmem_alloc": 5_000_000}}, "thread", "here"),
}  # fmt: skip


@folded(("case", "stage", "end"), CASES.values(), ids=CASES)
def test_what_limits_it(case: dict[str, Any], stage: str, end: str) -> None:
    found = flow(limits(lambda second: moment(second, rates=RECEIVES, **case)))
    assert (found.direction, found.stage.stage, found.stage.end) == ("rx", stage, end), line(found)
