"""The rates of the screen go on while a proof runs, however much of the CPU it takes."""

import threading
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hang import HANG
from pane_text import words
from scenes import lossy

from nettop.panes import page
from nettop.sampling.refresh import Budget
from nettop.trials import prove
from nettop.trials.result import Progress
from nettop.tui import engine as module
from nettop.tui import trying
from nettop.tui.engine import Engine
from nettop.views.build import merge
from nettop.views.scene import Scene
from nettop.views.view import Options, View

SECONDS = 30  # of the proof
SLOWEST = 2.0  # seconds between two pictures, whatever the budget
FORM = {"to": "192.0.2.1", "peer": "", "seconds": "5", "streams": "1", "reverse": ""}


class Clock:
    """A clock that only `wait` moves; it moves on once whoever sleeps until then has done so.

    It stands for the event on which the engine rests.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.until: float | None = None  # when the one that sleeps wakes
        self.ended = False
        self.change = threading.Condition()

    def sleep(self, seconds: float) -> None:
        with self.change:
            self.until = end = self.now + seconds
            self.change.notify_all()
            assert self.change.wait_for(lambda: self.now >= end, HANG)
            self.until = None

    def end(self) -> None:
        with self.change:
            self.ended = True
            self.change.notify_all()

    def wait(self, seconds: float) -> bool:
        due = self.now + seconds
        with self.change:
            while True:
                sleeps = self.change.wait_for(
                    lambda: self.ended or (self.until or 0.0) > self.now, HANG
                )
                assert sleeps
                if self.ended or self.until is None or self.until > due:
                    self.now = due
                    return False
                self.now = self.until
                self.change.notify_all()

    def clear(self) -> None:
        """Nothing is set."""

    set = clear


@pytest.mark.parametrize("budget", [0.5, 5.0])
def test_the_rates_go_on_while_a_proof_runs(monkeypatch: pytest.MonkeyPatch, budget: float) -> None:
    clock = Clock()
    times = SimpleNamespace(
        monotonic=lambda: clock.now, time=lambda: clock.now,
        process_time=lambda: 2 * clock.now,  # the proof takes two cores all the time
    )  # fmt: skip
    monkeypatch.setattr(module, "time", times)
    scene, lock = Scene(), threading.Lock()
    drawn: list[tuple[float, str, str]] = []  # while the proof runs: when, the rate, the screen

    def post(change: Callable[[Scene], Scene]) -> None:
        nonlocal scene
        with lock:
            scene = change(scene)

    def sampled(_observer: Any) -> None:
        second = int(clock.now)
        post(lambda old: merge(old, lossy(second)))
        if scene.progress is not None:
            told = words(page.compose(scene, View(pane="nic"), 80, 24))
            drawn.append((clock.now, scene.units.rate(rate(second)), told))
        one.stopping = clock.ended

    source: Any = SimpleNamespace(ends=False, live=True, opening=False, batches=None)
    one = Engine(source, lambda _scene: None, 1.0, View())
    one.view = View(options=Options(budget=budget))
    nudge: Any = clock
    one.nudge = nudge
    monkeypatch.setattr(one, "_step", sampled)
    monkeypatch.setattr(one, "_observer", lambda: SimpleNamespace(budget=Budget()))

    def proved(_finding: str, _wanted: Any, on: Any, **_more: Any) -> dict[str, Any]:
        for second in range(SECONDS):
            on.watch(Progress("experiment", float(second), float(SECONDS), 1e9))
            clock.sleep(1.0)
        return {"kept": False, "verdict": "better"}

    def run() -> None:
        bench.prove("rx-ring-overrun@eth0", (("ring.rx@eth0", "512"),), FORM)
        clock.end()

    monkeypatch.setattr(prove, "prove", proved)
    bench = trying.TrialBench(post, lambda: None)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    one.run()
    thread.join(HANG)
    moments = [at for at, _, _ in drawn]
    assert moments[-1] >= SECONDS - SLOWEST
    assert max(after - before for before, after in pairwise(moments)) <= SLOWEST + 1e-6
    assert [told for _, known, told in drawn if known not in told] == []
    assert len({known for _, known, _ in drawn}) > 5
    assert scene.notes[-1].text == "rx-ring-overrun@eth0: better; reverted"


def rate(second: int) -> float | None:
    """The rate at which the interface receives in that second."""
    facts = lossy(second).facts
    assert facts is not None
    return next(nic.per_s.rx_bytes for nic in facts.nics if nic.name == "eth0")
