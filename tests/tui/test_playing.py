"""The demo plays changes and a proof; nothing of this machine is read for them or written."""

import argparse
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hang import HANG, until
from pane_text import words

from nettop import settings
from nettop.commands import top
from nettop.host.played import Played
from nettop.panes import hints, page
from nettop.panes.tests import running
from nettop.tui import app
from nettop.tui.actions import Actions
from nettop.tui.notes import Update
from nettop.tui.playing import CONFIRM, OVER, PAIRS
from nettop.views.ask import Ask
from nettop.views.build import Plans, merge, scene_of
from nettop.views.observer import Observer
from nettop.views.past import History
from nettop.views.scene import RunningTest, Scene, origin_of
from nettop.views.view import View

BUFFER = "receive-cap-below-bdp@host at dtn2"
FINDING = "rx-ring-overrun@ens2np0"
SETTING = "ring.rx@ens2np0"


class Stage:
    """A demo without a terminal: each step is a sample."""

    def __init__(self, name: str = "ring") -> None:
        args = argparse.Namespace(demo=name, replay=top.demo(name), peer=None)
        source, far = top._played(args)
        assert isinstance(source, Played)
        source.pace = 0.0
        self.source = source
        self.pairing = app._other_end(args, source, far, lambda _: None)
        self.observer = Observer(self.source)
        self.plans = Plans(self.source)
        self.scene = Scene(origin=origin_of(self.source))
        self.lock = threading.Lock()
        self.actions = Actions(self.source, self.post, lambda: None)

    def post(self, update: Update) -> None:
        with self.lock:
            self.scene = update(self.scene)

    def step(self) -> Scene:
        """The next sample, as the engine and the screen take it."""
        self.source.wait(1)
        if self.source.opening:
            if self.pairing is not None:
                self.pairing.restart()
            self.observer.restart()
            return self.scene
        observation = self.observer.step()
        if self.pairing is not None:
            self.pairing.offer(observation)
        new = scene_of(observation, History(), self.plans)
        new = replace(new, peer=self.pairing.shown if self.pairing is not None else None)
        self.post(lambda old: merge(old, new))
        self.actions.follow(self.scene, View())
        return self.scene

    def press(self, verb: str, finding: str = FINDING) -> None:
        self.actions.do(Ask(verb, finding), View(), self.scene)
        assert self.actions.wait(HANG)

    def agree(self) -> None:
        scene = self.scene
        self.post(lambda now: replace(now, question=None))
        self.actions.do(Ask("agree"), View(), scene)
        assert self.actions.wait(HANG)

    def ring(self) -> int | None:
        assert self.scene.facts is not None
        return next(one.ring.rx for one in self.scene.facts.nics if one.name == "ens2np0")


@pytest.fixture
def unwritten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Every write to a setting, a journal or a result would fail the test."""

    def written(*_: object, **__: object) -> None:
        raise AssertionError("the demo wrote to this machine")

    monkeypatch.setattr(settings, "write", written)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield
    assert [*tmp_path.rglob("*")] == []


@pytest.fixture
def stage(unwritten: None) -> Iterator[Stage]:
    made = Stage()
    until(lambda: made.step().finding(FINDING) is not None)
    yield made
    made.actions.stop()
    assert made.actions.wait(HANG)


@pytest.fixture
def ends(unwritten: None) -> Iterator[Stage]:
    """The demo of both ends."""
    made = Stage("ends")
    until(lambda: made.step().finding(BUFFER) is not None)
    yield made
    made.actions.stop()
    assert made.actions.wait(HANG)


def sent(stage: Stage) -> float:
    """The rate of the transfer, Gbit/s."""
    nic = stage.step().foremost
    assert nic is not None
    return 8e-9 * (nic.per_s.tx_bytes or 0.0)


def test_the_larger_buffer_of_the_other_end_is_played_and_undone(ends: Stage) -> None:
    predicted = ends.scene.finding(BUFFER).predicted  # type: ignore[union-attr]
    assert predicted is not None
    assert predicted.bound.stage == "rcvbuf"
    assert sent(ends) < 0.6
    ends.press("apply", BUFFER)
    question = ends.scene.question
    assert question is not None
    assert question.title.startswith("DEMO, nothing of this host is changed: Apply: dtn2: Maximum")
    assert [one[0] for one in question.changes] == ["sysctl.net.ipv4.tcp_rmem"]
    ends.agree()
    until(lambda: sent(ends) > 2.5)
    assert predicted.rate[0] < 1e9 * sent(ends) < predicted.rate[1]
    (entry,) = ends.scene.journal
    assert (entry.host, entry.state, entry.user) == ("dtn2", "pending", "demo")
    ends.press("confirm", BUFFER)
    assert ends.scene.journal[0].state == "applied"
    until(lambda: ends.step().finding(BUFFER) is not None)
    ends.press("apply", BUFFER)  # larger still: there is no such course
    assert ends.scene.question is None
    assert ends.scene.notes[-1].text == OVER
    ends.press("undo", BUFFER)
    assert ends.scene.question is not None
    ends.agree()
    until(lambda: sent(ends) < 0.6)


def test_the_larger_buffer_of_the_other_end_is_proved(ends: Stage) -> None:
    ends.press("prove", BUFFER)
    question = ends.scene.question
    ends.post(lambda now: replace(now, question=None))
    ends.actions.do(Ask("agree"), View(), replace(ends.scene, question=question))
    until(lambda: bool(ends.step().results))
    (result,) = ends.scene.results
    assert (result.verdict, len(result.before), len(result.after)) == ("better", PAIRS, PAIRS)
    until(lambda: ends.scene.progress is None)
    assert [one.state for one in ends.scene.journal] == ["applied"]


def test_a_change_is_played_confirmed_and_undone(stage: Stage) -> None:
    assert stage.ring() == 1024
    stage.press("apply")
    question = stage.scene.question
    assert question is not None
    assert question.title.startswith("DEMO, nothing of this host is changed: Apply: Receive ring")
    assert question.changes == ((SETTING, "1024", "8192"),)
    stage.agree()
    until(lambda: stage.step() is not None and stage.ring() == 8192)
    (entry,) = stage.scene.journal
    assert (entry.setting, entry.state, entry.user) == (SETTING, "pending", "demo")
    assert stage.scene.pending[0].deadline == entry.wall + CONFIRM
    stage.press("confirm")
    assert stage.scene.pending == ()
    assert stage.scene.journal[0].state == "applied"
    until(lambda: stage.step().finding(FINDING) not in stage.scene.findings)
    stage.press("undo")
    assert stage.scene.question is not None
    stage.agree()
    assert stage.scene.journal[0].state == "undone"
    until(lambda: stage.step() is not None and stage.ring() == 1024)


def test_a_change_that_nobody_confirms_is_reverted_and_told(stage: Stage) -> None:
    stage.press("apply")
    stage.agree()
    until(lambda: bool(stage.step().journal) and stage.scene.journal[0].state == "reverted")
    assert stage.scene.pending == ()
    assert any("reverted to 1024: not confirmed" in one.text for one in stage.scene.notes)
    until(lambda: stage.step() is not None and stage.ring() == 1024)


def test_a_proof_is_played_from_the_rates_of_both_courses(stage: Stage) -> None:
    stage.press("prove")
    question = stage.scene.question
    assert question is not None
    assert question.verb == "prove"
    stage.post(lambda now: replace(now, question=None))
    stage.actions.do(Ask("agree"), View(), replace(stage.scene, question=question))
    until(lambda: bool(stage.step().results))
    (result,) = stage.scene.results
    assert (result.verdict, len(result.before), len(result.after)) == ("better", PAIRS, PAIRS)
    assert all(after > before for before, after in zip(result.before, result.after, strict=True))
    assert "(demo)" in result.title
    until(lambda: stage.scene.progress is None)
    assert [one.state for one in stage.scene.journal] == ["applied"]


def test_the_other_course_is_played_at_its_own_pace(stage: Stage) -> None:
    stage.source.swift = 6.0  # the beginning of the demo is played quickly
    stage.source.turn(cured=True)
    stage.step()
    assert stage.source.swift == 0.0


def test_after_a_change_the_verdict_is_of_the_time_since(stage: Stage) -> None:
    """What was lost before the change is not told as what limits after it."""
    stage.actions.playing.altered = stage.observer.refresh  # type: ignore[union-attr]
    stage.press("apply")
    stage.agree()
    until(lambda: stage.step() is not None and stage.ring() == 8192)
    stage.step()
    stage.step()
    assert stage.scene.facts is not None
    ways = [one for one in stage.scene.facts.limits if one.target == "ens2np0"]
    assert {one.stage.stage for one in ways if one.direction == "rx"} == {"wire"}


def test_a_running_proof_tells_no_gain_before_both_sides_were_measured(stage: Stage) -> None:
    stage.press("prove")
    question = stage.scene.question
    stage.post(lambda now: replace(now, question=None))
    stage.actions.do(Ask("agree"), View(), replace(stage.scene, question=question))
    shown: list[RunningTest] = []

    def ended() -> bool:
        progress = stage.step().progress
        if progress is not None:
            shown.append(progress)
        return bool(stage.scene.results)

    until(ended)
    assert all("shortened" in one.title for one in shown)
    for one in shown:
        proof = one.proof
        assert proof is not None
        both = min(len(proof.before), len(proof.after))
        assert (proof.interval != (0.0, 0.0)) is bool(both)
        drawn = words(running(one, 80, 20))
        assert ("so far" in drawn) is bool(both)
        assert f"median gain of {both} pairs" in drawn or both < 2


def test_a_proof_that_is_stopped_keeps_nothing(stage: Stage) -> None:
    stage.press("prove")
    question = stage.scene.question
    stage.post(lambda now: replace(now, question=None))
    stage.actions.do(Ask("agree"), View(), replace(stage.scene, question=question))
    until(lambda: stage.scene.progress is not None)
    stage.actions.do(Ask("stop"), View(), stage.scene)
    assert stage.actions.wait(HANG)
    assert (stage.scene.results, stage.scene.journal, stage.scene.progress) == ((), (), None)
    assert any("stopped, reverted" in one.text for one in stage.scene.notes)


def test_the_demo_says_what_it_is_and_refuses_what_it_does_not_play(stage: Stage) -> None:
    view = page.painted(stage.scene, View(), 120, 40)
    text = words(page.compose(stage.scene, view, 120, 40))
    assert "DEMO of dtn1" in text
    assert "a apply  p prove" in text
    offered = {one.action for one in hints.hints(stage.scene, view)}
    assert {"apply", "prove"} <= offered
    assert not offered & {"persist", "mute", "edit", "spread", "export"}
    for verb in ("persist", "mute", "set", "test", "study"):
        stage.press(verb)
        assert stage.scene.question is None
        assert "this is a demo: nothing can be changed" in stage.scene.notes[-1].text
