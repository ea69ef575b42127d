"""How long the messages of a helper program are waited for, by a clock of the test's own."""

import queue
import random
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from folded import folded

from nettop.trials import end, experiment, statistics
from nettop.trials.experiment import METRICS, Outcome, Sample
from nettop.trials.statistics import ExperimentPlan


class Silent:
    """A queue without a message until `after`; each wait takes its timeout, by the clock."""

    def __init__(self, after: float = 1e9) -> None:
        self.now = 100.0
        self.after = 100.0 + after
        self.waits: list[float] = []

    def get(self, timeout: float) -> dict[str, Any]:
        self.waits.append(round(timeout, 6))
        self.now += timeout
        if self.now < self.after - 1e-9:
            raise queue.Empty
        return {"port": 5001}


def waiting(clock: Silent, monkeypatch: pytest.MonkeyPatch) -> end.End:
    process: Any = SimpleNamespace(stdin=None, stdout=None, stderr=None)
    one = end.End(process, "capture", b"", "here", threading.Event())
    monkeypatch.setattr(end, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(one, "_queue", clock)
    return one


@pytest.mark.parametrize(
    ("seconds", "waits"),
    [(0.0, []), (0.05, [0.05]), (0.25, [0.1, 0.1, 0.05]), (0.95, [0.1] * 9 + [0.05])],
)
def test_a_message_is_waited_for_as_long_as_asked(
    seconds: float, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Silent()
    with pytest.raises(TimeoutError):
        waiting(clock, monkeypatch).receive(seconds)
    assert [wait for wait in clock.waits if wait > 1e-3] == pytest.approx(waits, abs=1e-3)
    assert clock.now == pytest.approx(100.0 + seconds, abs=1e-3)


def test_a_message_in_the_last_moment_is_received(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Silent(after=0.9)
    assert waiting(clock, monkeypatch).receive(0.95) == {"port": 5001}
    assert len(clock.waits) == 9


def test_a_cancelled_wait_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Silent()
    one = waiting(clock, monkeypatch)
    one._cancel.set()
    with pytest.raises(end.Cancelled):
        one.receive(60.0)
    assert not clock.waits


# An experiment ends after three pairs if its effect is clear, and only then.


class Still:
    """A lever that changes nothing."""

    pause = 0.0

    def put(self, state: int) -> None:
        pass

    def restore(self) -> None:
        pass


PLAN = ExperimentPlan()


def compared(figure: Callable[[], float], plan: ExperimentPlan = PLAN) -> Outcome:
    return experiment.compare(Still(), lambda _: Sample(figure()), METRICS["rate"], plan)


def test_a_number_of_pairs_that_was_chosen_has_no_early_end() -> None:
    figures = iter([1.0, 1.0, *[1.0, 1.5] * 5])
    found = compared(lambda: next(figures), ExperimentPlan(early=0))
    assert (len(found.b), "by chance" in found.comparison.because) == (5, False)


APART = {
    "a clear gain": ([1.0, 1.01, 0.99], [1.5, 1.52, 1.49], [1.0, 1.02], True),
    "a clear loss": ([1.0, 1.01, 0.99], [0.5, 0.52, 0.49], [1.0, 1.02], True),
    "a run before the pairs that is as good": ([1.0] * 3, [1.5] * 3, [1.5, 1.0], False),
    "a distance that runs of one state have too": ([1.0, 1.3, 1.1], [1.5, 1.6, 1.55], [1.2], False),
    "a gain that is too small to matter": ([1.0] * 3, [1.02] * 3, [1.0], False),
    "one of the runs is no better": ([1.0] * 3, [1.5, 1.0, 1.5], [1.0], False),
}


@folded(("a", "b", "before", "wanted"), APART.values(), ids=APART)
def test_when_three_pairs_are_enough(
    a: list[float], b: list[float], before: list[float], wanted: bool
) -> None:
    assert statistics.apart(a, b, before) is wanted


def test_the_early_end_adds_no_false_alarm_that_matters() -> None:
    """Without an effect: of two-valued noise, the worst, `better` keeps below 1 in 32."""
    draw = random.Random(7)
    found = []
    for _ in range(300):
        outcome = compared(lambda: draw.choice((1e9, 2e9)) * (1 + draw.gauss(0, 0.02)))
        found.append(outcome.comparison.verdict)
    assert found.count("better") < 300 / 32
