"""The board: only changed rows are drawn, in every theme."""

from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.style import Style
from scenes import SCENES, lossy, storied
from textual.geometry import Region
from textual.strip import Strip
from tui_app import settled

from nettop import panes
from nettop.panes import page
from nettop.terms.text import Line, line, text_of
from nettop.tui import themes
from nettop.tui.internals import Rows
from nettop.tui.screen import Nettop, Tick
from nettop.views.view import THEMES, Options, View


async def test_k_changed_rows_are_k_drawn_rows() -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
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
        await settled(app, pilot)
        before = app.board.drawn
        app.post_message(Tick(lambda _old: lossy()))
        await pilot.pause()
        assert app.board.drawn == before
        assert not app.screen._dirty_widgets


async def test_only_a_row_of_another_width_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        measured: list[int] = []
        adjust = Strip.adjust_cell_length

        def counted(strip: Strip, width: int, style: Style | None = None) -> Strip:
            measured.append(width)
            return adjust(strip, width, style)

        monkeypatch.setattr(Strip, "adjust_cell_length", counted)
        lines = list(app.board.shown)
        app.board.show([(("⣿" * 120, "bad"),), *lines[1:]])
        assert not measured
        app.board.show([(("short", "bad"),), *lines[1:]])
        assert measured == [120]
        strip = app.board.render_line(0)
        assert (strip.text, strip.cell_length) == ("short".ljust(120), 120)


@pytest.mark.parametrize(
    ("before", "after", "column", "text"),
    [
        (line("one", ("two", "bad"), "three"), line("one", ("six", "bad"), "three"), 3, "sixthree"),
        (line("⣿⣿", "宽", "a"), line("⣿⣿", "宽", "b"), 4, "b"),
        (line("one", "two"), line("one"), 3, ""),
        (line("one"), line("one", "two"), 3, "two"),
        (line("one"), line(("one", "bad")), 0, "one"),
        (line("one"), (), 0, ""),
    ],
)
async def test_a_row_is_written_from_its_first_change_on(
    monkeypatch: pytest.MonkeyPatch, before: Line, after: Line, column: int, text: str
) -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        written: list[Rows] = []
        monkeypatch.setattr(app, "_display", lambda _screen, rows: written.append(rows))
        lines = list(app.board.shown)
        app.board.show([*lines[:7], before, *lines[8:]])
        app.board.show([*lines[:7], after, *lines[8:]])
        [(row, (at, strip))] = written[-1].pieces.items()
        assert (row, at, strip.text) == (7, column, text.ljust(120 - column))
        assert written[-1].render_segments(app.console).startswith(f"\x1b[8;{column + 1}H")


async def test_what_is_written_adds_up_to_the_lines_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        terminal = [text_of(row) for row in app.board.shown]
        written = []

        def write(_screen: object, rows: object) -> None:
            for y, (column, strip) in rows.pieces.items() if isinstance(rows, Rows) else ():
                assert terminal[y].isascii() or cell_len(terminal[y]) == len(terminal[y])
                terminal[y] = terminal[y][:column] + strip.text
                written.append(column)

        monkeypatch.setattr(app, "_display", write)
        for key in (*"2345678", "down", "enter", "escape", "1", "down", "down", "i", "I"):
            await pilot.press(key)
            app.post_message(Tick(lambda _old: storied()))
            await pilot.pause()
            assert terminal == [text_of(row) for row in app.board.shown]
        assert any(written)


async def test_rows_are_written_at_once_unless_something_lies_over_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        written: list[Rows] = []
        called: list[object] = []
        monkeypatch.setattr(app, "_display", lambda _screen, rows: written.append(rows))
        monkeypatch.setattr(app.board, "refresh", lambda *regions: called.extend(regions))
        lines = list(app.board.shown)
        changed = [*lines[:7], (("seven".ljust(120), "bad"),), *lines[8:]]
        app.board.show(changed)
        assert [list(rows.pieces) for rows in written] == [[7]]
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
    def never(*_args: object) -> list[Line]:
        raise AssertionError("drawn though hidden")

    hidden = {name: replace(panes.pane(name), lines=never) for name in panes.names()}
    hidden["overview"] = panes.pane("overview")
    monkeypatch.setattr(page, "pane", hidden.__getitem__)
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
    app = Nettop(View(options=Options(theme="mono")), lossy())
    async with app.run_test(size=(100, 30)) as pilot:
        app.command("theme", "dark")
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


@pytest.mark.parametrize("name", THEMES)
def test_a_theme_dresses_every_role(name: str) -> None:
    used = set()
    for build in SCENES.values():
        for pane in panes.names():
            for row in panes.page.compose(build(), View(pane=pane), 160, 50):
                used |= {role for _, role in row}
    palette = themes.palette(name)
    shades = {role for role in used if role[:3] in ("rx-", "tx-")}
    plain = {
        *shades,
        "",
        "head",
        "accent",
        "good",
        "user",
        "system",
        "softirq",
        "irq",
        "idle",
        "faint",
    }
    assert used - set(palette) <= (plain | {"dim", "steal"} if name in ("mono", "ansi") else set())


async def test_a_row_is_made_again_for_another_width_only() -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        drawn = app.board.drawn
        for width, more in ((120, 0), (100, 1), (100, 1), (120, 2)):
            app.board._strip(5, width)
            assert app.board.drawn - drawn == more
