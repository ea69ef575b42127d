"""A receiver whose acknowledgements wait in a shaper of its own host."""

from typing import Any

import pytest
from flow_tables import Tables
from limit_frames import AWAY, RECEIVES, flow, limits, moment

from nettop.collect import link_stats, qdiscs
from nettop.facts.limits import Limit
from nettop.facts.limits.words import answers, line, verdict

# of a download at 6.4 Mb/s beside an upload that fills a shaper of 500 kb/s
WAITS = {**AWAY, "rcv_rtt": 90_000, "min_rtt": 50}


def seen(backlog: int = 6_000, part: float = 0.99, **gauges: Any) -> Limit:
    """The limit of that flow, where `part` of the rate of the shaper is used."""

    def at(second: float) -> Tables:
        queue = qdiscs.Row("eth0", "root", "8001:", "tbf", True, backlog, 4,
                           int(part * 62_500 * second), rate=500e3)  # fmt: skip
        rates = {**RECEIVES, "bytes_received": 800_000}
        return moment(second, rates=rates, gauges={**WAITS, **gauges}, ran=0.01, queue=queue)

    return flow(limits(at))


def test_a_sender_that_waits_for_acknowledgements_is_not_told_to_send_no_more() -> None:
    found = seen()
    assert (found.direction, found.stage.stage, found.stage.end) == ("rx", "qdisc", "here")
    assert "limited by the traffic shaper tbf of eth0" in line(found)
    assert found.stage.because.startswith(
        "its acknowledgements wait there: 90 ms from one to the data that it asks for, where the "
        "shortest round trip is 50 µs; mean 495 kb/s, 99% of 500 kb/s configured"
    )
    assert found.stage.capacity is None


@pytest.mark.parametrize("other", [
    {"backlog": 0}, {"part": 0.2}, {"rcv_rtt": 180}, {"rcv_rtt": 0}, {"min_rtt": 40_000},
])  # fmt: skip
def test_what_does_not_keep_its_acknowledgements(other: dict[str, Any]) -> None:
    assert seen(**other).stage.stage == "peer", other


def test_a_program_that_does_not_read_is_told_before() -> None:
    assert seen(recv_q=4_000_000, rmem_alloc=5_000_000).stage.stage == "application"


@pytest.mark.parametrize(("size", "told"), [(66, True), (1_500, False)])
def test_a_direction_with_acknowledgements_only_has_no_verdict(size: int, told: bool) -> None:
    """Seen live: `limited by the peer: the senders send no more`, of a host that only sends."""

    def at(second: float) -> Tables:
        counts = {"rx_bytes": 66_000, "rx_packets": 66_000 / size, "tx_bytes": 125e6}
        every = {name: int(each * second) for name, each in counts.items()}
        none: dict[str, Any] = dict.fromkeys(link_stats.Row.__dataclass_fields__)
        row = link_stats.Row(**none | every | {"interface": "eth0"})
        return moment(second, more={"link_stats": [row]})

    found = [one for one in limits(at) if (one.over, one.direction) == ("nic", "rx")]
    assert {answers(one) for one in found} == {told}
    assert {verdict(one) == "acknowledgements only" for one in found} == {told}
