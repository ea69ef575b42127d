"""What a thread could carry: costs of recorded threads, at rates that a pacing limit set."""

import pytest
from limit_frames import flow, limits, moment

from nettop.facts.limits.stages._budget import WIDEST, carried
from nettop.facts.limits.stages.cpu import Thread

G = 1e9
PACED = {"max_pacing_rate": 130_000_000}  # bytes/s: it limits a flow of 1 Gb/s
# Gb/s, share of time that the thread ran, times a second that it was put on a CPU; two CPUs
WRITERS = (
    (2.0, 0.057, 277), (3.93, 0.110, 1144), (5.24, 0.147, 1393), (6.58, 0.184, 1340),
    (9.27, 0.283, 2733), (9.95, 0.282, 2238),
)  # fmt: skip
WRITER: float = 39  # Gb/s for a whole core, once no pacing limited it: the median of seven runs
READERS = (
    (1.0, 0.067, 1796), (2.0, 0.102, 2905), (3.93, 0.201, 7275), (5.24, 0.217, 5701),
    (6.58, 0.240, 5909), (9.27, 0.336, 7361), (9.95, 0.309, 4815),
)  # fmt: skip
READER: float = 46


def half_used(rate: float, ran: float, runs: float) -> tuple[float, Thread]:
    """A thread of the same costs that runs 0.6 of the time, and its rate."""
    more = 0.6 / ran
    return rate * more * G, Thread("x[1]", 0.6, 0.0, 0.0, 0.0, None, None, 0, runs=runs * more)


@pytest.mark.parametrize("costs", WRITERS)
def test_what_a_thread_that_is_seldom_woken_could_carry(costs: tuple[float, float, float]) -> None:
    rate, thread = half_used(*costs)
    capacity, reach = thread.carried(rate)
    assert reach is None
    assert capacity is not None
    least, most = capacity
    assert least <= WRITER * G <= most <= WIDEST * least
    assert abs((least + most) / 2 - WRITER * G) <= 0.25 * WRITER * G


@pytest.mark.parametrize("costs", READERS)
def test_what_a_thread_that_is_often_woken_could_carry_is_not_known(
    costs: tuple[float, float, float],
) -> None:
    """It was told as 20 Gb/s for a reader that carried 46: wakeups took most of its time."""
    rate, thread = half_used(*costs)
    capacity, reach = thread.carried(rate)
    assert capacity is None
    assert reach is not None
    assert reach[0] <= READER * G <= reach[1]


def test_without_a_count_of_wakeups_half_a_core_tells_nothing() -> None:
    capacity, reach = Thread("x[1]", 0.6, 0.0, 0.0, 0.0, None, None, 0).carried(G)
    assert (capacity, reach is None) == (None, False)


@pytest.mark.parametrize("used", [0.85, 0.9, 1.0])
def test_a_busy_thread_carries_about_what_it_carries_now(used: float) -> None:
    capacity, reach = carried(G, used, woken=1.0)
    assert reach is None
    assert capacity is not None
    assert G <= capacity[1] <= 1.3 * G


def test_a_thread_that_only_waited_tells_no_cost() -> None:
    """It was told as 18 to 34 Mb/s for a reader that waited for its core behind other programs."""
    thread = Thread("x[1]", 0.0, 0.7, 0.0, 0.0, None, None, 0, runs=10.0)
    capacity, reach = thread.carried(18e6)
    assert capacity is None
    assert reach is not None
    assert reach[1] > G


@pytest.mark.parametrize(("runs", "next_"), [(1000, "thread"), (20_000, None), (None, None)])
def test_the_thread_is_next_only_where_it_is_known(runs: float | None, next_: str | None) -> None:
    found = flow(limits(lambda s: moment(s, gauges=PACED, ran=0.6, runs=runs)))
    assert found.stage.stage == "pacing"
    assert (found.next.stage if found.next is not None else None) == next_
