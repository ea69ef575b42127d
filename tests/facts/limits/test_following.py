"""What would limit next: told where it is known, and only there."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flow_tables import Tables
from golden_text import same
from limit_frames import AWAY, RECEIVES, flow, limits, moment

from nettop.collect import qdiscs
from nettop.facts.limits import Limit, Reading
from nettop.facts.limits.following import following, independent
from nettop.facts.limits.stages import declared

GOLDEN = Path(__file__).parents[2] / "golden/limits"
PACED = {"max_pacing_rate": 130_000_000}  # bytes/s: it limits a flow of 1 Gb/s
G = 1e9


def paced(second: float, **more: Any) -> Tables:
    gauges = {**PACED, **more.pop("gauges", {})}
    return moment(second, gauges=gauges, **more)


def shaper(second: float, rate: float, used: float, backlog: int = 0) -> qdiscs.Row:
    sent = int(rate / 8 * used * second)
    return qdiscs.Row("eth0", "root", "1:", "tbf", True, backlog, 9, sent, rate=rate)


def step(found: Limit, stage: str) -> Reading:
    return next(one for one in found.ladder if one.stage == stage)


@pytest.mark.parametrize(
    ("ran", "next_"),
    [
        (0.005, "qdisc"),  # a CPU that carries 40 Gb/s at the least is not full before 9 Gb/s are
        (0.3, None),  # a CPU of which it is not known
        (0.6, "thread"),
    ],
)
def test_a_computed_capacity_is_next_only_if_the_cpu_surely_carries_it(
    ran: float, next_: str | None
) -> None:
    found = flow(limits(lambda s: paced(s, ran=ran, queue=shaper(s, 9 * G, 0.11))))
    assert found.stage.stage == "pacing"
    assert (found.next.stage if found.next is not None else None) == next_


def test_time_that_a_neighbour_took_at_each_wakeup_is_no_capacity() -> None:
    """Once there is more to do the thread waits less for each byte."""
    found = flow(limits(lambda s: paced(s, ran=0.1, waited=0.45)))
    thread = step(found, "thread")
    assert thread.utilisation == pytest.approx(0.55)
    assert thread.capacity is None
    assert thread.reach is not None
    assert thread.reach[1] > 4 * G


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


def test_a_path_whose_loss_fills_the_window_may_carry_no_more() -> None:
    paced_ = reading("pacing", (0.9 * G, G), held=1.0)
    path = reading("path", (1.5 * G, 3 * G), held=0.8)
    found = independent(path, paced_, G)
    assert found.capacity is None
    assert following(ends(paced_, found, WIRE)) is None


def test_a_late_reader_beside_a_thread_that_limits_is_not_next() -> None:
    late = Reading("peer", "there", "program", "measured", capacity=(0.9 * G, 1.1 * G), held=0.7)
    found = independent(late, Reading("thread", "here", "iperf3", held=0.8), G)
    assert (found.capacity, found.reach) == (None, (G, 2 * G))
    unseen = Reading("peer", "there", "other end", "inferred", held=1.0)
    assert independent(unseen, Reading("thread", "here", "iperf3", held=0.8), G) == unseen


def test_a_core_whose_load_is_not_known_takes_nothing_from_its_thread() -> None:
    found = flow(limits(lambda s: moment(s, ran=0.95, more={"cpu": []})))
    assert found.stage.stage == "thread"
    assert found.stage.utilisation == pytest.approx(0.95)


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


def test_which_readings_lose_their_capacity_behind_which_stage(update: bool) -> None:
    """By stage, and how much of the time it holds: the stages before it that take its capacity."""
    out = []
    for stage in declared():
        for held in (0.49, 0.5, 0.51):
            one = Reading(stage, "here", "x", utilisation=0.8, capacity=(G, 2 * G), held=held)
            found = {first: independent(one, Reading(first, "here", "y", held=1.0), G)
                     for first in declared()}  # fmt: skip
            kept = [first for first, now in found.items() if now == one]
            reached = [first for first, now in found.items() if now.reach != one.reach]
            gone = [first for first in declared() if first not in kept and first not in reached]
            lists = (f"{name} {' '.join(some) if len(some) < len(declared()) else 'all'}"
                     for name, some in (("gone:", gone), ("reach:", reached)) if some)  # fmt: skip
            out += [f"{stage} {held}: {text}" for text in lists]
    same(GOLDEN / "capacities.txt", "\n".join(out) + "\n", update)
