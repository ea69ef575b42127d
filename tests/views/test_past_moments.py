"""Which moments of the history are given: all, or those of the last seconds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nettop.views import past

FINE = tuple(replace(past.NONE, at=float(at)) for at in range(100, 105))
COARSE = tuple(replace(past.NONE, at=float(at)) for at in range(70, 100, 10))
WHOLE = past.History(FINE, COARSE)


@pytest.mark.parametrize(
    ("seconds", "first", "count"),
    [(None, 70, 8), (0.0, 104, 1), (3.0, 101, 4), (4.0, 100, 5), (24.0, 80, 7), (1e9, 70, 8)],
)
def test_the_moments_of_the_last_seconds(seconds: float | None, first: int, count: int) -> None:
    found = WHOLE.moments(seconds)
    assert (found[0].at, len(found)) == (first, count)
    assert found == (*COARSE, *FINE)[-count:]


def test_without_moments_there_are_none_for_any_time() -> None:
    empty = past.History((), ())
    assert empty.moments() == empty.moments(5.0) == ()
