"""What the screen says of a change: written files, refused commands, the command to type."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from heard import Heard
from scenes import RING, lossy

from nettop.changes import Change, Result, persist, privilege
from nettop.host.source import Live
from nettop.terms.text import line
from nettop.tui.actions import Actions
from nettop.tui.changing import Changing
from nettop.tui.screen import Nettop
from nettop.views.ask import Ask
from nettop.views.kept import ROOTS
from nettop.views.scene import Question, Scene
from nettop.views.view import INTERVALS, Options, View

SACK = "sysctl.net.ipv4.tcp_sack"


@pytest.fixture
def heard() -> Heard:
    return Heard(lossy())


def test_an_exported_file_is_written_and_named(
    heard: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sheets = (("shell", (line((" ethtool -G eth0 rx 512", "")),)), ("ansible", ()))
    Changing(Live(), heard, lambda: None).agree(Question("Export", sheets, "export"), "shell")
    (file,) = tmp_path.iterdir()
    assert file.read_text() == "ethtool -G eth0 rx 512\n"
    assert heard.last == f"written: {file}"


def test_a_refused_sudo_is_said(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    def results(words: Sequence[str]) -> tuple[Result, ...]:
        raise OSError(f"this needs root: {' '.join(words)}")

    monkeypatch.setattr(privilege, "results", results)
    Changing(Live(), heard, lambda: None).undo([f"{ROOTS}4"])
    assert heard.last.startswith("this needs root: undo 4")


@pytest.mark.parametrize(("made", "kept"), [(1, True), (0, False)])
def test_a_setting_is_kept_after_its_change_was_made(
    heard: Heard, made: int, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[object] = []

    def keep(settings: object, *_rest: object) -> tuple[()]:
        wanted.append(settings)
        return ()

    result = Result(SACK, "1", "0", "applied", after="0")
    monkeypatch.setattr(privilege, "needed", lambda _address: False)
    monkeypatch.setattr(persist, "keep", keep)
    changing = Changing(Live(), heard, lambda: None)
    monkeypatch.setattr(changing, "change", lambda _changes, _finding: (result,) * made)
    files = tuple(persist.preview(((SACK, "0"),), changing.source).items())
    question = Question("Keep", (), "keep", wanted=((SACK, "0"),), files=files)
    changing.keep(question, [Change(SACK, "1", "0")])
    assert bool(wanted) is kept


@pytest.mark.parametrize(("to", "shown"), [("", "ADDRESS"), ("192.0.2.7", "192.0.2.7")])
def test_a_proof_without_root_is_a_command_to_type(
    heard: Heard, to: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    actions = Actions(Live(), heard, lambda: None)
    actions.experiments.do_prove(Ask("prove", RING.id), View(form={"to": to}), heard.scene)
    assert heard.last == f"not root; type: sudo nettop prove {RING.id} --to {shown}"


def test_studies_are_read_once(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    actions = Actions(Live(), heard, lambda: None)
    read: list[str] = []
    monkeypatch.setattr(actions, "_spawn", lambda name, _function: read.append(name))
    for _ in range(3):
        actions.follow(heard.scene, View(pane="tests"))
    assert read == ["studies"]


def test_the_interval_goes_from_the_shortest_to_the_longest() -> None:
    program: Any = Nettop(View(options=Options(interval=INTERVALS[0])), Scene())
    program.engine = SimpleNamespace(interval=0.5, set_view=lambda _view: None)
    seen = []
    for by in (-1, 1, 1, 1, 1, 1, -1):
        program.carry_out(Ask("faster" if by < 0 else "slower"))
        seen.append(program.engine.interval)
    assert seen == [0.5, 1.0, 2.0, 5.0, 10.0, 10.0, 5.0]


def test_several_changes_are_one_message(heard: Heard) -> None:
    made = [Result(f"sysctl.net.{name}", "0", "1", "applied", after="1") for name in "ab"]
    Changing(Live(), heard, lambda: None).report(made)
    assert heard.last == "2 settings applied: sysctl.net.a, sysctl.net.b"
    refused = replace(made[1], state="refused", because="not allowed")
    Changing(Live(), heard, lambda: None).report([made[0], refused])
    assert heard.last == "sysctl.net.b: not changed: not allowed"


def test_a_key_before_the_write_has_returned_says_when_to_press_it(heard: Heard) -> None:
    changing = Changing(Live(), heard, lambda: None)
    nothing = replace(heard.scene, pending=())
    with changing.writing():
        changing.do_confirm(Ask("confirm"), View(), nothing)
        assert heard.last == "a change is being written: press c when its countdown is shown"
    changing.do_confirm(Ask("confirm"), View(), nothing)
    assert heard.last == "no change waits for a confirmation"
