"""How long the loop behind the screen rests while no interface moves data."""

from types import SimpleNamespace
from typing import Any

import pytest

from nettop.tui import engine as module
from nettop.tui.engine import Engine
from nettop.views.view import View


def engine(interval: float) -> Engine:
    host: Any = SimpleNamespace(ends=False, live=True, batches=None)
    return Engine(host, lambda _scene: None, interval, View())


@pytest.mark.parametrize(
    ("moves", "woken", "waits"),
    [
        ([False] * 2, False, [1.0, 1.0]),  # nothing is read for a look that is due
        ([False, True], False, [1.0]),  # data begins to move: a look at once
        ([False] * 2, True, [1.0]),  # a key asks for other tables
    ],
)
def test_a_quiet_host_is_looked_at_every_other_second_until_data_moves(
    monkeypatch: pytest.MonkeyPatch, moves: list[bool], woken: bool, waits: list[float]
) -> None:
    clock, waited, seen = [100.0], list[float](), iter(moves)

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        clock[0] += seconds
        return woken

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    one = engine(1.0)
    nudge: Any = SimpleNamespace(wait=wait, clear=lambda: None)
    quiet: Any = SimpleNamespace(begin=lambda: next(seen))
    one.nudge, one.moves = nudge, quiet
    assert one._rest(100.0)
    assert waited == waits


@pytest.mark.parametrize(("interval", "pace"), [(5.0, 0.0), (1.0, 3.0)])
def test_a_longer_interval_stays_on_a_quiet_host(
    monkeypatch: pytest.MonkeyPatch, interval: float, pace: float
) -> None:
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 100.0))
    one = engine(interval)
    waits: list[float] = []
    nudge: Any = SimpleNamespace(wait=waits.append, clear=lambda: None)
    quiet: Any = SimpleNamespace(begin=lambda: pytest.fail("nothing is read between"))
    one.nudge, one.moves, one.pace = nudge, quiet, pace
    assert one._rest(100.0)
    assert waits == [max(interval, pace)]


@pytest.mark.parametrize(
    ("quiet", "live", "recording", "watched"),
    [
        (5.0, True, None, True),
        (0.0, True, None, False),
        (5.0, False, None, False),  # a recording is played at its own pace
        (5.0, True, SimpleNamespace(add=lambda: True), False),  # what is recorded has each second
    ],
)
def test_only_a_quiet_host_that_is_not_recorded_is_looked_at_less_often(
    monkeypatch: pytest.MonkeyPatch, quiet: float, live: bool, recording: Any, watched: bool
) -> None:
    one = engine(1.0)
    source: Any = SimpleNamespace(ends=False, live=live, batches=None, opening=False)
    past: Any = SimpleNamespace(fine=(), add=lambda facts, wall: past)
    look = SimpleNamespace(facts="facts", quiet=quiet, frame=SimpleNamespace(wall=5.0))
    observer: Any = SimpleNamespace(glance=lambda needs: look)
    one.source, one.past, one.recording = source, past, recording
    monkeypatch.setattr(one, "scene", lambda _observation, view: ("scene", view.pane))
    for _ in range(2):
        before = one.moves
        one._step(observer)
        assert (one.moves is not None) is watched
    assert one.moves is before
