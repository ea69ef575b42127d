"""The criterion of experiments: how often it errs and how often it finds, counted."""

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import verdict_errors
from hypothesis import example, given
from hypothesis import strategies as st

from nettop.trials import statistics


def experiment(draw: random.Random, effect: float, noise: float, most: int) -> str:
    """One experiment as `experiment.prove` runs it: pairs until it is settled."""
    a: list[float] = []
    b: list[float] = []
    while len(a) < most and not statistics.settled(statistics.gains(a, b) if a else []):
        for _ in range(statistics.PAIRS if not a else 2):
            a.append(1e10 * (1 + draw.gauss(0, noise)))
            b.append(1e10 * (1 + effect) * (1 + draw.gauss(0, noise)))
    return statistics.compare(a, b).verdict


def verdicts(effect: float, noise: float, most: int = statistics.MOST) -> Counter[str]:
    draw = random.Random(20090216)
    return Counter(experiment(draw, effect, noise, most) for _ in range(1000))


@pytest.mark.parametrize("noise", [0.005, 0.02, 0.05, 0.1, 0.5])
@pytest.mark.parametrize("most", [5, 21])
def test_no_effect_is_declared_one_in_at_most_5_percent(noise: float, most: int) -> None:
    found = verdicts(0.0, noise, most)
    assert found["better"] + found["worse"] <= 50


def test_a_5_percent_effect_in_2_percent_noise_is_found_in_at_least_95_percent() -> None:
    assert verdicts(0.05, 0.02)["better"] >= 950
    assert verdicts(-0.05, 0.02)["worse"] >= 950


def test_no_difference_in_quiet_runs_is_said_and_not_left_open() -> None:
    assert verdicts(0.0, 0.01)["no difference"] == 1000


def test_wild_runs_are_unstable() -> None:
    assert verdicts(0.0, 0.5)["unstable"] >= 900


def test_a_small_sure_gain_is_no_difference() -> None:
    a = [100.0, 101, 99, 100, 102]
    found = statistics.compare(a, [value + 1 for value in a])
    assert found.verdict == "no difference"
    assert "less than 3 %" in found.because


def test_what_the_interval_covers_is_counted() -> None:
    """The stated coverage is the share of samples whose interval holds the true median."""
    draw = random.Random(1)
    for pairs in (5, 9, 15, 21):
        held = 0
        for _ in range(4000):
            low, high, covers = statistics.interval([draw.gauss(0, 1) for _ in range(pairs)])
            held += low <= 0 <= high
        assert held / 4000 == pytest.approx(covers, abs=0.015)


def test_a_gain_paid_for_with_losses_is_worse() -> None:
    found = statistics.compare([100.0] * 5, [120.0] * 5)
    lossy = statistics.Guard("drops", 0.0, 0.02)
    assert statistics.guarded(found, [lossy]).verdict == "worse"
    assert "drops" in statistics.guarded(found, [lossy]).because
    assert statistics.guarded(found, [statistics.Guard("drops", 0.0, 0.0005)]).verdict == "better"
    assert statistics.guarded(found, [statistics.Guard("drops", 0.02, 0.03)]).verdict == "better"


def test_a_large_gain_outweighs_few_losses_and_not_many() -> None:
    found = statistics.compare([100.0] * 5, [1700.0] * 5)
    few, many = (statistics.Guard("retransmits", 0.0, rate) for rate in (0.006, 0.02))
    assert statistics.guarded(found, [few]).verdict == "better"
    assert statistics.guarded(found, [many]).verdict == "worse"


numbers = st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=40)


@given(numbers, numbers)
@example(a=[1540554.0, -1540554.0, 8.569613305820344e-303], b=[0.0, 0.0])
def test_every_sample_has_a_verdict_and_an_ordered_interval(a: list[float], b: list[float]) -> None:
    found = statistics.compare(a, b)
    low, high = found.interval
    assert low <= found.median_difference <= high
    assert 0 <= found.confidence <= 1
    assert found.because


def test_quantiles_are_nearest_ranks() -> None:
    ordered = list(range(1, 101))
    assert [statistics.quantile(ordered, q) for q in (0, 0.5, 0.99, 0.999, 1)] == [
        1,
        50,
        99,
        100,
        100,
    ]


@pytest.mark.parametrize(
    ("before", "after", "ok"),
    [(0.0, 0.001, True), (0.0, 0.0011, False), (0.01, 0.02, True), (0.01, 0.0201, False)],
)
def test_a_loss_may_double_or_stay_at_one_in_a_thousand(
    before: float, after: float, ok: bool
) -> None:
    assert statistics.Guard("retransmits", before, after).ok is ok


# The figures of docs/records/statistics.md: dependent seconds, and the program for them.


RECORDED = Path(verdict_errors.__file__).with_name("recorded_seconds.txt")


def correlated(share: float, length: int) -> list[float]:
    draw, last, values = random.Random(1), 0.0, []
    for _ in range(length):
        last = share * last + draw.gauss(0, 1)
        values.append(last)
    return values


def test_dependent_seconds_count_for_fewer_independent_ones() -> None:
    free, bound = correlated(0.0, 2000), correlated(0.9, 2000)
    assert verdict_errors.autocorrelation(free, 1) == pytest.approx(0.0, abs=0.05)
    assert verdict_errors.autocorrelation(bound, 1) == pytest.approx(0.9, abs=0.05)
    assert verdict_errors.independent(free) > 1500
    # (1 - 0.9) / (1 + 0.9) of them, by the theory of an AR(1) process
    assert verdict_errors.independent(bound) == pytest.approx(2000 * 0.1 / 1.9, rel=0.5)


def test_equal_seconds_have_no_autocorrelation() -> None:
    assert verdict_errors.autocorrelation([1.0] * 10, 1) == 0.0


def test_the_runs_of_a_block_are_consecutive_seconds() -> None:
    values = [float(second) for second in range(600)]
    runs = verdict_errors.of_blocks(values, 10, random.Random(2))
    found = [next(runs) for _ in range(42)]
    assert [b - a for a, b in pairwise(found)] == [10.0] * 41
    assert 4.5 <= found[0] <= 600 - 420 + 4.5


def test_too_few_seconds_are_refused() -> None:
    with pytest.raises(SystemExit, match="419 seconds: an experiment takes up to 420"):
        next(verdict_errors.of_blocks([1.0] * 419, 10, random.Random(2)))


def test_a_state_against_itself_on_dependent_seconds_errs_in_at_most_5_percent() -> None:
    seconds = [1e9 * (1 + 0.05 * one) for one in correlated(0.7, 7200)]
    draw = random.Random(4)
    wrong = 0
    for _ in range(500):
        runs = verdict_errors.of_blocks(seconds, 10, draw)
        found, _pairs = verdict_errors.verdict(lambda: next(runs), 0.0)  # noqa: B023
        wrong += found in ("better", "worse")
    assert wrong <= 25


@pytest.mark.parametrize("run", [5, 10])
def test_a_state_against_itself_on_recorded_seconds_errs_in_at_most_5_percent(run: int) -> None:
    """An hour of real traffic beside other work, whose rate varies by half of its mean."""
    seconds = [float(line) for line in RECORDED.read_text().split()]
    assert len(seconds) >= 3600
    draw = random.Random(5)
    found = [verdict_errors.verdict_of(seconds, run, 0.0, draw) for _ in range(400)]
    assert sum(one in ("better", "worse") for one in found) <= 20
