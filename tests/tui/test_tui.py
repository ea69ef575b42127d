"""The application: keys, mouse, palette, view and configuration. Counted, never timed."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
from dataclasses import fields, replace

import pytest
from scenes import healthy, lossy, storied
from textual import events
from tui_app import SHOTS, Recorder, resized

from nettop import panes
from nettop.commands import open_source
from nettop.commands.top import demo
from nettop.host.recording import Replay, load
from nettop.tui import app as starter
from nettop.tui import keys
from nettop.tui.app import _answered_at_once
from nettop.tui.engine import Engine
from nettop.tui.keys import Ask, press
from nettop.tui.screen import Nettop, Tick
from nettop.views.build import merge
from nettop.views.scene import Note, Peer, Scene, SceneOrigin, Step
from nettop.views.view import THEMES, Options, View


@pytest.fixture(autouse=True)
def own_configuration(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No rules and settings that another test wrote."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


async def test_keys_reach_panes_and_actions() -> None:
    app = Nettop(View(), lossy())
    recorder = Recorder()
    app.actions = recorder
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("5", "j", "a")
        assert app.view.pane == "advisor"
        assert recorder.requests == [Ask("apply", "app-on-other-node@3391")]
        await pilot.press("tab")
        assert app.view.pane == "tests"
        await pilot.press("shift+tab", "question_mark")
        assert app.view.help
        await pilot.press("escape", "1", "q")
    assert recorder.stopped
    assert app.return_code == 0


async def test_a_paste_fills_an_open_field_and_presses_no_key() -> None:
    app = Nettop(View(pane="flows"), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        app.post_message(events.Paste("quit"))
        await pilot.pause()
        assert app.scene.notes[-1].text == "only an open field takes what is pasted"
        await pilot.press("slash")
        app.post_message(events.Paste("iperf3 q\nrest"))
        await pilot.pause()
        assert app.view.typing
        assert app.view.spot.filter == "iperf3 q"
        assert app.scene.notes == ()  # what was refused before is over


async def test_control_c_quits() -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+c")
    assert app.return_code == 0


async def test_pause_freezes_what_is_seen() -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("space")
        app.post_message(Tick(lambda _old: healthy()))
        await pilot.pause()
        assert any("vm7" in text for row in app.board.shown for text, _ in row)
        await pilot.press("space")
        assert any("web" in text for row in app.board.shown for text, _ in row)


async def test_the_palette_has_every_action_and_theme() -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        titles = {command.title for command in app.get_system_commands(app.screen)}
        for key in keys.KEYS:
            if key.action not in ("open", "palette"):
                assert key.help[:1].upper() + key.help[1:] in titles
        assert {f"Theme: {name}" for name in THEMES} <= titles
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert len(app.screen_stack) == 2
        await pilot.press("escape")


async def test_the_footer_and_rows_can_be_clicked() -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        rows = ["".join(text for text, _ in row) for row in app.board.shown]
        here = next(y for y, row in enumerate(rows) if "Pause frames are off" in row)
        await pilot.click(offset=(20, here))
        assert (app.view.pane, app.view.spot.on) == ("advisor", "pause-off@eth0")
        await pilot.press("escape")
        on = app.view.spot.on
        await pilot.click(offset=(90, here))  # in another frame, where no row is
        await pilot.click(offset=(20, 0))  # the header
        assert (app.view.pane, app.view.spot.on) == ("overview", on)
        footer = "".join(text for text, _ in app.board.shown[39])
        await pilot.click(offset=(footer.index("Flows"), 39))
        assert app.view.pane == "flows"


async def test_the_ruler_can_be_drawn_with_the_mouse() -> None:
    app = Nettop(View(pane="history"), storied())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.mouse_down(offset=(60, 10))
        await pilot.mouse_up(offset=(90, 10))
        await pilot.pause()
        assert len(app.view.marks) == 2
        assert app.view.marks[1] > app.view.marks[0]
        assert any("A–B" in text for row in app.board.shown for text, _ in row)


async def test_old_notes_go() -> None:
    app = Nettop(View(), replace(lossy(), notes=(Note("said long ago", "", 1.0),)))
    async with app.run_test(size=(120, 40)) as pilot:
        app.post_message(Tick(lambda old: old))
        await pilot.pause()
        assert not app.scene.notes


async def test_resizing_composes_anew() -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        for size in ((20, 5), (500, 200), (80, 24)):
            await resized(app, pilot, *size)
            assert len(app.board.shown) == size[1]


async def test_ascii_terminals_get_ascii() -> None:
    app = Nettop(View(options=Options(ascii=True)), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert all(text.isascii() for row in app.board.shown for text, _ in row)


def test_a_new_moment_keeps_what_others_keep() -> None:
    old = storied()
    new = merge(old, lossy())
    assert new.journal == old.journal
    assert new.results == old.results
    assert new.pending == old.pending
    assert merge(replace(old, processor="EPYC 9354"), lossy()).processor == "EPYC 9354"
    failed = merge(old, Scene(notes=(Note("no"),)))
    assert failed.facts is old.facts
    assert failed.notes[-1].text == "no"


def test_a_muted_finding_stays_away() -> None:
    old = replace(lossy(), mutes=("pause-off@eth0",))
    new = merge(old, lossy())
    assert "pause-off@eth0" not in {f.id for f in new.findings}
    assert [f.id for f in new.muted] == ["pause-off@eth0"]
    assert not new.ended


def test_the_engine_says_once_what_it_cannot_do(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each sentence once, however often it is tried; once more after it worked in between."""
    from nettop.host.source import Live

    said: list[Scene] = []
    engine = Engine(Live(str(tmp_path)), said.append, 0.0, View())
    eio, eperm = OSError(5, "Input/output error"), OSError(1, "Operation not permitted")
    steps = [eio, eio, eio, eperm, eperm, None, eperm]

    def step(_observer: object) -> None:
        error = steps.pop(0)
        engine.stopping = not steps
        if error is not None:
            raise error

    monkeypatch.setattr(engine, "_step", step)
    engine.run()
    told = [note.text for scene in said for note in scene.notes]
    assert [text.partition(": ")[0] for text in told] == ["sampling failed"] * 3
    assert ["Input/output" in text for text in told] == [True, False, False]
    assert ["not permitted" in text for text in told] == [False, True, True]


def test_the_engine_names_what_an_empty_host_does_not_tell(tmp_path: pathlib.Path) -> None:
    from nettop.host.source import Live

    told: list[Scene] = []
    engine = Engine(Live(str(tmp_path)), told.append, 0.0, View())

    def post(scene: Scene) -> None:
        told.append(scene)
        engine.stopping = len(told) == 3

    engine.post = post
    engine.run()
    assert len(told) == 3
    for scene in told:
        assert scene.facts is not None
        assert {"cpu", "interrupts", "links"} <= set(scene.facts.missing)


def test_the_demo_shows_its_finding_in_every_frame_and_every_round() -> None:
    told: list[Scene] = []
    source = Replay(load(demo()), loop=True)
    engine = Engine(source, told.append, 0.0, View())
    _answered_at_once(engine, source)

    def post(scene: Scene) -> None:
        told.append(scene)
        engine.stopping = len(told) == 2 * len(source.moments)

    engine.post = post
    engine.run()
    for scene in told:
        assert any(f.id.startswith("rx-ring-overrun@") for f in scene.findings)
        assert scene.facts is not None
        assert 0 < (scene.facts.host.idle or 0) < 100  # counters that went back are no load


def test_only_this_host_s_view_is_kept(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    kept = tmp_path / "nettop" / "view.json"
    seen = []

    def ran(app: Nettop, **_: object) -> int:
        seen.append(app.view.pane)
        app.on_leave(replace(app.view, pane="journal"))
        return 0

    monkeypatch.setattr(Nettop, "run", ran)
    recording = argparse.Namespace(replay=demo(), demo=False, interval=None)
    starter.run(recording, open_source(recording, pace=1.0, loop=True))
    assert not kept.exists()  # a first live start opens on the Overview
    live = argparse.Namespace(replay=None, root=None, netns=None, demo=False, interval=None)
    starter.run(live, open_source(live))
    assert json.loads(kept.read_text()).keys() >= {"fold_idle", "sort"}
    starter.save_view(View(nic="eth7"))
    before = kept.read_text()
    recording.demo = True
    starter.run(recording, open_source(recording, pace=1.0, loop=True))
    recording.demo = False
    starter.run(recording, open_source(recording, pace=1.0, loop=True))
    assert kept.read_text() == before
    assert seen == ["overview"] * 4  # a recording opens there too


def test_the_view_is_remembered(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    view = replace(View(pane="flows", nic="eth0"), form={"to": "192.0.2.1"}).at(sort=2, invert=True)
    starter.save_view(replace(view, pane="overview").at(invert=True))
    again = starter.saved_view({})
    assert "overview" not in again.spots  # its direction is that of what moves now
    assert (again.pane, again.nic) == ("overview", "eth0")
    assert (again.spots["flows"].sort, again.spots["flows"].invert) == (2, True)
    assert again.form == {"to": "192.0.2.1"}
    for rubbish in ("{", "[]", '{"nic": 3, "sort": 1}', '{"nic": "eth0", "fold_idle": "x"}'):
        (tmp_path / "nettop" / "view.json").write_text(rubbish)
        assert starter.saved_view({}).fold_idle is View().fold_idle


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ('them = "dark"', "unknown key 'them' (did you mean theme?)"),
        ('units = "bit"', "units must be bits or bytes, not 'bit'"),
        ('prefix = "SI"', "prefix must be si or iec, not 'SI'"),
        ("interval = -1", "interval must be 0.1 to 3600 seconds, not -1"),
        ("mouse = 1", "mouse has an invalid value: 1"),
        ('[columns]\nflows = ["proces"]', "no column 'proces' (did you mean process?)"),
        ('[columns]\nflow = ["process"]', "an unknown table 'flow' (did you mean flows?)"),
        ('[columns]\nadvisor = ["x"]', "an unknown table 'advisor'; there are cores, nic, flows"),
        ("[columns]\nnic = 3", "columns.nic is a list of setting, now, limit, better, unit"),
        ('[columns]\ncores = ["core", 7]', "no column 7; there are core, node, busy, us, sy"),
    ],
)
def test_a_configuration_that_cannot_be_is_one_sentence(
    told: str, said: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nettop.config import load

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "nettop").mkdir()
    (tmp_path / "nettop" / "config.toml").write_text(told)
    found = load()
    (fault,) = (*found.faults, *panes.chosen_columns(found.get("columns", {}))[1])
    assert said in fault
    assert "\n" not in fault


def test_the_documented_configuration_is_whole_and_taken(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nettop import config

    page = (SHOTS.parent / "docs/screen.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(theme = .*?)```", page, re.DOTALL)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "nettop").mkdir()
    (tmp_path / "nettop" / "config.toml").write_text(block)
    found = config.load()
    assert {*found.values, "limits"} == set(config.KNOWN)  # every key there is, none there is not
    assert set(found.values["columns"]) == {n for n in panes.names() if panes.columns(n)}
    assert all(name in block for name in THEMES)


def test_configured_columns_reach_the_view(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nettop.config import load as configured

    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    (tmp_path / "nettop").mkdir()
    (tmp_path / "nettop" / "config.toml").write_text('[columns]\nflows = ["limit", "peer"]')
    starter.save_view(View(pane="journal"))
    assert starter.saved_view(configured().values).columns == {"flows": ("limit", "peer")}
    assert starter.initial_view(configured().values).columns == {"flows": ("limit", "peer")}


def test_the_keys_need_no_textual_and_the_stored_results_no_experiment() -> None:
    code = "import sys, nettop.tui.keys, nettop.tui.engine, nettop.tui.actions, nettop.panes.page;"
    code += "from nettop.views import kept; kept.stored();"
    code += "late = 'textual', 'rich', 'asyncio', 'hashlib', 'nettop.trials.experiment';"
    code += "print([m for m in late if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_step_that_cannot_be_read_says_why(tmp_path: pathlib.Path) -> None:
    from nettop.host.source import Live
    from nettop.views.steps import step

    made = step("sysctl.net.ipv4.tcp_sack", "1", Live(str(tmp_path)))
    assert isinstance(made, Step)
    assert made.before == "?"
    assert made.because


def test_every_field_of_a_scene_says_whether_it_is_kept() -> None:
    facts = lossy().facts
    named = {f.name: f.metadata["kept"] for f in fields(Scene)}
    for name in named.keys() - {"facts", "notes", "ended", "seen", "silent"}:  # notes … of both
        old, new = Scene(facts=facts), Scene(facts=facts)
        filled = {
            "muted": (), "mutes": ("x@y",), "plans": {"x": ()}, "peer": Peer(("a", "b")),
            "origin": SceneOrigin("recording", "x"),
        }  # fmt: skip
        value = getattr(storied(), name) or filled.get(name, "a value")
        object.__setattr__(old if named[name] else new, name, value)
        assert getattr(merge(old, new), name) == value, name


async def test_a_paused_screen_shows_what_arrives_later() -> None:
    app = Nettop(View(pane="tests"), lossy())
    async with app.run_test(size=(160, 40)) as pilot:
        await pilot.press("space")
        app.post_message(Tick(lambda old: replace(old, processor="EPYC 9354", wall=1.0)))
        await pilot.pause()
        assert app.shown().processor == "EPYC 9354"
        assert app.shown().wall == lossy().wall


def test_a_key_of_a_pane_is_answered_there_and_from_the_palette() -> None:
    scene = storied()
    for name in panes.names():
        view = View(pane=name)
        assert (press("]", "]", view, scene)[0].span == 1) is (name == "history")
        assert press("M", "M", view, scene)[0].pane == "advisor"
    assert keys.act("zoom_out", View(), scene)[0] == View(pane="history", span=1)
