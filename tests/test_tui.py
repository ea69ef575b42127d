"""Keys, the board and the application: counted, never timed."""

from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass, replace

import pytest
import stories
from rich.cells import cell_len
from scenes import SCENES, healthy, lossy, storied
from textual.geometry import Region

from nettop import panes
from nettop.commands import open_source
from nettop.commands.top import demo
from nettop.host.recording import Replay, load
from nettop.tui import app as starter
from nettop.tui import guide, keys, themes
from nettop.tui.board import Rows
from nettop.tui.engine import Engine, merge
from nettop.tui.gate import AT_ONCE, FIXED, PATIENCE, SHEET, TRUST, Gate
from nettop.tui.keys import Ask, press
from nettop.tui.screen import Nettop, Tick
from nettop.views.scene import Note, Question, Scene, Step, View

SHOTS = pathlib.Path(__file__).parents[1] / "screenshots"


def on_screen(view: View, scene: Scene) -> View:
    """The view once the scene was painted under it."""
    return panes.page.painted(scene, view, 120, 40)


def typed(text: str, view: View, scene: Scene) -> tuple[View, Ask | None]:
    ask = None
    for char in text:
        view, ask = press({" ": "space"}.get(char, char), char, view, scene)
    return view, ask


# -- keys ------------------------------------------------------------


def test_every_key_of_the_table_does_something() -> None:
    scene = storied()
    idle = {"stop", "left", "zoom_in", "first", "up", "escape", "page_up", "muted"}
    for key in keys.KEYS:
        for name in key.keys:
            changed = False
            for pane in panes.names():
                view = replace(View(pane=pane), zoom=1).at(left=1)
                items = panes.pane(pane).items(scene, view)
                view = view.at(on=items[1], index=1) if len(items) > 1 else view
                after, ask = press(name, name if len(name) == 1 else None, view, scene)
                changed |= after != view or ask is not None
            assert changed or key.action in idle, key


def test_no_key_is_bound_twice() -> None:
    every = [name for key in keys.KEYS for name in key.keys]
    assert len(every) == len(set(every))
    assert {key.group for key in keys.KEYS} == set(keys.GROUPS)


def test_help_is_the_table() -> None:
    told = "\n".join("".join(t for t, _ in row) for row in guide.help_lines(View(), 200, 90))
    for key in keys.KEYS:
        assert keys.shown_as(key) in told
        assert key.help in told


def test_readme_keys_are_the_designs() -> None:
    for name in "12345678ghjklGiPracpusym?q/<>I+-":
        assert name in keys.BY_KEY


def test_the_cursor_moves_and_stays_on_its_finding() -> None:
    scene = lossy()
    view, _ = typed("jj", View(), scene)
    assert view.spot.on == "pause-off@eth0"
    fewer = replace(scene, findings=scene.findings[1:])
    assert keys.target(view, fewer) == "pause-off@eth0"
    view, _ = typed("G", view, scene)
    assert view.spot.on == "legacy-sack@host"
    view, _ = typed("g", view, scene)
    assert view.spot.on == "rx-ring-overrun@eth0"


def test_apply_names_the_finding_under_the_cursor() -> None:
    view, ask = typed("ja", View(), lossy())
    assert ask == Ask("apply", "app-on-other-node@3391")
    assert press("y", "y", view, lossy())[1] == Ask(
        "copy", "app-on-other-node@3391", "taskset -apc 4,5,7 3391"
    )


def test_filter_takes_letters_that_are_keys() -> None:
    view, ask = typed("/quail", View(pane="flows"), lossy())
    assert ask is None
    assert view.typing
    assert view.spot.filter == "quail"
    view, _ = press("backspace", None, view, lossy())
    view, _ = press("enter", "\r", view, lossy())
    assert view.spot.filter == "quai"
    assert not view.typing
    view, _ = press("escape", None, view, lossy())
    assert view.spot.filter == ""


def test_in_a_form_only_escape_and_control_keys_are_global() -> None:
    view, _ = typed("j", View(pane="tests"), lossy())
    view, _ = press("enter", "\r", view, lossy())
    assert view.editing == "form.to"
    view, ask = typed("192.0.2.9q", view, lossy())
    assert ask is None
    view, _ = press("enter", "\r", view, lossy())
    assert view.form["to"] == "192.0.2.9q"
    view, _ = press("enter", "\r", view, lossy())
    view, ask = press("escape", None, view, lossy())
    assert view.editing == ""
    assert ask is None


def test_a_setting_is_set_by_typing() -> None:
    scene = lossy()
    view = on_screen(View(pane="nic", nic="eth0"), scene)
    view, _ = typed("e", view, scene)
    assert view.editing == "ring.rx@eth0"
    view, _ = typed("1024", view, scene)
    view, ask = press("enter", "\r", view, scene)
    assert ask == Ask("set", "ring.rx@eth0", "1024")
    assert view.editing == ""


async def test_a_question_is_answered_by_enter_or_escape() -> None:
    sheets = (("shell", (((" one", ""),),)), ("sysctl", (((" two", ""),),)))
    question = Question("Export", sheets, "export", "write the file here")
    app = Nettop(View(pane="journal"), replace(storied(), question=question))
    told = Told()
    app.actions = told
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        shown = "\n".join("".join(t for t, _ in row) for row in app.board.shown)
        assert "write the file here" in shown
        assert " one" in shown
        await pilot.press("u", "right")
        assert told.asked == []
        await pilot.press("enter")
        assert told.asked == [Ask("agree", value="sysctl")]
        assert app.scene.question is None
        app.scene = replace(app.scene, question=question)
        await pilot.press("escape")
        assert app.scene.question is None
        assert len(told.asked) == 1


def test_an_interrupt_is_moved_by_typing() -> None:
    view, _ = typed("e4", on_screen(View(pane="cores"), lossy()), lossy())
    _, ask = press("enter", "\r", view, lossy())
    assert ask == Ask("set", "irq.affinity@eth0/rx-0", "4")


def test_the_ruler_takes_two_marks_and_a_third_clears() -> None:
    scene = storied()
    view = View(pane="history")
    for _ in range(3):
        view, _ = press("left", None, view, scene)
    view, _ = press("enter", "\r", view, scene)
    view, _ = press("left", None, view, scene)
    view, _ = press("enter", "\r", view, scene)
    assert len(view.marks) == 2
    assert view.marks[0] > view.marks[1]
    view, _ = press("enter", "\r", view, scene)
    assert view.marks == ()


@pytest.mark.parametrize("pane", panes.names())
def test_any_key_on_any_pane_of_any_host_is_harmless(pane: str) -> None:
    for build in SCENES.values():
        scene = build()
        for key in keys.KEYS:
            for name in key.keys:
                view, _ = press(name, name if len(name) == 1 else None, View(pane=pane), scene)
                assert panes.pane(view.pane).lines(scene, view, 80, 22) is not None
        press("enter", "\r", View(pane=pane), Scene())


# -- the gate ------------------------------------------------------------


def test_a_frame_waits_until_the_last_one_arrived() -> None:
    gate = Gate()
    assert gate.wait(0.0) == 0.0
    assert gate.drawn(0.0)
    assert gate.wait(0.5) == PATIENCE - 0.5
    gate.answered(0.5)
    assert gate.wait(0.5) == 0.0


def test_a_terminal_that_never_answers_gets_a_fixed_rate() -> None:
    gate = Gate()
    assert gate.drawn(0.0)
    assert gate.wait(PATIENCE) == 0.0
    assert not gate.drawn(PATIENCE)
    assert gate.wait(PATIENCE + 0.25) == FIXED - 0.25
    gate.answered(PATIENCE + 0.25)
    assert gate.wait(PATIENCE + 0.25) == 0.0


def test_one_lost_answer_does_not_condemn_a_terminal_that_answers() -> None:
    gate = Gate(answers=True)
    gate.drawn(0.0)
    assert gate.wait(PATIENCE) == TRUST - PATIENCE
    assert gate.drawn(TRUST)
    assert gate.answers


def test_a_quick_terminal_is_asked_once_a_sheet_of_rows() -> None:
    gate = Gate()
    asked = []
    for second in range(20):
        now = float(second)
        assert gate.wait(now) == 0.0
        asked.append(gate.drawn(now, 10))
        if asked[-1]:
            gate.answered(now + AT_ONCE / 2)
    assert asked == [second % (SHEET // 10) == 0 for second in range(20)]


def test_a_terminal_that_became_slow_is_asked_after_every_frame() -> None:
    gate = Gate()
    assert gate.drawn(0.0, 10)
    gate.answered(AT_ONCE / 2)
    assert gate.drawn(1.0, SHEET)
    gate.answered(1.0 + 2 * AT_ONCE)
    for second in (2.0, 3.0):
        assert gate.drawn(second, 1)
        gate.answered(second + 2 * AT_ONCE)


# -- the board ------------------------------------------------------------


async def test_k_changed_rows_are_k_drawn_rows() -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        lines = list(app.board.shown)
        for count in (0, 1, 3, 7):
            before = app.board.drawn
            changed = list(lines)
            for row in range(count):
                changed[row * 5] = ((f"row {row} of {count}".ljust(120), "bad"),)
            app.board.show(changed)
            await pilot.pause()
            assert app.board.drawn - before == count
            app.board.show(lines)
            await pilot.pause()


async def test_an_equal_frame_writes_nothing() -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        before = app.board.drawn
        app.post_message(Tick(lambda _old: lossy()))
        await pilot.pause()
        assert app.board.drawn == before
        assert not app.screen._dirty_widgets


async def test_rows_are_written_at_once_unless_something_lies_over_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        written: list[Rows] = []
        called: list[object] = []
        monkeypatch.setattr(app, "_display", lambda _screen, rows: written.append(rows))
        monkeypatch.setattr(app.board, "refresh", lambda *regions: called.extend(regions))
        lines = list(app.board.shown)
        changed = [*lines[:7], (("seven".ljust(120), "bad"),), *lines[8:]]
        app.board.show(changed)
        assert [list(rows.strips) for rows in written] == [[7]]
        told = written[0].render_segments(app.console)
        assert told.startswith("\x1b[8;1H")
        assert "seven" in told
        assert not called
        app.action_command_palette()
        await pilot.pause()
        written.clear()
        app.board.show(lines)
        assert called == [Region(0, 7, 120, 1)]
        assert not any(isinstance(one, Rows) for one in written)


async def test_a_pane_that_is_not_shown_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_args: object) -> list[object]:
        raise AssertionError("drawn though hidden")

    for name in panes.names():
        if name != "overview":
            monkeypatch.setattr(panes.pane(name), "lines", never)
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        app.post_message(Tick(lambda _old: storied()))
        await pilot.pause()


async def test_every_cell_carries_its_background() -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        for y in range(30):
            strip = app.board.render_line(y)
            assert strip.cell_length == 100
            assert all(s.style is not None and s.style.bgcolor for s in strip)


async def test_no_color_holds_for_every_theme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = Nettop(View(), lossy(), theme="mono")
    async with app.run_test(size=(100, 30)) as pilot:
        app.wear("dark")
        await pilot.pause()
        inks = [s.style for y in range(30) for s in app.board.render_line(y)]
        assert {ink.color and ink.color.name for ink in inks if ink} == {"default"}


async def test_the_board_paints_hostile_names_within_its_width() -> None:
    app = Nettop(View(), SCENES["hostile"]())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        for row in app.board.shown:
            assert sum(cell_len(text) for text, _ in row) == 120
            assert all(text.isprintable() for text, _ in row)


@pytest.mark.parametrize("name", themes.NAMES)
def test_a_theme_dresses_every_role(name: str) -> None:
    used = set()
    for build in SCENES.values():
        for pane in panes.names():
            for row in panes.page.compose(build(), View(pane=pane), 160, 50):
                used |= {role for _, role in row}
    palette = themes.palette(name)
    plain = {"", "head", "accent", "good", "user", "system", "softirq", "irq", "idle", "faint"}
    assert used - set(palette) <= (plain | {"dim", "steal"} if name in ("mono", "ansi") else set())


# -- the application ------------------------------------------------------------


class Told:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Ask] = []
        self.stopped = False

    def do(self, ask: Ask, view: View, scene: Scene) -> None:
        self.asked.append(ask)

    def start(self) -> None:
        pass

    def stop(self) -> None:
        self.stopped = True


async def test_keys_reach_panes_and_actions() -> None:
    app = Nettop(View(), lossy())
    told = Told()
    app.actions = told
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("5", "j", "a")
        assert app.view.pane == "advisor"
        assert told.asked == [Ask("apply", "app-on-other-node@3391")]
        await pilot.press("tab")
        assert app.view.pane == "tests"
        await pilot.press("shift+tab", "question_mark")
        assert app.view.help
        await pilot.press("escape", "1", "q")
    assert told.stopped
    assert app.return_code == 0


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
        assert {f"Theme: {name}" for name in themes.NAMES} <= titles
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert len(app.screen_stack) == 2
        await pilot.press("escape")


async def test_the_footer_and_rows_can_be_clicked() -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        here = next(y for y, row in enumerate(app.board.shown) if row[0][1].startswith("select"))
        await pilot.click(offset=(20, here + 2))
        assert app.view.spot.on == "pause-off@eth0"
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
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert len(app.board.shown) == size[1]


async def test_ascii_terminals_get_ascii() -> None:
    app = Nettop(View(), lossy(), ascii_only=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert all(text.isascii() for row in app.board.shown for text, _ in row)


def test_a_new_moment_keeps_what_others_keep() -> None:
    old = storied()
    new = merge(old, lossy())
    assert new.journal == old.journal
    assert new.results == old.results
    assert new.pending == old.pending
    failed = merge(old, Scene(notes=(Note("no"),)))
    assert failed.facts is old.facts
    assert failed.notes[-1].text == "no"


def test_a_muted_finding_stays_away() -> None:
    old = replace(lossy(), mutes=("pause-off@eth0",))
    new = merge(old, lossy())
    assert "pause-off@eth0" not in {f.id for f in new.findings}
    assert [f.id for f in new.muted] == ["pause-off@eth0"]
    assert not new.ended


def test_the_engine_says_once_what_it_cannot_do(tmp_path: pathlib.Path) -> None:
    from nettop.host.source import Live

    told: list[Scene] = []
    engine = Engine(Live(str(tmp_path)), told.append, 0.01, View())

    def post(scene: Scene) -> None:
        told.append(scene)
        if len(told) == 3:
            engine.stopping = True

    engine.post = post
    engine.run()
    assert all(scene.facts is not None for scene in told)


def test_the_demo_shows_its_finding_in_every_frame_and_every_round() -> None:
    told: list[Scene] = []
    source = Replay(load(demo()), loop=True)
    engine = Engine(source, told.append, 0.0, View())

    def post(scene: Scene) -> None:
        told.append(scene)
        engine.stopping = len(told) == 3 * len(source.moments)

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
    assert '"journal"' in kept.read_text()
    starter.remember(View(pane="flows"))
    before = kept.read_text()
    recording.demo = True
    starter.run(recording, open_source(recording, pace=1.0, loop=True))
    recording.demo = False
    starter.run(recording, open_source(recording, pace=1.0, loop=True))
    assert kept.read_text() == before
    assert seen == ["overview", "overview", "overview", "flows"]


def test_the_view_is_remembered(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    view = replace(View(pane="flows", nic="eth0"), form={"to": "192.0.2.1"}).at(sort=2, invert=True)
    starter.remember(view)
    again = starter.remembered({})
    assert (again.pane, again.nic, again.spot.sort, again.spot.invert) == ("flows", "eth0", 2, True)
    assert again.form == {"to": "192.0.2.1"}
    for rubbish in ("{", "[]", '{"pane": 3, "sort": 1}', '{"pane": "nope", "fold": "x"}'):
        (tmp_path / "nettop" / "view.json").write_text(rubbish)
        assert starter.remembered({}).pane == "overview"


def test_the_theme_follows_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLORTERM", raising=False)
    monkeypatch.setenv("TERM", "linux")
    assert starter.theme("") == "ansi"
    monkeypatch.setenv("TEXTUAL_DRIVER", "textual.drivers.web_driver:WebDriver")
    assert starter.theme("") == "dark"
    monkeypatch.delenv("TEXTUAL_DRIVER")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert starter.theme("") == "dark"
    assert starter.theme("light") == "light"
    monkeypatch.setenv("NO_COLOR", "1")
    assert starter.theme("light") == "mono"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ('them = "dark"', "unknown key 'them' (did you mean theme?)"),
        ('units = "bit"', "units is bits or bytes, not 'bit'"),
        ('prefix = "SI"', "prefix is si or iec, not 'SI'"),
        ("interval = -1", "interval is 0.1 to 3600 seconds, not -1"),
        ("mouse = 1", "mouse cannot be 1"),
        ('[columns]\nflows = ["proces"]', "no column 'proces' (did you mean process?)"),
        ('[columns]\nflow = ["process"]', "an unknown table 'flow' (did you mean flows?)"),
        ('[columns]\nadvisor = ["x"]', "an unknown table 'advisor'; there are cores, nic, flows"),
        ("[columns]\nnic = 3", "columns.nic is a list of setting, now, limit, better, unit"),
        ('[columns]\ncores = ["core", 7]', "no column 7; there are core, node, busy, mostly"),
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


def test_the_configuration_of_the_readme_is_whole_and_taken(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nettop import config

    readme = (SHOTS.parent / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(theme = .*?)```", readme, re.DOTALL)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "nettop").mkdir()
    (tmp_path / "nettop" / "config.toml").write_text(block)
    found = config.load()
    assert {*found.values, "limits"} == set(config.KNOWN)  # every key there is, none there is not
    assert set(found.values["columns"]) == {n for n in panes.names() if panes.columns(n)}
    assert all(name in block for name in themes.NAMES)


def test_configured_columns_reach_the_view(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nettop.config import load as configured

    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    (tmp_path / "nettop").mkdir()
    (tmp_path / "nettop" / "config.toml").write_text('[columns]\nflows = ["limit", "peer"]')
    starter.remember(View(pane="journal"))
    assert starter.remembered(configured().values).columns == {"flows": ("limit", "peer")}
    assert starter.first(configured().values).columns == {"flows": ("limit", "peer")}


def test_the_keys_need_no_textual() -> None:
    code = "import sys, nettop.tui.keys, nettop.tui.engine, nettop.tui.actions, nettop.panes.page;"
    code += "print([m for m in ('textual', 'rich', 'asyncio') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_step_that_cannot_be_read_says_why(tmp_path: pathlib.Path) -> None:
    from nettop.host.source import Live
    from nettop.views.steps import step

    made = step("sysctl.net.ipv4.tcp_sack", "1", Live(str(tmp_path)))
    assert isinstance(made, Step)
    assert made.before == "?"
    assert made.because


# -- screenshots ------------------------------------------------------------


@dataclass(frozen=True)
class Shot:
    """One picture: the scene, how it is looked at, its size and theme."""

    host: str
    view: View
    width: int = 120
    height: int = 36
    theme: str = "dark"

    def scene(self) -> tuple[Scene, View]:
        if self.host.startswith("story"):
            return stories.told(int(self.host[-1]))
        if self.host in SCENES:
            return SCENES[self.host](), self.view
        return recorded(self.host, self.view), self.view


def recorded(host: str, view: View) -> Scene:
    """The end of a recorded host, read and judged as the screen does it."""
    told: list[Scene] = []
    source = Replay(load(str(pathlib.Path(__file__).parents[1] / host)))
    Engine(source, told.append, 1.0, view).run()
    return replace(told[-1], origin=f"replay of {source.host}")


DEMO = "rules/demo.host.gz"
BIG = "tests/hosts/big-256.host.gz"
SCREENS = {
    "overview": Shot(DEMO, View(), 120, 36),
    "overview-light": Shot(DEMO, View(), 120, 36, "light"),
    "overview-ansi": Shot(DEMO, View(), 120, 36, "ansi"),
    "overview-colourblind": Shot(DEMO, View(), 120, 36, "colourblind"),
    "overview-contrast": Shot(DEMO, View(), 120, 36, "contrast"),
    "overview-many-cores": Shot(BIG, View(), 120, 40),
    "cores": Shot(DEMO, View(pane="cores"), 120, 34),
    "cores-many": Shot(BIG, View(pane="cores"), 120, 40),
    "nic": Shot(DEMO, View(pane="nic"), 120, 44),
    "flows": Shot(DEMO, View(pane="flows")),
    "advisor": Shot(DEMO, View(pane="advisor"), 120, 44),
    "tests": Shot("storied", View(pane="tests", form=stories.FORM), 120, 30),
    "history": Shot("storied", View(pane="history", zoom=2, marks=(200.0, 560.0))),
    "journal": Shot("storied", View(pane="journal"), 120, 24),
    **{f"story-{number}": Shot(f"story-{number}", View(), 110, 30) for number in (1, 2, 3, 4)},
}


def normal(svg: str) -> str:
    """The picture without Rich's random ids."""
    return re.sub(r"terminal-\d+-", "terminal-", svg)


@pytest.mark.parametrize("name", SCREENS)
async def test_screenshot(name: str, update: bool) -> None:
    shot = SCREENS[name]
    scene, view = shot.scene()
    app = Nettop(view, scene, theme=shot.theme)
    async with app.run_test(size=(shot.width, shot.height)) as pilot:
        await pilot.pause()
        svg = normal(app.export_screenshot(title="nettop"))
    path = SHOTS / f"{name}.svg"
    if update:
        path.parent.mkdir(exist_ok=True)
        path.write_text(svg, encoding="utf-8")
    assert svg == path.read_text(encoding="utf-8")


def test_every_pane_has_its_picture_and_none_is_left_over() -> None:
    assert {path.stem for path in SHOTS.glob("*.svg")} == set(SCREENS)
    assert set(panes.names()) <= set(SCREENS)
