"""A paced socket that sends less than its rate although data waits and both windows have room."""

from typing import Any

import pytest
from asleep import asleep
from folded import folded
from limit_frames import flow, limits, moment

from nettop.collect import cpu, qdiscs
from nettop.facts.limits import Limit
from nettop.facts.limits.words import line

SLOW = {"max_pacing_rate": 250_000_000}  # the flow moves half of it


def seen(stolen: float = 0.0, idle: float = 1.0, **more: Any) -> Limit:
    """The limit where each CPU is idle and taken by the hypervisor for those shares of time."""

    def at(second: float) -> Any:
        user = 1 - idle - stolen
        rows = [cpu.Row(n, user * second, 0.0, 0.0, idle * second, steal=stolen * second)
                for n in range(4)]  # fmt: skip
        gauges = {**SLOW, **more.get("gauges", {})}
        return moment(second, gauges=gauges, rates=more.get("rates"), more={"cpu": rows})

    return flow(limits(at))


def test_the_pacing_timer_is_late_on_a_core_with_idle_time() -> None:
    found = seen(idle=0.6)
    assert (found.stage.stage, found.stage.name) == ("pacing", "pacing timer"), line(found)
    assert "mean 1 Gb/s, 50% of the pacing limit, 2 Gb/s;" in found.stage.because
    assert found.stage.capacity == pytest.approx((0.9e9, 1.1e9))


@pytest.mark.parametrize(("stolen", "idle"), [(0.3, 0.2), (0.0, 0.02)])
def test_a_core_that_is_taken_away_or_full_is_named(stolen: float, idle: float) -> None:
    found = seen(stolen, idle)
    assert (found.stage.stage, found.stage.end) == ("core", "here"), line(found)
    assert found.stage.name == "core 0, where the pacing timer runs"
    assert ("taken by the hypervisor" in found.stage.because) == (stolen > 0)


@pytest.mark.parametrize(
    "more",
    [
        {"gauges": {"notsent": 0}},
        {"gauges": {"unacked": 400}},
        {"gauges": {"wmem_alloc": 90_000}},
        {"gauges": {"max_pacing_rate": 1_250_000_000}},
        {"rates": {"rwnd_limited": 400_000}},
    ],
    ids=["nothing waits", "window full", "packets below TCP", "far below the limit", "peer"],
)
def test_it_is_not_the_timer(more: dict[str, Any]) -> None:
    found = seen(0.3, 0.2, **more)
    assert found.stage.stage not in ("core", "pacing"), line(found)


def test_the_pauses_of_a_writer_are_not_a_late_timer() -> None:
    """Half of the pacing limit is sent, since data waits in half of the time."""

    def at(second: float) -> Any:
        return moment(second, gauges={**SLOW, "notsent": 500_000 * (int(second) % 2)})

    found = flow(limits(at))
    assert all(one.name != "pacing timer" for one in found.ladder), line(found)


@pytest.mark.parametrize(("kind", "named"), [("fq", True), ("pfifo", False)])
def test_packets_wait_in_fq_for_their_time(kind: str, named: bool) -> None:
    queue = qdiscs.Row("eth0", "root", "1:", kind, True, 90_000, 60)
    gauges = {**SLOW, "wmem_alloc": 90_000}
    found = flow(limits(lambda second: moment(second, queue=queue, gauges=gauges)))
    assert (found.stage.name == "pacing timer") is named, line(found)


# A request that is written in parts, of which one waits for a delayed acknowledgement.


ASKS = asleep(7, 7, 5, "iperf3", "S", "recvfrom", "input", "socket:[101]")
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
