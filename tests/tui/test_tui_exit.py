"""The screen ends: what was begun ends first."""

from __future__ import annotations

import argparse
import threading
from typing import Any

import pytest
from hang import HANG

from nettop.host.recording import Replay
from nettop.tui import actions, app, screen


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
