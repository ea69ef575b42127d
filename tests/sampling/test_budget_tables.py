"""What the budget decides around each of its bounds: a table of values, computed by hand."""

from pathlib import Path

import pytest
from folded import folded
from hypothesis import given
from hypothesis import strategies as st

from nettop.sampling.refresh import LONGEST, SLOWEST, Budget

COSTS = st.floats(0.0, 2.0)


def read(costs: dict[str, float], percent: float = 1.0, rest: float = 0.0) -> Budget:
    budget = Budget(percent, rest=rest)
    for _ in range(2):
        budget.read(costs)
    return budget


# cost of one table that is read each second → seconds between two readings
@folded(("cost", "wait"), [
    (0.0, None), (0.00199, None), (0.002, None), (0.005, None),  # a second at 0.5 %
    (0.0075, None), (0.00751, 2.0), (0.010, 2.0), (0.0101, 3.0), (0.0975, 20.0), (0.2, 20.0),
])  # fmt: skip
def test_the_wait_of_one_table(cost: float, wait: float | None) -> None:
    waits = read({"a": cost}).stretched({"a": 1.0})
    assert waits == ({} if wait is None else {"a": wait})
    assert read({"a": cost}).expensive == (cost >= 0.002)


@folded(("cheap", "dear", "wait"), [
    (0.001, 0.03, 8.0),  # 0.5 % less 0.1 % for the cheap one leave the least, 0.4 %
    (0.0005, 0.03, 7.0),  # 0.45 %
    (0.0015, 0.03, 8.0), (0.0019, 0.03, 8.0),  # never under 0.4 %
    (0.002, 0.03, 10.0),  # both are dear: the smaller one is served in full
    (0.005, 0.03, 12.0),  # both are dear: a quarter of a percent for each
    (0.0, 0.03, 6.0),
])  # fmt: skip
def test_cheap_tables_are_served_before(cheap: float, dear: float, wait: float) -> None:
    waits = read({"cheap": cheap, "dear": dear}).stretched({"cheap": 1.0, "dear": 1.0})
    assert waits["dear"] == wait


@folded(("rest", "wait"), [
    (0.0, 6.0), (0.005, 6.0), (0.0055, 7.0), (0.006, 8.0), (0.007, 8.0), (1.0, 8.0),
])  # fmt: skip
def test_what_facts_take_is_not_for_tables(rest: float, wait: float) -> None:
    assert read({"a": 0.03}, rest=rest).stretched({"a": 1.0}) == {"a": wait}


@folded(("every", "wait"), [
    (0.0, 6.0), (0.05, 6.0), (0.1, 6.0), (2.0, 6.0), (3.9, 6.0), (4.1, None), (60.0, None),
])  # fmt: skip
def test_a_wait_is_longer_than_the_interval(every: float, wait: float | None) -> None:
    waits = read({"a": 0.03}).stretched({"a": every})
    assert waits == ({} if wait is None else {"a": wait})


def test_a_table_that_was_not_read_yet_costs_nothing() -> None:
    assert read({}).stretched({"a": 1.0}) == {}
    assert not read({}).expensive


def test_of_the_last_two_readings_the_cheaper_counts() -> None:
    budget = Budget()
    for cost in (9.0, 0.03, 9.0):
        budget.read({"a": cost})
    assert budget.stretched({"a": 1.0}) == {"a": 6.0}
    budget.read({"a": 0.004})
    assert budget.stretched({"a": 1.0}) == {}


def test_what_facts_take_is_a_mean_of_the_last_frames() -> None:
    budget = Budget()
    budget.spent(0.04, 1.0)
    assert budget.rest == pytest.approx(0.01)
    budget.spent(0.04, 0.1)  # a frame soon after a key counts as one of half a second
    assert budget.rest == pytest.approx(0.01 + (0.08 - 0.01) / 4)
    budget.spent(0.0, 2.0)
    assert budget.rest == pytest.approx((0.01 + 0.07 / 4) * 0.75)


def looked(*costs: float, percent: float = 1.0) -> Budget:
    budget, total = Budget(percent), 7.0
    budget.looked(total)
    for cost in costs:
        total += cost
        budget.looked(total)
    return budget


@folded(("cost", "pace"), [
    (0.0, 1.0), (0.021, 1.0), (0.0221, 1.5), (0.03, 1.5), (0.0301, 2.0), (0.081, 2.0), (9.0, 2.0),
])  # fmt: skip
def test_the_pace_of_looks(cost: float, pace: float) -> None:
    assert looked(cost, cost, cost).pace(1.0) == pace
    assert looked(9.0, cost, cost).pace(1.0) == pace  # the cheapest of three
    assert looked(cost, 9.0, 9.0).pace(1.0) == pace
    assert looked(0.0, cost, cost, cost).pace(1.0) == pace  # only of three
    assert looked(cost, cost).pace(1.0) == 1.0


def test_slower_looks_return_to_the_interval_only_when_they_are_clearly_cheaper() -> None:
    budget = looked(0.021, 0.021, 0.021)
    paces = []
    for cost in (0.023, 0.021, 0.019, 0.017, 0.021):
        budget.looks.extend([cost] * 3)
        paces.append(budget.pace(1.0))
    assert paces == [1.5, 1.5, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("reading", "pace"),
    [(0.0, 1.0), (0.0019, 1.0), (0.05, 1.5), (0.2, 2.0)],  # 0.05 s every 13 s, 0.2 s every 20 s
)
def test_what_expensive_tables_take_is_not_left_for_looks(reading: float, pace: float) -> None:
    budget = looked(0.02, 0.02, 0.02)
    for _ in range(2):
        budget.read({"sockets_tcp": reading})
    budget.stretched({"sockets_tcp": 1.0})
    assert budget.pace(1.0) == pace
    for _ in range(2):
        budget.read({"sockets_tcp": 0.001})  # most connections have ended
    assert budget.pace(1.0) == 1.0


@pytest.mark.parametrize(("percent", "interval"), [(0.0, 1.0), (-1.0, 1.0), (1.0, 0.0)])
def test_without_a_budget_or_an_interval_looks_keep_their_pace(
    percent: float, interval: float
) -> None:
    assert looked(9.0, 9.0, 9.0, percent=percent).pace(interval) == interval


@given(st.dictionaries(st.sampled_from("abcde"), COSTS), st.floats(0.1, 50.0), st.floats(0.1, 30.0))
def test_tables_that_wait_fit_the_budget(
    costs: dict[str, float], percent: float, every: float
) -> None:
    waits = read(costs, percent).stretched(dict.fromkeys(costs, every))
    assert all(every < wait <= max(LONGEST, every) for wait in waits.values())
    dear = {name: cost for name, cost in costs.items() if cost >= 0.005}
    assert waits.keys() <= dear.keys()
    if waits.keys() == dear.keys() and LONGEST not in waits.values():
        assert sum(dear[name] / wait for name, wait in waits.items()) <= percent / 200 * 1.001


@given(st.lists(COSTS, min_size=3, max_size=6), st.floats(0.1, 20.0))
def test_looks_are_never_closer_than_asked_nor_slower_than_the_slowest(
    costs: list[float], interval: float
) -> None:
    assert interval <= looked(*costs).pace(interval) <= max(interval, SLOWEST)


def test_facts_of_a_frame_that_read_an_expensive_table_are_part_of_its_cost() -> None:
    budget = Budget()
    for _ in range(2):
        budget.read({"a": 0.04, "b": 0.01})
        budget.spent(0.002, 1.0, {"cpu": 0.001})
        budget.spent(0.032, 1.0, {"a": 0.04, "b": 0.01})
    assert budget.costs["a"] == pytest.approx((0.07, 0.07))  # 0.04 and 30 ms of facts
    assert budget.costs["b"] == (0.01, 0.01)
    assert budget.usual == pytest.approx(0.002)
    assert budget.rest < 0.002 * 1.01


def test_what_facts_usually_take_is_not_known_before_a_frame_without_expensive_tables() -> None:
    budget = Budget()
    budget.read({"a": 0.04})
    budget.spent(0.032, 1.0, {"a": 0.04})
    assert budget.costs["a"] == (0.0, 0.04)
    assert budget.rest == pytest.approx(0.008)


# The budget: which tables are read less often, by what their readings cost.


PACE = {"sockets_tcp": 1.0, "processes": 2.0, "cpu": 1.0}


def learned(percent: float = 1.0, **costs: float) -> Budget:
    budget = Budget(percent)
    for _ in range(2):
        budget.read(costs)
    return budget


def test_a_small_host_reads_everything_at_its_pace() -> None:
    budget = learned(sockets_tcp=0.001, processes=0.0019, cpu=0.0002)
    assert not budget.expensive
    assert budget.stretched(PACE) == {}


def test_a_dear_table_waits_until_it_fits() -> None:
    budget = learned(sockets_tcp=0.03, processes=0.0019, cpu=0.0002)
    assert budget.expensive
    assert budget.stretched(PACE) == {"sockets_tcp": 8.0}  # 0.4 % of a core is for it


def test_a_larger_budget_stretches_less() -> None:
    assert learned(10.0, sockets_tcp=0.03).stretched(PACE) == {}


def test_dear_tables_share_what_is_left_and_a_small_one_is_served_in_full() -> None:
    waits = learned(sockets_tcp=0.03, processes=0.03).stretched(PACE)
    assert waits == {"sockets_tcp": 12.0, "processes": 12.0}
    waits = learned(sockets_tcp=0.03, processes=0.006).stretched({**PACE, "processes": 10.0})
    assert waits == {"sockets_tcp": 7.0}


def test_no_table_waits_longer_than_twenty_seconds_but_for_its_own_interval() -> None:
    assert learned(sockets_tcp=9.0).stretched(PACE) == {"sockets_tcp": LONGEST}
    assert learned(sysctls=9.0).stretched({"sysctls": 60.0}) == {}


def test_one_dear_reading_changes_nothing() -> None:
    budget = Budget()
    budget.read({"sockets_tcp": 9.0})  # the first one fills caches
    assert budget.stretched(PACE) == {}
    budget.read({"sockets_tcp": 0.001})
    budget.read({"sockets_tcp": 9.0})
    assert budget.stretched(PACE) == {}


def test_facts_that_take_much_leave_the_tables_less_but_never_nothing() -> None:
    free = learned(4.0, sockets_tcp=0.1)
    taken = learned(4.0, sockets_tcp=0.1)
    for _ in range(50):
        taken.spent(0.5, 1.0)
    assert free.stretched(PACE) == {"sockets_tcp": 5.0}
    assert taken.stretched(PACE) == {"sockets_tcp": 7.0}


@pytest.mark.parametrize("text", ["budget = 0", "budget = 101", 'budget = "much"', "budget = true"])
def test_an_impossible_budget_is_ignored_with_a_reason(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nettop import config

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "nettop").mkdir()
    (tmp_path / "nettop" / "config.toml").write_text(f"{text}\n")
    settings = config.load()
    assert settings.get("budget", None) is None
    assert "budget" in settings.faults[0]


def paced(*seconds: float, percent: float = 1.0, interval: float = 1.0) -> float:
    budget = Budget(percent)
    total = 0.0
    budget.looked(total)
    for one in seconds:
        total += one
        budget.looked(total)
    return budget.pace(interval)


def test_looks_that_take_much_are_farther_apart() -> None:
    assert paced(0.006, 0.006, 0.006) == 1.0
    assert paced(0.025, 0.025, 0.025) == 1.5  # 2 % of a core is for whole looks
    assert paced(0.025, 0.025, 0.025, percent=10.0) == 1.0
    assert paced(0.9, 0.9, 0.9) == SLOWEST == 2.0  # whatever the budget
    assert paced(0.9, 0.9, 0.9, interval=10.0) == 10.0


def test_one_dear_look_changes_nothing() -> None:
    assert paced(0.9, 0.9) == 1.0  # the first ones fill caches
    assert paced(0.006, 0.9, 0.9) == 1.0
