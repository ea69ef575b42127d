"""What experiments find and what they miss, on generated samples with a seed. Counts."""

import random
from collections.abc import Iterator

import pytest
from folded import folded

from nettop.trials import experiment, statistics
from nettop.trials.experiment import Sample
from nettop.trials.statistics import ExperimentPlan

TESTS = 1000


def noise(kind: str, share: float, draw: random.Random) -> Iterator[float]:
    """Relative errors of one run after the other."""
    last = 0.0
    while True:
        if kind == "independent":
            yield draw.gauss(0, share)
        elif kind == "autocorrelated":  # AR(1), 0.8 from run to run
            last = 0.8 * last + draw.gauss(0, share * 0.6)
            yield last
        elif kind == "outliers":  # one run of ten is slow
            yield draw.gauss(0, share) - 10 * share * (draw.random() < 0.1)
        else:  # skewed
            yield share * (1.0 - draw.expovariate(1.0))


def paired(kind: str, share: float, draw: random.Random, effect: float, pairs: int) -> list[float]:
    """The gains of interleaved pairs of runs."""
    errors = noise(kind, share, draw)
    a, b = [], []
    for _ in range(pairs):
        a.append(1e9 * (1 + next(errors)))
        b.append(1e9 * (1 + effect) * (1 + next(errors)))
    return statistics.gains(a, b)


@folded("kind", ["independent", "autocorrelated", "outliers", "skewed"])
@folded("share", [0.01, 0.05, 0.3])
def test_a_value_as_good_as_the_current_one_is_stopped_in_at_most_5_percent(
    kind: str, share: float
) -> None:
    draw = random.Random(1887)
    stopped = sum(
        statistics.hopeless(paired(kind, share, draw, 0.0, statistics.MOST)) for _ in range(TESTS)
    )
    assert stopped <= 0.05 * TESTS


def test_a_hopeless_value_is_stopped_and_a_slightly_worse_one_is_not() -> None:
    draw = random.Random(3)
    bad = [statistics.hopeless(paired("independent", 0.05, draw, -0.3, 5)) for _ in range(TESTS)]
    mild = [statistics.hopeless(paired("independent", 0.02, draw, -0.02, 9)) for _ in range(TESTS)]
    assert sum(bad) >= 0.99 * TESTS
    assert sum(mild) <= 0.05 * TESTS


def test_the_bound_of_false_stops_holds_for_any_noise() -> None:
    """All sequences of nine signs, each as likely as any other: those that are stopped."""
    stopped = sum(
        statistics.hopeless([-1.0 if code >> at & 1 else 1.0 for at in range(9)])
        for code in range(512)
    )
    assert stopped / 512 == pytest.approx(0.041, abs=0.001)


@folded("kind", ["independent", "autocorrelated", "outliers", "skewed"])
@folded("share", [0.01, 0.03, 0.1])
def test_a_state_against_itself_is_better_or_worse_in_at_most_5_percent(
    kind: str, share: float
) -> None:
    draw = random.Random(20090216)
    wrong = 0
    for _ in range(TESTS):
        errors = noise(kind, share, draw)
        a: list[float] = []
        b: list[float] = []
        while len(a) < statistics.MOST and not (a and statistics.settled(statistics.gains(a, b))):
            for _ in range(2 if a else statistics.PAIRS):
                a.append(1e9 * (1 + next(errors)))
                b.append(1e9 * (1 + next(errors)))
        wrong += statistics.compare(a, b).verdict in ("better", "worse")
    assert wrong <= 0.05 * TESTS


@pytest.mark.parametrize(("share", "pairs"), [(0.02, 5), (0.03, 11), (0.05, 21)])
def test_the_power_is_what_generated_samples_show(share: float, pairs: int) -> None:
    draw = random.Random(7)
    seen = 0
    for _ in range(TESTS):
        low, _, _ = statistics.interval(
            gains := paired("independent", share, draw, statistics.EFFECT, pairs)
        )
        seen += low > 0 and sorted(gains)[pairs // 2] > statistics.MATTERS
    assert seen / TESTS == pytest.approx(statistics.power(share, pairs), abs=0.05)


def test_more_noise_needs_more_pairs() -> None:
    pairs = [statistics.needed(share) for share in (0.005, 0.01, 0.02, 0.03)]
    known = [count for count in pairs if count is not None]
    assert known == sorted(known)
    assert len(known) == 4
    assert known[0] == statistics.PAIRS
    assert statistics.needed(0.5) is None
    assert statistics.power(statistics.tolerated(21), 21) == pytest.approx(
        statistics.POWER, abs=0.001
    )
    assert statistics.tolerated(5) < statistics.tolerated(21)


def test_the_user_is_told_before_the_test_what_it_can_find() -> None:
    assert (
        "21 find a difference of 5 % in 9 of 10 tests if runs vary by up to"
        in statistics.pairs_sentence()
    )
    assert "too few" in statistics.pairs_sentence(1, 1) or "1 find" in statistics.pairs_sentence(
        1, 1
    )


class Lever:
    """Counts the runs of each state."""

    pause = 0.0

    def __init__(self) -> None:
        self.runs: dict[int, int] = {}

    def put(self, state: int) -> None:
        self.runs[state] = self.runs.get(state, 0) + 1

    def restore(self) -> None:
        pass


def test_a_sweep_leaves_a_hopeless_value_out_and_goes_on_with_the_others() -> None:
    draw, lever = random.Random(11), Lever()
    effects, errors = [0.0, -0.5, 0.06], [0.05, 0.05, 0.05]
    rows = experiment.sweep(
        lever, ["now", "bad", "fair"],
        lambda s: Sample(1e9 * (1 + effects[s]) * (1 + draw.gauss(0, errors[s]))),
        experiment.METRICS["rate"], ExperimentPlan(),
    )  # fmt: skip
    assert lever.runs[1] == 5
    assert lever.runs[2] > 5
    assert rows[1].comparison is not None
    assert rows[1].comparison.because.endswith("; stopped after 5 pairs")
    assert "stopped" not in (rows[2].comparison.because if rows[2].comparison else "stopped")
    assert experiment.best(rows).name != "bad"


def test_the_user_is_told_how_long_it_takes() -> None:
    assert statistics.lasting(115.0, 483.0) == "2 to 8 min"
    assert statistics.lasting(3.0, 6.2) == "3 to 6 s"
    assert ExperimentPlan(run_seconds=11.5, shorter=6.0).minimum(2, 0.0) == 8 * 11.5 - 6 * 6.0
    assert ExperimentPlan(run_seconds=11.5).minimum(3, 1.0, sweeps=True) == 17 * 11.5 + 15
