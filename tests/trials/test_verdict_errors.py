"""The figures of docs/records/statistics.md: dependent seconds, and the program for them."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest
import verdict_errors

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
