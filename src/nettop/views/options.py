"""The options of the screen: what the pane of options changes, and what config.toml can keep."""

from __future__ import annotations

from dataclasses import field
from typing import Final

from ..terms.dataclass import dataclass
from ..terms.units import Units

THEMES: Final = ("dark", "light", "contrast", "colourblind", "ansi", "mono")
INTERVALS: Final = (0.5, 1.0, 2.0, 5.0, 10.0)  # seconds


@dataclass(frozen=True, slots=True)
class Options:
    """The options in effect; `View.columns` has the columns of the tables."""

    theme: str = "dark"
    units: Units = field(default_factory=Units)
    interval: float = 1.0  # seconds between samples
    mouse: bool = True
    bell: bool = False  # the terminal signals a new critical finding
    ascii: bool = False


def next_interval(now: float, by: int) -> float:
    """The interval `by` steps longer than the one nearest to `now` (seconds)."""
    place = min(range(len(INTERVALS)), key=lambda i: abs(INTERVALS[i] - now))
    return INTERVALS[max(0, min(len(INTERVALS) - 1, place + by))]
