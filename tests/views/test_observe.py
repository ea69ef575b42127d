"""How long a headless command looks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from nettop.views.observer import Observer, watch


@dataclass
class Host:
    """A live source that is slow: its first reading takes `first` seconds, each other `each`."""

    first: float
    each: float
    at: float = 100.0
    live: bool = True
    steps: list[float] = field(default_factory=list)

    @property
    def source(self) -> Host:
        return self

    def now(self) -> float:
        return self.at

    def wait(self, seconds: float) -> bool:
        self.at += max(0.0, seconds)
        return True

    def step(self, wanted: Any) -> float:
        assert wanted == {"cpu"}
        self.at += self.each if self.steps else self.first
        self.steps.append(self.at)
        return self.at


@pytest.mark.parametrize(
    ("first", "each", "steps"),
    [(0.01, 0.01, 5), (0.5, 0.01, 5), (30.0, 0.01, 5), (30.0, 3.0, 2), (30.0, 60.0, 2)],
)
def test_a_slow_first_reading_costs_no_other(first: float, each: float, steps: int) -> None:
    host = Host(first, each)
    assert len(list(watch(cast("Observer", host), 4.0, {"cpu"}))) == steps
    assert host.steps[-1] - host.steps[0] >= 4.0 - 0.5 - each


def test_less_than_four_seconds_are_four_intervals_all_the_same() -> None:
    host = Host(0.2, 0.001)
    assert len(list(watch(cast("Observer", host), 1.0, {"cpu"}))) == len(host.steps) == 5
