"""How far the clock of the other host is ahead, from three readings in turn."""

from __future__ import annotations

import pytest

from nettop.facts.pair.ends import clock_ahead
from nettop.frame.rates import Close, Frame


def close(before: float, there: float, after: float) -> Close:
    return Close(*(Frame(0.0, wall, {}) for wall in (before, there, after)))


@pytest.mark.parametrize(
    ("before", "there", "after", "ahead"),
    [
        (100.0, 100.0, 100.5, 0.0),
        (100.0, 100.5, 100.5, 0.0),
        (100.0, 100.2, 100.5, 0.0),
        (100.0, 105.0, 100.5, 4.5),
        (100.0, 95.0, 100.5, -5.0),
    ],
)
def test_only_what_the_time_of_the_reading_does_not_explain_is_a_difference(
    before: float, there: float, after: float, ahead: float
) -> None:
    assert clock_ahead(close(before, there, after)) == pytest.approx(ahead)
