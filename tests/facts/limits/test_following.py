"""What would limit next: told where it is known, and only there."""

from dataclasses import replace
from typing import Any

import pytest
from flow_tables import Tables
from limit_frames import AWAY, RECEIVES, flow, limits, moment

from nettop.facts.limits import Limit, Reading
from nettop.facts.limits.following import following, independent

G = 1e9


def step(found: Limit, stage: str) -> Reading:
    return next(one for one in found.ladder if one.stage == stage)


def test_a_receive_buffer_counts_by_the_round_trip_without_the_queue() -> None:
    def at(second: float, shortest: int | None) -> Tables:
        gauges = {**AWAY, "rcv_rtt": 60_000, "min_rtt": shortest}
        return moment(second, rates={**RECEIVES, "bytes_received": 1_000_000}, gauges=gauges)

    def capacity(shortest: int | None) -> Any:
        return step(flow(limits(lambda s: at(s, shortest))), "rcvbuf").capacity

    assert capacity(100) is None  # so short a round trip is made of queues and CPUs
    whole = 6_291_456 * 8 / 0.02
    assert capacity(20_000) == pytest.approx((0.5 * whole, 0.7 * whole))
    assert capacity(None) == pytest.approx((0.5 * whole / 3, 0.7 * whole / 3))


def reading(stage: str, capacity: Any = None, **more: Any) -> Reading:
    return Reading(stage, "here", f"the {stage}", capacity=capacity, **more)


def ends(*ladder: Reading) -> Limit:
    return Limit("flow", "a>b", "tx", G, stage=ladder[0], ladder=ladder)


FULL = reading("pacing", (0.9 * G, G), held=1.0)
WIRE = reading("wire", (9.1 * G, 9.4 * G))


def test_what_the_other_end_calls_its_peer_is_this_end() -> None:
    here = ends(FULL, WIRE)
    assert following(here, ends(reading("application"), reading("peer", (2 * G, 3 * G)))) == WIRE


def test_of_two_shapers_that_are_full_neither_is_next() -> None:
    twin = reading("pacing", (0.9 * G, 1.05 * G), held=0.9)
    assert following(ends(FULL, twin, WIRE)) == WIRE


FAR = {"min_rtt": 20_000, "rtt": 20_500, "cwnd": 4000}


@pytest.mark.parametrize(("scale", "next_"), [(3, None), (10, "sndbuf")])
def test_the_window_that_the_peer_may_offer_bounds_what_a_sender_tells(
    scale: int, next_: str | None
) -> None:
    """Its scale tells its largest buffer: 0.25 to 0.5 MB, or 32 to 64 MB."""
    gauges = {**FAR, "snd_wscale": scale, "snd_wnd": 65_000, "max_pacing_rate": 380_000}
    slow = {"bytes_acked": 375_000}
    found = flow(limits(lambda s: moment(s, ran=0.0005, rates=slow, gauges=gauges)))
    assert found.stage.stage == "pacing"
    assert (found.next.stage if found.next is not None else None) == next_


def test_a_late_reader_beside_a_thread_that_limits_is_not_next() -> None:
    late = Reading("peer", "there", "program", "measured", capacity=(0.9 * G, 1.1 * G), held=0.7)
    found = independent(late, Reading("thread", "here", "iperf3", held=0.8), G)
    assert (found.capacity, found.reach) == (None, (G, 2 * G))
    unseen = Reading("peer", "there", "other end", "inferred", held=1.0)
    assert independent(unseen, Reading("thread", "here", "iperf3", held=0.8), G) == unseen


CPU_HELD = Reading("thread", "here", "app", held=0.9)


@pytest.mark.parametrize(
    ("used", "most"), [(None, 2 * G), (0.0, 2 * G), (0.4, 2 * G), (0.5, 2 * G), (0.8, 1.25 * G),
                       (1.0, G)]
)  # fmt: skip
def test_a_thread_behind_a_full_stage_reaches_at_most_what_its_use_allows(
    used: float | None, most: float
) -> None:
    """It may only be polling: unknown or little use counts as one half."""
    busy = replace(CPU_HELD, utilisation=used, capacity=(G, 2 * G))
    found = independent(busy, Reading("qdisc", "here", "tbf", held=1.0), G)
    assert found.capacity is None
    assert found.reach == pytest.approx((G, most))
    same = independent(busy, Reading("core", "here", "cpu 3", held=1.0), G)
    assert same == busy
    idle = replace(busy, held=0.2)
    assert independent(idle, Reading("qdisc", "here", "tbf", held=1.0), G) == idle
