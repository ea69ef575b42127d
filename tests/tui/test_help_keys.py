"""The help scrolls where it has no room, and no key does anything below it."""

from dataclasses import replace

import pytest
from scenes import lossy
from textual.widgets import OptionList
from tui_app import Recorder, settled

from nettop import panes
from nettop.panes import page
from nettop.terms.text import text_of
from nettop.tui import answers, keys, mouse, palette
from nettop.tui.screen import Nettop
from nettop.views.scene import Note
from nettop.views.view import View

SIZE = (80, 24)


def shown(view: View, size: tuple[int, int] = SIZE) -> list[str]:
    return [text_of(row) for row in page.compose(lossy(), view, *size, palette.help_lines)]


def pressed(view: View, *names: str) -> View:
    for name in names:
        view, ask = keys.press(name, name if len(name) == 1 else None, view, lossy())
        assert ask is None
        view = page.painted(lossy(), view, *SIZE, palette.help_lines)
    return view


def test_every_key_can_be_read_at_eighty_columns() -> None:
    for pane in panes.names():
        view = pressed(View(pane=pane, help=True), "g")
        seen = "\n".join(shown(view))
        for _ in range(9):
            view = pressed(view, "pagedown")
            seen += "\n".join(shown(view))
        paired = {action for pair in palette.PAIRS for action in pair}
        for key in keys.KEYS:
            assert key.help in seen or key.action in paired, (pane, key.help)


def test_it_scrolls_to_its_end_and_no_further() -> None:
    top = View(help=True)
    end = pressed(top, "G")
    assert shown(end) != shown(top)
    assert pressed(end, "down", "pagedown", "j", "end") == end
    assert shown(pressed(end, "up")) != shown(end)
    assert shown(pressed(end, "g")) == shown(pressed(top))
    wide = page.painted(lossy(), replace(end, scroll=9), 200, 60, palette.help_lines)
    assert wide.scroll == 0  # there is room for all


@pytest.mark.parametrize("name", ["escape", "q", "?", "question_mark", "f1", "enter"])
def test_it_opens_by_two_keys_and_closes_by_six(name: str) -> None:
    for opens in ("?", "f1"):
        view = pressed(pressed(View(), opens), "down")
        assert view.help
        closed = pressed(view, name)
        assert (closed.help, closed.scroll) == (False, 0)


@pytest.mark.parametrize("name", [*"apucsxymeSriIPzRDJf4/+-n", "tab", "left", "ctrl+p"])
def test_no_key_acts_below_it_and_each_says_why(name: str) -> None:
    view = page.painted(lossy(), View(help=True), *SIZE, palette.help_lines)
    after, ask, said = answers.press((name, name if len(name) == 1 else None), view, lossy())
    assert (after, ask, said) == (view, None, answers.HELP)


def test_the_mouse_scrolls_it_and_closes_it_by_the_footer_alone() -> None:
    view = page.painted(lossy(), View(help=True), *SIZE, palette.help_lines)
    rows = page.compose(lossy(), view, *SIZE, palette.help_lines)
    after, ask = mouse.wheeled((5, 5), rows, view, lossy(), 1)
    assert (after.scroll, ask) == (1, None)
    foot = text_of(rows[-1])
    assert "Esc close" in foot
    assert "apply" not in foot
    assert mouse.clicked((foot.index("Esc"), 23), rows, view, lossy())[0].help is False
    for at in ((foot.index("4Flo"), 23), (5, 5)):
        assert mouse.clicked(at, rows, view, lossy()) == (view, None)


async def test_esc_clears_a_message_that_was_just_said() -> None:
    import time

    app = Nettop(View(), replace(lossy(), notes=(Note("it cannot be", "bad", time.time()),)))
    app.actions = Recorder()
    async with app.run_test(size=SIZE) as pilot:
        await settled(app, pilot)
        assert "it cannot be" in "\n".join(map(text_of, app.board.shown))
        await pilot.press("escape")
        await settled(app, pilot)
        assert "it cannot be" not in "\n".join(map(text_of, app.board.shown))


# The command palette: what can be done with the row under the cursor comes first.


async def test_an_empty_search_lists_what_can_be_done_now_first() -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        wanted = [title for title, _, _ in palette.commands(app.view, app.target_scene())]
        await pilot.press("ctrl+p")
        rows = app.screen.query_one(OptionList)
        while rows.option_count < len(wanted):
            await pilot.pause(0.05)
        shown = [str(rows.get_option_at_index(at).prompt) for at in range(len(wanted))]
        assert [one.partition("\n")[0] for one in shown] == wanted
        assert wanted != sorted(wanted)
