"""A congestion window that a route holds small is the limit, and not the path that BBR measures."""

from typing import Any

from folded import folded
from limit_frames import flow, limits, moment

from nettop.collect import routes
from nettop.facts.limits.following import predict

WAN = {"rtt": 21_000, "min_rtt": 20_000, "cwnd": 8, "unacked": 8, "notsent": 60_000,
       "sndbuf": 69_120, "wmem_queued": 68_000, "congestion": "bbr",
       "delivery_rate": 500_000}  # fmt: skip


@folded(("gauges", "stage"), [
    ({}, "cwnd"), ({"rtt": 40_000}, "path"), ({"cwnd": 16}, "path"),  # a queue, and half in flight
])  # fmt: skip
def test_what_bbr_measures_below_a_full_window_is_the_rate_of_the_window(
    gauges: dict[str, int], stage: str
) -> None:
    route = routes.Row("10.0.0.2/32", "eth0", 0, 254, clamp=8)

    def at(s: float) -> Any:
        rates = {"bytes_acked": 550_000, "segs_out": 380}
        return moment(s, rates=rates, gauges={**WAN, **gauges}, ran=0.02, more={"routes": [route]})

    found = flow(limits(at))
    assert found.stage.stage == stage
    if stage == "cwnd":
        assert "the route to 10.0.0.2/32 locks it" in found.stage.because
        after = predict(found, ("cwnd",))
        assert after is None or after.next is None  # nobody knows what the path carries
