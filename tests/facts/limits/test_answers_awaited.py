"""A reader whose other end takes its time for each answer, and one that is sent no more."""

from typing import Any

from folded import folded
from limit_frames import AWAY, flow, limits, moment

ASKS = {"bytes_received": 430_000, "bytes_acked": 700, "data_segs_in": 46, "data_segs_out": 6.5}
ASKED = {"last_sent": 60, "last_received": 120}  # ms: the request left after the last data came


@folded(("rates", "gauges", "how"), [
    ({}, {}, "late"),
    ({}, {"last_sent": 120, "last_received": 60}, ""),  # the last that happened: data came
    ({}, {"last_sent": 0, "last_received": 0}, ""),  # both all the time
    ({}, {"last_sent": 120, "last_received": 120}, "late"),  # it asks at once for the next
    ({}, {"last_sent": None, "last_received": None}, ""),  # of thousands of sockets
    ({"data_segs_out": 0, "bytes_acked": 0}, {}, ""),  # it asks for nothing
    ({"data_segs_out": 6000}, {}, ""),  # an answer in each round trip
])  # fmt: skip
def test_what_fills_the_time_between_request_and_answer(
    rates: dict[str, float], gauges: dict[str, Any], how: str
) -> None:
    def at(s: float) -> Any:
        return moment(s, rates={**ASKS, **rates}, gauges={**AWAY, **ASKED, **gauges}, ran=0.01)

    found = flow(limits(at)).stage
    assert (found.stage, found.how) == ("peer", how)
    assert (", 153.8 ms for each answer of " in found.because) == bool(how), found.because
