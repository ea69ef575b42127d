"""The loop behind the screen: when it samples, rests, wakes, records and ends."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from folded import folded

from nettop.host.source import HostLostError
from nettop.tui import engine as module
from nettop.tui.engine import Engine
from nettop.views.scene import Scene
from nettop.views.view import Options, View


class Source:
    """A host, or a recording that ends, without any data."""

    def __init__(self, *, ends: bool = False, live: bool = False) -> None:
        self.ends, self.live, self.opening = ends, live, False
        self.waits: list[float] = []
        self.batches = None
        self.more = True
        self.woken = threading.Event()

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return self.more


def engine(source: Any = None, interval: float = 2.0) -> tuple[Engine, list[Scene]]:
    said: list[Scene] = []
    host: Any = source or Source()
    return Engine(host, said.append, interval, View()), said


def notes(said: list[Scene]) -> list[tuple[str, str]]:
    return [(one.text, one.role) for scene in said for one in scene.notes]


@folded(
    ("change", "wakes"),
    [
        ({}, False), ({"pane": "flows"}, True), ({"paused": True}, True), ({"moment": 5.0}, True),
        ({"profile": "latency"}, True), ({"help": True}, False), ({"nic": "eth9"}, False),
    ],
)  # fmt: skip
def test_another_view_is_sampled_for_at_once_if_it_needs_other_data(
    change: dict[str, Any], wakes: bool
) -> None:
    one, _ = engine()
    one.set_view(replace(View(), **change))
    assert one.nudge.is_set() is wakes
    assert one.source.woken.is_set() is wakes  # type: ignore[attr-defined]
    assert one.view == replace(View(), **change)
    one.nudge.clear()
    one.set_view(replace(one.view, moment=one.view.moment and 9.0))
    assert not one.nudge.is_set()  # from one earlier moment to another


def test_only_a_recording_advances_by_one() -> None:
    one, _ = engine()
    assert one.advance() is False
    assert (one.single, one.nudge.is_set()) == (False, False)
    one, _ = engine(Source(ends=True))
    assert one.advance() is True
    assert (one.single, one.nudge.is_set()) == (True, True)


def test_stop_and_refresh_wake_it() -> None:
    one, _ = engine(SimpleNamespace(ends=False))
    one.refresh()
    assert (one.fresh, one.nudge.is_set()) == (True, True)
    one.nudge.clear()
    stopped: list[int] = []
    peering: Any = SimpleNamespace(stop=lambda: stopped.append(1))
    one.peering = peering
    one.stop()
    assert (one.stopping, one.nudge.is_set(), stopped) == (True, True, [1])


@pytest.mark.parametrize(("path", "ending"), [("x.host", False), ("", True)])
def test_a_path_begins_a_recording_and_none_ends_it(path: str, ending: bool) -> None:
    one, _ = engine()
    one.record(path)
    assert (one.tape, one.ending, one.nudge.is_set()) == (path, ending, True)


@folded(
    ("paused", "moment", "ends", "single", "held"),
    [
        (False, 0.0, False, False, False), (True, 0.0, False, False, True),
        (True, 0.0, True, True, True), (False, 5.0, False, False, False),
        (True, 5.0, False, False, True), (False, 5.0, True, False, True),
        (True, 5.0, True, True, False), (False, 5.0, True, True, False),
    ],
)  # fmt: skip
def test_it_is_held_while_paused_and_at_an_earlier_moment_of_a_recording(
    paused: bool, moment: float, ends: bool, single: bool, held: bool
) -> None:
    one, _ = engine(Source(ends=ends))
    one.view = replace(View(), paused=paused, moment=moment)
    one.single = single
    assert one._held() is held


class Nudge:
    """An event that records how long it is waited for."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.cleared = 0

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    def clear(self) -> None:
        self.cleared += 1

    def set(self) -> None:
        pass


@pytest.mark.parametrize(
    ("pace", "took", "left"), [(0.0, 0.5, 1.5), (5.0, 0.5, 4.5), (0.0, 2.0, None), (0.0, 9.0, None)]
)
def test_it_rests_for_what_is_left_of_the_interval(
    monkeypatch: pytest.MonkeyPatch, pace: float, took: float, left: float | None
) -> None:
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 100.0 + took))
    one, _ = engine()
    nudge: Any = Nudge()
    one.nudge, one.pace, one.single = nudge, pace, True
    assert one._rest(100.0) is True
    assert nudge.waits == ([] if left is None else [left])
    assert (nudge.cleared, one.single) == (1, False)
    for more in (True, False):
        recorded: Any = Source(ends=True)
        recorded.more = more
        one.source = recorded
        assert one._rest(100.0) is more
        assert recorded.waits == [left or 0.0]
    one.stopping = True
    assert one._rest(100.0) is False


def test_a_held_engine_rests_until_it_is_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = engine()
    one.view = replace(View(), paused=True)
    held = iter([True, True, False])
    monkeypatch.setattr(one, "_held", lambda: next(held))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 0.0))
    nudge: Any = Nudge()
    one.nudge = nudge
    assert one._rest(0.0)
    assert nudge.waits == [5.0, 5.0, 2.0]
    assert nudge.cleared == 3


def looped(
    patch: pytest.MonkeyPatch, steps: Sequence[Exception | None], live: bool = False
) -> tuple[Engine, list[Scene], dict[str, Any]]:
    """An engine that has made these steps: what it said, and what it collected and looked."""
    one, said = engine(Source(live=live))
    one.view = View(options=Options(budget=2.0))
    seen: dict[str, Any] = {"collected": [], "frozen": [], "looked": 0, "begun": []}
    count = 0

    def looked(_now: float) -> None:
        seen["looked"] += 1

    budget = SimpleNamespace(looked=looked, pace=lambda interval: 3 * interval)
    seen["budget"] = budget

    def step(_observer: Any) -> None:
        nonlocal count
        count += 1
        error = steps[count - 1]
        if error is not None:
            raise error

    def rest(begun: float) -> bool:
        seen["begun"].append(begun)
        return count < len(steps)

    patch.setattr(one, "_step", step)
    patch.setattr(one, "_rest", rest)
    patch.setattr(one, "_observer", lambda: SimpleNamespace(budget=budget))
    gc = SimpleNamespace(
        collect=lambda: seen["collected"].append(count), freeze=lambda: seen["frozen"].append(count)
    )
    patch.setattr(module, "gc", gc)
    one.run()
    return one, said, seen


def test_garbage_is_collected_rarely_and_frozen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one, said, seen = looped(monkeypatch, [None] * 45)
    assert (seen["collected"], seen["frozen"]) == ([5, 20, 40], [5])
    assert (seen["looked"], one.pace, said) == (0, 0.0, [])


def test_the_budget_of_a_live_host_sets_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    one, _, seen = looped(monkeypatch, [None] * 3, live=True)
    assert (seen["looked"], one.pace, seen["budget"].percent) == (3, 6.0, 2.0)


def test_a_host_that_is_lost_is_said_once_and_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone, other = HostLostError("ssh b ended"), HostLostError("no route")
    steps = [None, gone, gone, other, None, None, ValueError("odd"), None]
    _, said, _ = looped(monkeypatch, steps)
    assert notes(said) == [
        ("ssh b ended; trying again", "bad"), ("no route; trying again", "bad"),
        ("connected again", "good"), ("sampling failed: odd", "bad"),
    ]  # fmt: skip


def test_a_recording_that_runs_is_kept_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    one, _ = engine()
    recording: Any = SimpleNamespace(end=lambda: ended.append("recording"))
    peering: Any = SimpleNamespace(start=lambda: ended.append("peering"))
    one.recording, one.peering = recording, peering
    monkeypatch.setattr(one, "_loop", lambda: (_ for _ in ()).throw(OSError("odd")))
    with pytest.raises(OSError, match="odd"):
        one.run()
    assert ended == ["peering", "recording"]
