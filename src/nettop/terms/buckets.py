"""Buckets of times, four for each power of two: the middle of one is at most 12.5 % off."""

from collections.abc import Mapping
from typing import Final

FINE: Final = 4  # of each power of two


def span(bucket: int) -> tuple[int, int]:
    """Nanoseconds: where a bucket begins, and its width.

    Its number is `FINE` for each halving of the time, and what is left of it.
    """
    if bucket < 2 * FINE:
        return bucket, 1
    power = bucket // FINE - 1
    return (bucket - FINE * power) << power, 1 << power


def middle(bucket: int) -> float:
    """Seconds: the middle of a bucket."""
    low, width = span(bucket)
    return (low + width / 2) / 1e9


def quantile(counts: Mapping[int, int], share: float) -> float:
    """Seconds that this share of the times does not exceed; of 1.0 the longest. ValueError."""
    if not counts:
        raise ValueError("no time")
    left = share * sum(counts.values())
    for bucket in sorted(counts):
        left -= counts[bucket]
        if left <= 0:
            break
    return middle(bucket)


def above(counts: Mapping[int, int], seconds: float) -> int:
    """How many times lie in buckets that begin there or later."""
    return sum(count for bucket, count in counts.items() if span(bucket)[0] >= seconds * 1e9)
