"""A receiver whose segments arrive with gaps: who loses them."""

from typing import Any

import pytest
from limit_frames import AWAY, RECEIVES, flow, limits, moment

from nettop.collect import drop_reasons, qdiscs
from nettop.facts.limits import Limit
from nettop.facts.limits.words import line

FAR = {**AWAY, "rcv_rtt": 20_000, "rtt": 20_000, "min_rtt": 20_000}


def receives(
    behind: float, dropped: float = 0, parent: str = "ingress", gauges: Any = FAR, **more: Any
) -> Limit:
    """The limit of a flow that receives 970 segments a second, so many of them behind a gap."""

    def at(second: float) -> Any:
        queue = qdiscs.Row("eth0", parent, "ffff:", "clsact", True, 0, 0, 0, 0,
                           int(dropped * second))  # fmt: skip
        rates = {**RECEIVES, "bytes_received": 1_400_000, "data_segs_in": 970, "segs_in": 970,
                 "rcv_ooopack": behind}  # fmt: skip
        tables = {name: rows(second) for name, rows in more.items()}
        return moment(second, rates=rates, gauges=gauges, ran=0.01, queue=queue, more=tables)

    return flow(limits(at))


def test_a_sender_that_its_losses_hold_is_not_told_as_the_peer() -> None:
    found = receives(85)
    assert (found.stage.stage, found.stage.kind) == ("path", "inferred"), line(found)
    assert "8.8% of the segments arrive behind a gap" in found.stage.because


@pytest.mark.parametrize("behind", [0, 20])  # none, or fewer than of each window one
def test_gaps_that_do_not_hold_the_sender_leave_the_peer(behind: float) -> None:
    found = receives(behind)
    assert found.stage.stage == "peer", line(found)


@pytest.mark.parametrize(("age", "stage"), [(280, "peer"), (2, "path")])
def test_a_sender_that_pauses_is_not_on_a_long_path(age: int, stage: str) -> None:
    """Bursts of 2.6 MB from a slow disk, 60 us away; of a queue that stands data comes always."""
    near = {**AWAY, "rcv_rtt": 105_000, "rtt": 60, "min_rtt": 60, "last_received": age}
    assert receives(40, gauges=near).stage.stage == stage


def test_filters_of_the_interface_that_drop_as_many_are_the_cause() -> None:
    found = receives(85, dropped=5)
    assert (found.stage.stage, found.stage.end) == ("refused", "here"), line(found)
    assert found.stage.name == "clsact ffff: of eth0"


@pytest.mark.parametrize(("dropped", "parent"), [(1, "ingress"), (5, "root")])
def test_few_drops_or_those_of_what_leaves_are_not(dropped: float, parent: str) -> None:
    assert receives(85, dropped, parent).stage.stage == "path"


def test_the_kernels_reason_at_the_port_is_told() -> None:
    def at(second: float) -> list[Any]:
        count = int(5 * second)
        return [drop_reasons.Row("TC_INGRESS", "__netif_receive_skb_core", "here", "eth0", "tcp",
                                 "5001", count, second, source="10.0.0.2", to="10.0.0.1",
                                 source_port=40001, to_port=5001)]  # fmt: skip

    found = receives(85, drop_reasons=at)
    assert found.stage.stage == "refused", line(found)
    assert "packets of tcp port 5001 (TC_INGRESS: A tc filter" in found.stage.because
