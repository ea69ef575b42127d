"""Short answers of the screen, and what it starts with."""

import argparse
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from scenes import lossy

from nettop.host.recording import Replay
from nettop.panes import overviewrows
from nettop.terms.text import text_of
from nettop.tui import app, internals, screen
from nettop.tui.actions import settings_of
from nettop.tui.screen import Nettop
from nettop.views.scene import Scene
from nettop.views.view import View


@pytest.mark.parametrize(
    ("given", "wanted"),
    [({}, False), ({"drop_reasons": False}, False), ({"drop_reasons": True}, True)],
)
def test_drop_reasons_are_counted_only_if_asked_for(
    given: dict[str, bool], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    always: list[bool] = []

    def run(self: Any, **_: Any) -> int:
        always.append(self.engine.deep)
        return 0

    monkeypatch.setattr(screen.Nettop, "run", run)
    options = argparse.Namespace(interval=1.0, demo=True, **given)
    assert app.run(options, Replay("-- /proc/stat --\ncpu 0\n")) == 0
    assert always == [wanted]


def test_a_study_without_settings_says_so() -> None:
    assert [text_of(row) for row in settings_of("valente-11")] == [" No point changes a setting."]


def test_a_study_with_settings_lists_each() -> None:
    rows = [text_of(row) for row in settings_of("manchester-1-3")]
    assert rows[0] == " Set for the run of one point, then reverted:"
    assert len(rows) > 1


def test_nothing_to_copy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    monkeypatch.setattr(Nettop, "copy_to_clipboard", lambda _self, text: copied.append(text))
    program = Nettop(View(), Scene())
    program._copy("")
    assert [note.text for note in program.scene.notes] == ["nothing under the cursor to copy"]
    assert copied == []
    program._copy("first\nsecond")
    assert program.scene.notes[-1].text == "copied 2 lines to the clipboard: first"
    assert copied == ["first\nsecond"]
    program._copy("nettop explain a@b", "a@b")
    assert program.scene.notes[-1].text == "copied the command to the clipboard: nettop explain a@b"
    program._copy("tcp 192.0.2.1:1-192.0.2.2:2", "flow:tcp 192.0.2.1:1-192.0.2.2:2")
    assert program.scene.notes[-1].text.startswith("copied the name to the clipboard: tcp 192")


def test_a_control_sequence_needs_a_terminal() -> None:
    written: list[str] = []
    driver = SimpleNamespace(write=written.append)
    assert internals.write(SimpleNamespace(_driver=driver), "\033[6n") is True
    assert internals.write(SimpleNamespace(_driver=None), "\033[6n") is False
    assert written == ["\033[6n"]


def findings_of(scene: Scene) -> tuple[str, ...]:
    """The findings among the rows of the Overview."""
    return tuple(one for one in overviewrows.items(scene, View()) if "@" in one)


def test_the_overview_lists_no_muted_finding() -> None:
    scene = lossy()
    shown = findings_of(scene)
    muted = replace(scene, muted=scene.findings[:1], findings=scene.findings[1:],
                    mutes=(scene.findings[0].id,))  # fmt: skip
    assert shown[0] == scene.findings[0].id
    assert findings_of(muted) == shown[1:]


@pytest.mark.parametrize("live", [True, False])
def test_the_name_of_the_processor_is_asked_for_on_this_host_only(
    live: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []
    timer = SimpleNamespace(start=lambda: asked.append(app.PROCESSOR_AFTER))
    monkeypatch.setattr(threading, "Timer", lambda *_: timer)
    monkeypatch.setattr(screen.Nettop, "run", lambda *_, **__: 0)
    source = Replay("-- /proc/stat --\ncpu 0\n")
    source.live = live
    assert app.run(argparse.Namespace(interval=1.0, demo=False), source) == 0
    assert len(asked) == live
