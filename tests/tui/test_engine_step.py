"""One step of the loop behind the screen: what is asked of the observer, and what is posted."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final

import pytest
from hang import until
from test_engine_loop import Source, engine, notes

from nettop.facts.losses import Accounting
from nettop.tui import engine as module
from nettop.tui.engine import Engine
from nettop.views.past import History
from nettop.views.scene import Scene
from nettop.views.view import View


class Observer:
    """An observer that counts what is asked of it."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.profile: Any = None
        self.deep = False
        self.pairs: Any = None
        self.quiet = 0.0
        self.counting: float | None = None
        self.losses: Accounting | None = None
        self.tables: dict[str, Any] = {}
        self.missing: dict[str, str] = {}

    def look_soon(self) -> None:
        self.calls.append("look_soon")

    def refresh(self) -> None:
        self.calls.append("refresh")

    def restart(self, needs: Any) -> None:
        self.calls.append(("restart", needs))

    def glance(self, needs: Any) -> Any:
        self.calls.append("glance")
        frame = SimpleNamespace(wall=5.0, tables=self.tables, missing=self.missing)
        facts = SimpleNamespace(losses=self.losses, rhythms=())
        counting = self.counting
        return SimpleNamespace(facts=facts, quiet=self.quiet, frame=frame, counting=counting)


@pytest.fixture
def stepping(monkeypatch: pytest.MonkeyPatch) -> tuple[Engine, Any, list[Scene]]:
    one, said = engine()
    past: Any = SimpleNamespace(fine=(), add=lambda facts, wall: (facts, wall))
    one.past = past
    monkeypatch.setattr(one, "scene", lambda _observation, view: ("scene", view.pane))
    return one, Observer(), said


def test_a_step_is_one_look_and_one_scene(stepping: tuple[Engine, Any, list[Scene]]) -> None:
    one, observer, said = stepping
    one.profile = "bulk-lan"
    one._step(observer)
    assert observer.calls == ["glance"]
    assert (observer.profile, observer.deep) == ("bulk-lan", False)
    assert said == [("scene", "overview")]  # type: ignore[comparison-overlap]
    assert one.past[1] == 5.0  # type: ignore[index]


def test_after_a_change_every_table_is_read_again(
    stepping: tuple[Engine, Any, list[Scene]], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, observer, _ = stepping
    cleared: list[int] = []
    monkeypatch.setattr(one.plans, "clear", lambda: cleared.append(1))
    one.fresh = True
    one.view = replace(View(), profile="latency")
    one._step(observer)
    assert observer.calls == ["refresh", "glance"]
    assert (one.fresh, cleared, observer.profile) == (False, [1], "latency")


LOST = Accounting(5.0, alone=(("SOCKET_RCVBUFF", 90),))
CALLS: Final[dict[str, Any]] = {"drop_reasons": ()}


@pytest.mark.parametrize(
    ("tables", "missing", "losses", "said"),
    [
        (CALLS, {}, LOST, "lost in 5 s: 90 packets by the kernel's reasons alone (SOCKET_RCVBUFF)"),
        (CALLS, {}, None, "no packet was lost meanwhile"),
        (CALLS, {"drop_reasons": "in part"}, None, "no packet was lost meanwhile; in part"),
        ({}, {"drop_reasons": "needs root"}, None, "not counted: needs root"),
        ({}, {}, None, "not counted: the configuration forbids it (deep = false)"),
    ],
)
def test_the_key_that_counts_looks_once_and_tells_what_was_lost(
    stepping: tuple[Engine, Any, list[Scene]], tables: Any, missing: Any, losses: Any, said: str
) -> None:
    one, observer, told = stepping
    observer.counting, observer.tables, observer.missing = 0.1, tables, missing
    observer.losses = losses
    past: Any = SimpleNamespace(fine=(), add=lambda *_: past)
    one.past = past
    one.look()
    one._step(observer)
    one._step(observer)
    assert observer.calls == ["look_soon", "glance", "glance"]
    told.clear()
    observer.counting = None
    one._step(observer)
    one._step(observer)
    assert notes([scene for scene in told if isinstance(scene, Scene)]) == [(said, "good")]


def test_the_first_moment_of_a_recording_is_no_sample(
    stepping: tuple[Engine, Any, list[Scene]],
) -> None:
    one, observer, said = stepping
    source: Any = one.source
    source.opening = True
    one._step(observer)
    assert (observer.calls, said) == (["glance"], [])
    again: Any = SimpleNamespace(fine=(1,))
    one.past = again
    one._step(observer)
    assert [call[0] for call in observer.calls[1:]] == ["restart"]
    assert said == []


def test_the_other_end_gets_each_observation(stepping: tuple[Engine, Any, list[Scene]]) -> None:
    one, observer, _ = stepping
    offered: list[Any] = []
    peering: Any = SimpleNamespace(pairs="pairs", offer=offered.append)
    one.peering = peering
    one._step(observer)
    assert observer.pairs == "pairs"
    assert len(offered) == 1


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_recording_that_is_full_is_left(
    stepping: tuple[Engine, Any, list[Scene]], goes_on: bool
) -> None:
    one, observer, _ = stepping
    recording: Any = SimpleNamespace(add=lambda: goes_on)
    one.recording = recording
    one._step(observer)
    assert (one.recording is recording) is goes_on


def test_a_recording_begins_and_ends_between_two_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from nettop.tui import taping

    one, said = engine()
    ended: list[int] = []
    made: list[Any] = []

    def tape(path: str, observer: Any, _post: Any) -> Any:
        made.append((path, observer))
        if path == "denied":
            raise PermissionError(13, "Permission denied")
        return SimpleNamespace(path=path, end=lambda: ended.append(1))

    monkeypatch.setattr(taping, "Taping", tape)
    observer: Any = "observer"
    one._tape(observer)
    one.record("")
    one._tape(observer)  # nothing to end
    assert (made, ended, one.recording, one.ending) == ([], [], None, False)
    one.record("denied")
    one._tape(observer)
    assert notes(said) == [("cannot write denied: Permission denied", "bad")]
    one.record("a.host")
    one._tape(observer)
    one._tape(observer)
    assert made[1:] == [("a.host", "observer")]
    assert (one.tape, ended) == ("", [])
    one.record("")
    one._tape(observer)
    assert (one.recording, ended, one.ending) == (None, [1], False)
    assert isinstance(one.past, History)


def test_a_silent_host_is_said_before_it_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    one, said = engine()
    host: Any = one.source
    host.batches = SimpleNamespace(name="ssh web1")
    monkeypatch.setattr(module, "SLOW", 0.01)
    observer: Any = SimpleNamespace()

    # it answers after that note
    monkeypatch.setattr(one, "_step", lambda _observer: until(lambda: said))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 5.0, time=lambda: 9.0))
    one._watched(observer, 2.0)
    assert notes(said) == [
        ("ssh web1 does not answer; the picture stays as it was", "warn"),
        ("ssh web1 answered after 3 s", "good"),
    ]
    said.clear()
    monkeypatch.setattr(module, "SLOW", 60.0)
    monkeypatch.setattr(one, "_step", lambda _observer: None)
    one._watched(observer, 2.0)
    assert not said


@pytest.mark.parametrize(("live", "sampled"), [(True, ["restart", "faults"]), (False, ["faults"])])
def test_a_host_is_sampled_before_the_rules_are_read_so_that_the_first_picture_has_rates(
    monkeypatch: pytest.MonkeyPatch, *, live: bool, sampled: list[str]
) -> None:
    calls: list[str] = []

    class Beginning(Observer):
        def __init__(self, _source: object) -> None:
            super().__init__()

        def look_shortly(self) -> None:
            assert not calls

        def restart(self, needs: Any) -> None:
            assert needs
            calls.append("restart")

        @property
        def faults(self) -> tuple[str, ...]:
            calls.append("faults")
            return ()

    monkeypatch.setattr("nettop.views.observer.Observer", Beginning)
    one, _ = engine(Source(live=live))
    one._observer()
    assert calls == sampled
