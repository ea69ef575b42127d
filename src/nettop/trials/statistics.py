"""The verdict of an experiment: interleaved pairs, median difference, confidence interval.

The criterion
    A pair's difference is (b - a) / median(A), signed so that a gain is positive.
    The interval is the percentile bootstrap of the median at 99 %, computed exactly: the chance
    that the median of a resample is at most the k-th smallest difference is a binomial tail, so no
    random number is drawn and the same samples give the same verdict. Its ends are observed
    differences; `confidence` is the true coverage of the interval (order statistics).
    *better* (*worse*): the interval excludes 0 and the median gain (loss) exceeds 3 %.
    *unstable*: the interval includes 0 and reaches further than 10 % to either side; or it excludes
    0, but there are at most five pairs and it is not settled (below).
    *no difference*: all other cases.
    Pairs are added, two at a time, until the verdict is settled: the interval lies within ±3 %, or
    its nearer end is beyond 3 % and beyond half the median; at most 21 pairs by default.
    A clear effect ends it after three pairs: it is settled, and all runs with the change lie on one
    side of all runs without it, those before the first pair included, farther away than runs of one
    state lie from each other (`apart`). If the change does nothing, the order of the runs is
    chance: of three runs and five, one order in 56 has the three at the top (the exact rank sum
    test, Mann & Whitney 1947). That is less than the 1 in 32 of five pairs that all gain, and the
    distance makes it rarer still, as an early look must be so that the later ones keep their level
    (Haybittle 1971; Peto et al. 1976). Simulated without an effect, `better` has a share of at most
    2.6 % with it and 2.6 % without it, of normal, lognormal and two-valued noise.
A gain with more drops or retransmits is not better: see `Guard`. The rate of the receiver already
includes the cost of retransmits. Therefore, with a gain of 50 % or more, losses up to 1 % (the
threshold of wide-area paths) are reported but do not change the verdict.

The power is how often an experiment finds a difference of a given size, and the pairs it needs. The
verdict depends only on how many pairs gain nothing, up to 3 %, and more, so that its chance is a
sum of multinomial terms, without a simulation. This assumes independent pairs, runs with a normal
distribution, and a number of pairs that is fixed before the test; an experiment that may end early
needs fewer pairs for a clear effect.

How long an experiment lasts is the number of its pairs, and the seconds of a run. A run of which
the first seconds carry what the others carry is as good when it is short: see `settles`. Only the
length of runs depends on this, and both states have the same, so that it moves no verdict: it costs
the power to find a small effect, for which there are more pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import ceil, comb, erf, sqrt
from statistics import mean, median, variance
from typing import TYPE_CHECKING, Final, Literal

from ..terms.dataclass import dataclass
from .result import Interval, Options

if TYPE_CHECKING:
    from .result import Standing

Verdict = Literal["better", "worse", "no difference", "unstable"]

MATTERS: Final = 0.03  # a smaller gain does not justify a change
WILD: Final = 0.10  # a wider interval is inconclusive
BOOTSTRAP: Final = 0.99
PAIRS: Final = 5
EARLY: Final = 3  # pairs after which a clear effect ends an experiment
MOST: Final = 21
NOTHING: Final = 1e-12  # of the largest figure: a base below it counts as 0 and gives no percentage
HOPELESS: Final = ((5, 0), (9, 1))
"""Pairs after which a value of a sweep is stopped, and how many may not have lost."""
LARGE: Final = 0.5  # a gain that outweighs losses
LARGE_LOSS: Final = 0.01  # up to this


@dataclass(frozen=True, slots=True)
class Comparison:
    """The verdict on pairs of runs: relative gains, signed so that positive is better."""

    pairs: int
    median_difference: float
    interval: tuple[float, float]
    confidence: float
    verdict: Verdict
    because: str


@cache
def ranks(count: int) -> tuple[int, int, float]:
    """First and last order statistic (from 0) of the bootstrap interval, and its coverage.

    With an even count the median is the mean of two middle values; the interval of the lower one
    mirrored is used, which is the wider choice.
    """
    tail = (1 - BOOTSTRAP) / 2
    need = count // 2 + 1 if count % 2 else count // 2
    low = 0
    for rank in range(1, count + 1):  # P(median of a resample <= rank-th smallest)
        share = rank / count
        chance = sum(
            comb(count, hits) * share**hits * (1 - share) ** (count - hits)
            for hits in range(need, count + 1)
        )
        if chance >= tail:
            low = rank - 1
            break
    outside = sum(comb(count, hits) for hits in range(low + 1)) / 2**count
    return low, count - 1 - low, max(0.0, 1 - 2 * outside)


def interval(differences: Sequence[float]) -> tuple[float, float, float]:
    """The bootstrap interval of the median, and its true coverage; ValueError if empty."""
    if not differences:
        raise ValueError("no differences")
    ordered = sorted(differences)
    low, high, covers = ranks(len(ordered))
    if low > high:
        low, high = high, low
    return ordered[low], ordered[high], covers


def gains(a: Sequence[float], b: Sequence[float], *, higher: bool = True) -> list[float]:
    """The relative gain of each pair; `higher` says whether a larger figure is better."""
    most = max((abs(value) for value in (*a, *b)), default=0.0) or 1.0
    base = abs(median(a)) if a else 0.0
    if base <= NOTHING * most:
        base = most
    sign = 1.0 if higher else -1.0
    return [sign * (y - x) / base for x, y in zip(a, b, strict=False)]


def compared(standing: Standing) -> Standing:
    """The same with the median gain of its complete pairs; as it is before both were measured."""
    a, b = standing.before[: len(standing.after)], standing.after
    known = gains(a, b, higher=standing.higher)
    if not known:
        return standing
    return replace(standing, middle=median(known), interval=interval(known)[:2])


def settled(differences: Sequence[float], least: int = PAIRS, matters: float = MATTERS) -> bool:
    """Whether more pairs would not change the verdict."""
    if len(differences) < least:
        return False
    low, high, _ = interval(differences)
    if -matters <= low and high <= matters:
        return True
    middle = median(differences)
    near = low if middle > 0 else -high
    return near > matters and near > abs(middle) / 2


def apart(
    a: Sequence[float], b: Sequence[float], before: Sequence[float] = (), *, higher: bool = True
) -> bool:
    """Whether the effect is clear: see the criterion. `before`: runs without the change as well."""
    base = [*before, *a]
    gap = max(min(b) - max(base), min(base) - max(b))
    spread = max(max(runs) - min(runs) for runs in (base, b))
    found = gains(a, b, higher=higher)
    return gap > spread and settled(found, EARLY) and abs(median(found)) > MATTERS


def beyond(pairs: int, probes: int) -> str:
    """How sure an early end is, in words, by the numbers of pairs and of runs before them."""
    before = f" ({pairs} and {probes} probes before)" if probes else ""
    return (
        f"each of {pairs} runs is beyond all {pairs + probes} without it{before}: 1 in "
        f"{comb(2 * pairs + probes, pairs)} by chance"
    )


def hopeless(differences: Sequence[float], matters: float = MATTERS) -> bool:
    """Whether a value of a sweep needs no more pairs: nearly all lose more than `matters`.

    A value that is as good as the current one loses in at most half of its pairs. The chance that
    it loses all of the first five is then 1/32, and eight of the first nine 10/512; together 4.1 %,
    whatever the distribution of the noise (sign test).
    """
    return any(
        len(differences) >= pairs and sum(one >= -matters for one in differences[:pairs]) <= allowed
        for pairs, allowed in HOPELESS
    )


def compare(
    a: Sequence[float], b: Sequence[float], *, higher: bool = True, matters: float = MATTERS
) -> Comparison:
    """The verdict on these pairs by the criterion above."""
    differences = gains(a, b, higher=higher)
    if not differences:
        return Comparison(0, 0.0, (0.0, 0.0), 0.0, "unstable", "no pair of runs is complete")
    low, high, covers = interval(differences)
    middle = median(differences)
    verdict, because = _verdict(middle, low, high, matters, len(differences))
    if verdict in ("better", "worse") and covers < 0.95 and not settled(differences, 3, matters):
        verdict, because = "unstable", f"{because}: too few pairs for so wide an interval"
    return Comparison(len(differences), middle, (low, high), covers, verdict, because)


def _verdict(
    middle: float, low: float, high: float, matters: float, pairs: int
) -> tuple[Verdict, str]:
    span = f"{100 * low:+.1f} to {100 * high:+.1f} %"
    if pairs < 3:
        return "unstable", f"only {pairs} pairs of runs: too few for a verdict ({span})"
    if low > 0 or high < 0:
        if abs(middle) > matters:
            return ("better" if middle > 0 else "worse"), f"{100 * middle:+.1f} % ({span})"
        return "no difference", f"{100 * middle:+.1f} %: less than {100 * matters:g} % ({span})"
    if low < -WILD or high > WILD:
        return "unstable", f"the interval {span} is too wide for a verdict"
    return "no difference", f"the interval {span} includes 0"


@dataclass(frozen=True, slots=True)
class Guard:
    """A loss rate that must not increase: losses per packet, medians of A and B."""

    name: str
    a: float
    b: float
    alarm: float = 0.001  # 0.1 %: retransmits of a LAN that need attention

    @property
    def ok(self) -> bool:
        """Whether B loses at most twice as much as A, or less than `alarm`."""
        return self.b <= max(self.alarm, 2 * self.a)


def guarded(comparison: Comparison, guards: Sequence[Guard]) -> Comparison:
    """The comparison, `worse` if it is a gain with more losses (see the module)."""
    broken = [guard for guard in guards if not guard.ok]
    if comparison.verdict != "better" or not broken:
        return comparison
    large = comparison.median_difference >= LARGE
    if large and all(guard.b <= LARGE_LOSS for guard in broken):
        return comparison
    losses = ", ".join(f"{g.name} {100 * g.a:.3f} → {100 * g.b:.3f} %" for g in broken)
    because = f"faster by {100 * comparison.median_difference:.1f} %, but {losses}"
    return replace(comparison, verdict="worse", because=because)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of the sorted values lie (nearest rank); ValueError."""
    if not ordered:
        raise ValueError("no values")
    return ordered[min(len(ordered), max(1, ceil(share * len(ordered)))) - 1]


EFFECT: Final = 0.05  # the difference that an experiment should find
POWER: Final = 0.9  # how often it should find it


@cache
def power(noise: float, pairs: int, effect: float = EFFECT) -> float:
    """The chance of the verdict `better` for a true gain of `effect`.

    `noise` is the standard deviation of a run relative to its mean; `pairs` is odd.
    """
    below, over = _share(0.0, effect, noise), 1 - _share(MATTERS, effect, noise)
    between = max(0.0, 1 - below - over)
    allowed, half = ranks(pairs)[0], pairs // 2 + 1
    return sum(
        comb(pairs, losses) * comb(pairs - losses, gains)
        * below**losses * over**gains * between ** (pairs - losses - gains)
        for losses in range(allowed + 1)
        for gains in range(half, pairs - losses + 1)
    )  # fmt: skip


def _share(bound: float, effect: float, noise: float) -> float:
    """The share of pairs whose difference is at most `bound`."""
    if noise <= 0:
        return float(effect <= bound)
    return (1 + erf((bound - effect) / (noise * sqrt(2)) / sqrt(2))) / 2


def needed(noise: float, effect: float = EFFECT, least: int = PAIRS, most: int = 101) -> int | None:
    """The smallest odd number of pairs that finds `effect` in 9 of 10 tests; None above `most`."""
    odd = range(least + 1 - least % 2, most + 1, 2)
    return next((pairs for pairs in odd if power(noise, pairs, effect) >= POWER), None)


def tolerated(pairs: int, effect: float = EFFECT) -> float:
    """The most noise of a run at which so many pairs find `effect` in 9 of 10 tests."""
    odd = max(1, pairs - 1 + pairs % 2)
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if power(middle, odd, effect) >= POWER else (low, middle)
    return low


def lasting(short: float, long: float) -> str:
    """`2 to 9 min`: the time of an experiment that takes so many seconds."""
    if long < 120:
        return f"{short:.0f} to {long:.0f} s"
    return f"{max(1.0, short / 60):.0f} to {long / 60:.0f} min"


def pairs_sentence(least: int = PAIRS, most: int = MOST) -> str:
    """What an experiment of `least` to `most` pairs can find, for the user before it starts."""
    noise = tolerated(most)
    if noise < 0.0005:
        return f"{least} to {most} pairs of runs: too few to find a difference of 5 %"
    return (
        f"{least} to {most} pairs of runs: {most} find a difference of {100 * EFFECT:g} % in 9 of "
        f"10 tests if runs vary by up to {100 * noise:.1f} % (standard deviation)"
    )


QUICK: Final = 4.0  # seconds of a run whose rate is the same from its beginning
USUAL: Final = Options().seconds  # of a run; a length that was chosen stays
SAME: Final = 0.10  # largest relative difference of the first seconds and the others
SURE: Final = 2.0  # standard errors of a difference that noise does not explain


@dataclass(frozen=True, slots=True)
class ExperimentPlan:
    """The length limits of an experiment."""

    least: int = PAIRS  # rounds
    most: int = MOST
    budget: float | None = None  # seconds; None: until settled or `most`
    run_seconds: float = 11.0  # of one run, with its warm-up
    early: int = EARLY  # rounds after which a clear effect is enough; 0: none
    shorter: float = 0.0  # seconds less of a run that settles, after the first of its state

    def minimum(self, states: int, pause: float, *, sweeps: bool = False) -> float:
        """The shortest duration: two baseline probes and the fewest rounds, with its pauses."""
        rounds = self.fewest(sweeps=sweeps)
        runs = 2 + states * rounds
        return runs * self.run_seconds - (runs - states) * self.shorter + states * rounds * pause

    def fewest(self, *, sweeps: bool = False) -> int:
        """The smallest number of rounds; a sweep has no early end."""
        return self.least if sweeps or not self.early else min(self.early, self.least)


def settles(intervals: Sequence[Interval]) -> bool:
    """Whether the first seconds of a run carry as much as the others: the rate need not grow first.

    The means differ by no more than `SAME` of the rate, or than two standard errors of their
    difference, which is the noise of the seconds. False if too few seconds were measured.
    """
    begin = intervals[0].start if intervals else 0.0
    rates = [one.bits_per_second for one in intervals]
    early = sum(one.start - begin < QUICK - 0.5 for one in intervals)
    first, rest = rates[:early], rates[early:]
    if len(first) < 2 or len(rest) < 2 or not sum(first):
        return False
    error = sqrt(variance(first) / len(first) + variance(rest) / len(rest))
    return abs(mean(first) - mean(rest)) <= max(SAME * mean(rates), SURE * error)
