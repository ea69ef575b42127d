"""How long an experiment lasts: the number of its pairs, and the seconds of a run.

A run of which the first seconds carry what the whole carries is as good when it is short: see
`settles`. Only the length of runs depends on this, and both states have the same, so that it moves
no verdict: it costs the power to find a small effect, for which there are more pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..terms.dataclass import dataclass
from . import statistics
from .result import Interval, Options, mean_rate

QUICK: Final = 4.0  # seconds of a run whose rate is the same from its beginning
USUAL: Final = Options().seconds  # of a run; a length that was chosen stays
SAME: Final = 0.10  # largest relative difference of the first seconds and the whole


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
    """Whether the first seconds of a run carry as much as the whole: it need not grow first.

    A longer run would find the same rate but for its noise. False if seconds were not measured.
    """
    begun = [one for one in intervals if one.start - intervals[0].start < QUICK - 0.5]
    first, whole = mean_rate(begun), mean_rate(intervals)
    return bool(first and whole) and abs((first or 0) - (whole or 0)) <= SAME * (whole or 0)
