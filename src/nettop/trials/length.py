"""How long an experiment lasts: the number of its pairs, and the seconds of a run.

A run of which the first seconds carry what the others carry is as good when it is short: see
`settles`. Only the length of runs depends on this, and both states have the same, so that it moves
no verdict: it costs the power to find a small effect, for which there are more pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import mean, variance
from typing import Final

from ..terms.dataclass import dataclass
from . import statistics
from .result import Interval, Options

QUICK: Final = 4.0  # seconds of a run whose rate is the same from its beginning
USUAL: Final = Options().seconds  # of a run; a length that was chosen stays
SAME: Final = 0.10  # largest relative difference of the first seconds and the others
SURE: Final = 2.0  # standard errors of a difference that noise does not explain


@dataclass(frozen=True, slots=True)
class ExperimentPlan:
    """The length limits of an experiment."""

    least: int = statistics.PAIRS  # rounds
    most: int = statistics.MOST
    budget: float | None = None  # seconds; None: until settled or `most`
    run_seconds: float = 11.0  # of one run, with its warm-up
    early: int = statistics.EARLY  # rounds after which a clear effect is enough; 0: none
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
