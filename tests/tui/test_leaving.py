"""Leaving the screen: it asks once if something would end, and names what stays in force."""

import argparse
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hang import HANG
from scenes import lossy
from tui_app import Recorder

from nettop.host.recording import Replay
from nettop.terms.text import text_of
from nettop.tui import actions, app, leaving, screen
from nettop.views.scene import JournalEntry, Pending, RunningTest, Scene
from nettop.views.view import View

RUNS = RunningTest("prove caps@host", 3.0, 60.0, stage="pair 2 of 5")
MADE = JournalEntry("7", 100.0, "ring.rx@eth0", "32", "4096", "applied")


def waits() -> Scene:
    return replace(lossy(), pending=(Pending("9", "ring.rx@eth0", lossy().wall + 25),))


@pytest.mark.parametrize(
    ("scene", "text"),
    [
        (replace(lossy(), progress=RUNS), "prove caps@host runs: it is stopped"),
        (waits(), "ring.rx@eth0 reverts in 25 s   # nettop confirm 9 keeps it"),
    ],
)
async def test_q_asks_once_where_something_would_end(scene: Scene, text: str) -> None:
    one = screen.Nettop(View(), scene)
    one.actions = actions = Recorder()
    async with one.run_test(size=(100, 30)) as pilot:
        await pilot.press("q")
        await pilot.pause()
        assert text in "\n".join(text_of(row) for row in one.board.shown)
        await pilot.press("escape")
        assert one.scene.question is None
        assert one.is_running
        assert not actions.stopped
        await pilot.press("q")
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert actions.stopped


async def test_q_leaves_at_once_where_nothing_ends() -> None:
    one = screen.Nettop(View(), lossy())
    one.actions = actions = Recorder()
    async with one.run_test(size=(100, 30)) as pilot:
        await pilot.press("q")
        await pilot.pause()
        assert actions.stopped


async def test_a_read_only_screen_does_not_ask() -> None:
    one = screen.Nettop(View(), waits())
    one.read_only = True
    one.actions = actions = Recorder()
    async with one.run_test(size=(100, 30)) as pilot:
        await pilot.press("q")
        await pilot.pause()
        assert actions.stopped


def test_changes_of_this_run_that_are_in_force_are_listed_with_their_undo() -> None:
    undone = replace(MADE, id="8", state="undone")
    earlier = replace(MADE, id="3", wall=99.0)
    overtaken = replace(MADE, id="4", since="set to 64 by something else")
    pending = replace(MADE, id="root/9", state="pending")
    assert leaving.in_force((earlier, MADE, undone, overtaken, pending), 100.0) == [
        "nettop: in force: ring.rx@eth0: 32 → 4096   nettop undo 7",
        "nettop: in force: ring.rx@eth0: 32 → 4096   sudo nettop undo 9",
        "nettop: it reverts unless confirmed: sudo nettop confirm 9",
    ]


def test_what_stays_in_force_is_printed_after_the_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for variable in ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    source = Replay("-- /proc/stat --\ncpu 0\n")
    source.live = True

    def changes(self: Any, **_: Any) -> int:
        made = replace(MADE, wall=9e9)
        monkeypatch.setattr(self.actions, "changes_made", lambda: (made,))
        return 0

    monkeypatch.setattr(screen.Nettop, "run", changes)
    monkeypatch.setattr(app, "save_view", lambda _view: None)
    monkeypatch.setattr("threading.Timer", lambda *_: argparse.Namespace(start=lambda: None))
    options = argparse.Namespace(interval=1.0, demo=True)
    assert app.run(options, source) == 0
    assert "ring.rx@eth0: 32 → 4096   nettop undo 7" in capsys.readouterr().err


# The screen ends: what was begun ends first.


def test_the_program_ends_after_the_action_that_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A change that is being written when the user quits is written, and the user is told."""
    may_end, done = threading.Event(), []

    def write() -> None:
        may_end.wait(HANG)
        done.append("written")

    def quit_at_once(self: Any, **_: Any) -> int:
        self.actions._spawn("apply", write)
        return 0

    real = actions.Actions.wait
    waits: list[bool] = []

    def wait(self: actions.Actions, seconds: float) -> bool:
        ended = real(self, 0.0 if not waits else seconds)
        waits.append(ended)
        may_end.set()
        return ended

    monkeypatch.setattr(screen.Nettop, "run", quit_at_once)
    monkeypatch.setattr(actions.Actions, "wait", wait)
    options = argparse.Namespace(interval=1.0, demo=True)
    assert app.run(options, Replay("-- /proc/stat --\ncpu 0\n")) == 0
    assert waits == [False, True]
    assert done == ["written"]
    assert "waiting for a running change or test" in capsys.readouterr().err


def test_nothing_is_said_where_nothing_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(screen.Nettop, "run", lambda self, **_: 3)
    options = argparse.Namespace(interval=1.0, demo=True)
    assert app.run(options, Replay("-- /proc/stat --\ncpu 0\n")) == 3
    assert capsys.readouterr().err == ""
