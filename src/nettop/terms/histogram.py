"""A distribution as a plot: bins of equal width over the range of its values, in braille dots."""

from __future__ import annotations

from collections.abc import Sequence

from . import braille


def plot(pairs: Sequence[tuple[float, int]], width: int, rows: int = 1) -> tuple[str, ...]:
    """The lines of a plot of (value, count) pairs, at most `width` cells; () without a count.

    The tallest bin fills all rows; every bin that holds a value has at least one dot.
    """
    known = sorted((value, count) for value, count in pairs if count > 0)
    if not known or width < 1:
        return ()
    least, most = known[0][0], known[-1][0]
    bins = [0.0] * (2 * width)
    for value, count in known:
        share = (value - least) / (most - least) if most > least else 0.0
        bins[min(len(bins) - 1, int(share * len(bins)))] += count
    return braille.area(bins, rows, max(bins))
