"""How often an experiment finds a difference of a given size: its power, and the pairs it needs.

The verdict depends only on how many pairs gain nothing, up to 3 %, and more (see `statistics`), so
that its chance is a sum of multinomial terms, without a simulation. This assumes independent pairs,
runs with a normal distribution, and a number of pairs that is fixed before the test; an experiment
that may end early needs fewer pairs for a clear effect.
"""

from __future__ import annotations

from functools import cache
from math import comb, erf, sqrt
from typing import Final

from .statistics import MATTERS, MOST, PAIRS, ranks

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


def lasting(run_seconds: float, states: int = 2, least: int = PAIRS, most: int = MOST) -> str:
    """`2 to 9 min`: the time of `least` to `most` rounds with a run of each state."""
    short, long = (rounds * states * run_seconds for rounds in (least, most))
    if long < 120:
        return f"{short:.0f} to {long:.0f} s"
    return f"{max(1.0, short / 60):.0f} to {long / 60:.0f} min"


def sentence(least: int = PAIRS, most: int = MOST) -> str:
    """What an experiment of `least` to `most` pairs can find, for the user before it starts."""
    noise = tolerated(most)
    if noise < 0.0005:
        return f"{least} to {most} pairs of runs: too few to find a difference of 5 %"
    return (
        f"{least} to {most} pairs of runs: {most} find a difference of {100 * EFFECT:g} % in 9 of "
        f"10 tests if runs vary by up to {100 * noise:.1f} % (standard deviation)"
    )
