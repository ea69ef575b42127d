"""Segments that a queue of this host drops are not lost on the path."""

from dataclasses import replace
from typing import Any

import pytest
from flow_tables import HOST
from limit_frames import flow, limits, moment

from nettop.collect import qdiscs
from nettop.facts.limits import Limit
from nettop.facts.limits.words import line


def seen(dropped: float, parent: str = "root", **more: Any) -> Limit:
    """The limit of a flow that loses 800 segments a second, with so many dropped by a queue."""

    def at(second: float) -> Any:
        drops = int(dropped * second)
        queue = qdiscs.Row("eth0", parent, "8001:", "cake", True, 0, 0, 0, 0, drops, rate=9e9)
        gauges = {"min_rtt": 4000, "rtt": 4500, "unacked": 300, **more.get("gauges", {})}
        rates = {"total_retrans": 800, **more.get("rates", {})}
        return moment(second, gauges=gauges, rates=rates, queue=queue)

    return flow(limits(at))


def test_a_queue_that_drops_what_is_lost_limits() -> None:
    found = seen(450)
    assert (found.stage.stage, found.stage.name) == ("qdisc", "cake 8001: of eth0"), line(found)
    assert "0.93% of the segments lost" in found.stage.because
    assert all(one.stage != "path" for one in found.ladder)


@pytest.mark.parametrize(("dropped", "parent"), [(350, "root"), (0, "root"), (900, "ingress")])
def test_what_it_does_not_drop_is_lost_on_the_path(dropped: float, parent: str) -> None:
    assert seen(dropped, parent).stage.stage == "path"


@pytest.mark.parametrize(("each", "stage"), [(0.8, "wire"), (0, "path")])
def test_a_link_that_goes_down_and_up_loses_them(each: float, stage: str) -> None:
    def at(second: float) -> Any:
        rows = [replace(row, carrier_changes=int(each * second)) for row in HOST["links"]]
        gauges = {"min_rtt": 4000, "rtt": 4500, "unacked": 300}
        return moment(second, gauges=gauges, rates={"total_retrans": 800}, more={"links": rows})

    found = flow(limits(at))
    assert found.stage.stage == stage, line(found)
    told = "the link of eth0 changed its state 4 times, between up and down; "
    assert found.stage.because.startswith(told if each else "0.93% of")
