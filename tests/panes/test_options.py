"""The pane of options: a key changes the screen at once; the file changes only on request."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hang import HANG
from pane_text import words
from scenes import lossy, storied

from nettop.host.recording import Replay, load
from nettop.host.source import Live, Source
from nettop.panes import options, page
from nettop.tui import actions, themes
from nettop.tui.actions import Actions
from nettop.tui.keys import Ask, press
from nettop.tui.notes import refused
from nettop.tui.screen import Nettop
from nettop.views.scene import Scene, SceneOrigin, changed, document
from nettop.views.view import THEMES, Options, View

HOSTS = Path(__file__).parents[1] / "hosts"


def at(name: str, view: View | None = None) -> View:
    return (View(pane="options") if view is None else view).at(on=name)


def scene() -> Scene:
    return replace(lossy(), stored=document(View()))


def keys(view: View, *names: str) -> View:
    for name in names:
        view, _ = press(name, None, view, scene())
    return view


def test_every_option_of_a_row_is_a_key_of_the_file() -> None:
    from nettop.config import KNOWN

    assert {name.partition(".")[0] for name in options.items(scene(), View())} <= set(KNOWN)
    assert set(options.WORDS) == set(document(View()))
    assert all(themes.palette(name) for name in THEMES)


@pytest.mark.parametrize("name", list(options.WORDS))
def test_arrows_change_an_option_and_back(name: str) -> None:
    view = keys(at(name), "right")
    assert list(changed(scene(), view)) == [name]
    assert changed(scene(), keys(view, "left")) == {}
    assert keys(at(name), "enter").options == view.options


def test_columns_are_shown_hidden_and_moved() -> None:
    view = keys(at("columns.flows"), "enter")
    first, second, *rest = options.shown_columns(view, "flows")
    view = keys(at(f"columns.flows.{first}", view), "right")
    assert options.shown_columns(view, "flows")[:2] == (second, first)
    view = keys(view, "enter")
    assert options.shown_columns(view, "flows") == (second, *rest)
    assert keys(view, "enter").columns["flows"] == (second, *rest, first)
    assert changed(scene(), view) == {"columns.flows": (second, *rest)}
    assert keys(view, "escape").spot.on == "columns.flows"


def test_the_last_column_stays() -> None:
    view = at("columns.nic", replace(View(pane="options"), columns={"nic": ("now",)}))
    view = keys(at("columns.nic.now", keys(view, "enter")), "enter")
    assert view.columns["nic"] == ("now",)


def test_the_preview_is_the_pane_that_changes() -> None:
    text = words(options.lines(storied(), at("theme"), 200, 50))
    assert "WHAT LIMITS" in text
    view = replace(at("columns.flows"), columns={"flows": ("rtt", "process")})
    text = words(options.lines(storied(), view, 200, 50))
    heading = next(row for row in text.splitlines() if "PROCESS" in row)
    assert heading.index("RTT") < heading.index("PROCESS")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_the_key_that_writes_is_told_once(size: tuple[int, int]) -> None:
    view = keys(at("theme"), "right")
    assert words(page.compose(scene(), view, *size)).count("w write") == 1
    assert press("w", "w", view, scene())[1] == Ask("write", value="theme")


def test_in_another_pane_the_key_does_nothing() -> None:
    assert press("w", "w", View(), scene()) == (View(), None)


@pytest.mark.parametrize(
    "origin",
    [None, SceneOrigin("recording", "web3.host"), SceneOrigin("host", "ssh web1")],
)
def test_the_users_own_file_is_written_whatever_host_is_shown(
    origin: SceneOrigin | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    shown = replace(scene(), origin=origin)
    source: Source = Replay(load(str(HOSTS / "guest-idle.host"))) if origin else Live()
    updates: list[object] = []

    def post(update: object) -> None:
        updates.append(update)

    actions = Actions(source, post, lambda: None)
    view = keys(at("theme"), "right")
    actions.do(Ask("write"), view, shown)
    assert actions.wait(HANG)
    assert tomllib.loads((tmp_path / "nettop/config.toml").read_text()) == {"theme": "light"}
    for update in updates:
        shown = update(shown)  # type: ignore[operator]
    assert changed(shown, view) == {}
    assert shown.notes[-1].text == f"written to {tmp_path}/nettop/config.toml: theme"


def test_a_read_only_screen_tries_options_and_writes_none() -> None:
    view = at("theme")
    after = keys(view, "right")
    assert not refused(view, after, None)
    assert refused(view, view, Ask("write"))


def test_nothing_is_written_without_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    after = actions.save_options(View(), scene())(scene())
    assert after.notes[-1].text == "every option is in config.toml or as at the start"
    assert list(tmp_path.iterdir()) == []


async def test_a_key_changes_the_screen_at_once() -> None:
    app = Nettop(at("theme"), scene())
    async with app.run_test(size=(120, 40)) as pilot:
        before = app.board.palette
        await pilot.press("right")
        assert app.view.options == Options(theme="light")
        assert app.board.palette != before
        await pilot.press("down", "right", "down", "down", "right")
        assert (app.scene.units.bits, app.scene.interval) == (False, 2.0)
        assert "MB/s" in words(list(app.board.shown))


def test_next_detail_stays_among_the_tables() -> None:
    view = keys(at("columns.flows"), "enter")
    for _ in range(5):
        view, _ = press("n", "n", view, scene())
        assert view.spot.open in ("columns.cores", "columns.nic")
        assert "COLUMNS OF" in words(options.listed(scene(), view, 100, 20))


def test_the_printed_options_have_their_defaults() -> None:
    chosen = replace(View().options, theme="light", interval=2.0, budget=2.5)
    view = replace(View(), options=chosen, columns={"flows": ("process", "peer")})
    rows = words(options.printed(view, View(), {}, 100)).splitlines()
    fields = {row[3:].split()[0]: row for row in rows[2:] if row[3:4].strip()}
    assert set(fields) == {*options.WORDS, *options.OTHERS, *document(view), *(
        f"columns.{name}" for name in options.TABLES)}  # fmt: skip
    marked = {name for name, row in fields.items() if row.startswith(" *")}
    assert marked == {"theme", "interval", "budget", "columns.flows"}
    assert fields["theme"].split()[2:4] == ["light", "dark"]
    assert fields["interval"].split()[2:6] == ["2", "s", "1", "s"]
    assert fields["budget"].split()[2:4] == ["2.5", "1"]
    assert "process, peer" in fields["columns.flows"]
    assert max(map(len, rows)) <= 100
