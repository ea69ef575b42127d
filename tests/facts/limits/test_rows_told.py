"""Rows of the ladder that are left out: what sleeps beside the limit, and what is known better."""

from asleep import asleep
from flow_tables import Tables
from limit_frames import AWAY, RECEIVES, SENDS, flow, limits, moment

from nettop.facts.limits import Limit


def stages(found: Limit) -> list[str]:
    return [one.stage for one in found.ladder]


def test_a_reader_that_waits_for_its_socket_with_a_timeout_has_no_timer() -> None:
    def at(s: float) -> Tables:
        wakes = asleep(7, 7, 5, "iperf3", "S", "select", "events", ends=True)
        return moment(s, rates=RECEIVES, gauges=AWAY, ran=0.05, more={"waits": [wakes]})

    assert "timer" not in stages(flow(limits(at)))


def test_the_other_end_has_one_row_of_what_is_known_best() -> None:
    def at(s: float) -> Tables:
        rates = {**SENDS, "rwnd_limited": 950_000}
        shrinks = {"snd_wnd": 3_000_000 - 500_000 * (int(s) % 2), "rtt": 21_000, "min_rtt": 500}
        return moment(s, rates=rates, gauges=shrinks)

    found = flow(limits(at))
    assert stages(found).count("peer") == 1
    assert (found.stage.stage, found.stage.kind) == ("peer", "reported")
