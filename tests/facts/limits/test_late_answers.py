"""A conversation whose few bytes wait for an acknowledgement many times longer than the path."""

from typing import Any

import pytest
from limit_frames import flow, limits, moment

from nettop.facts.limits import Limit
from nettop.facts.limits.words import line

# keys over ssh by a radio that sleeps
LATE = {"rtt": 780_000, "min_rtt": 4_100, "unacked": 1, "notsent": 0, "wmem_queued": 900,
        "cwnd": 10}  # fmt: skip
TALK = {"bytes_acked": 90, "bytes_received": 40, "segs_out": 3, "segs_in": 3,
        "busy_time": 900_000, "total_retrans": 1}  # fmt: skip


def seen(rates: dict[str, Any] | None = None, **gauges: Any) -> Limit:
    """The limit of that flow."""

    def at(second: float) -> Any:
        return moment(second, gauges={**LATE, **gauges}, rates={**TALK, **(rates or {})}, ran=0.01)

    return flow(limits(at))


def test_what_waits_for_an_acknowledgement_does_not_wait_for_the_program() -> None:
    found = seen()
    assert (found.stage.stage, found.stage.end) == ("path", "there"), line(found)
    assert found.stage.name == "way to the other end, or that end"
    assert found.stage.because == (
        "what it sends waits for an acknowledgement in 90% of the time: that takes 780 ms, where "
        "the shortest round trip is 4.1 ms"
    )
    assert found.stage.capacity is None


@pytest.mark.parametrize(
    ("rates", "gauges"),
    [({}, {"rtt": 210_000}), ({}, {"min_rtt": 90_000}), ({"busy_time": 300_000}, {})],
    ids=["delayed acknowledgements", "a long path", "a key now and then"],
)
def test_a_conversation_that_only_says_little(
    rates: dict[str, Any], gauges: dict[str, Any]
) -> None:
    assert seen(rates, **gauges).stage.stage != "path"
