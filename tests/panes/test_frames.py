"""Frames: where there is room they enclose all of a pane, and cost no more than a row or two."""

from dataclasses import replace

import pytest
from folded import folded
from pane_text import words
from scenes import SCENES, lossy, storied

from nettop import panes
from nettop.panes import page
from nettop.panes.frame import FRAMED, enclosed
from nettop.panes.parts import section
from nettop.terms import braille
from nettop.terms.text import Line, line, line_cells, text_of
from nettop.views.scene import Note
from nettop.views.view import View

OWN = ("overview", "options")  # before there is a graph; with a preview of any height
OTHERS = [name for name in panes.names() if name not in OWN]
LEFT, RIGHT = set("╭│├╰"), set("╮│┤╯")


@folded("scene", ["lossy", "storied", "big", "healthy"])
@folded("size", [(80, 40), (120, FRAMED), (120, 38), (200, 58)])
@folded("name", OTHERS)
def test_every_row_of_a_large_pane_is_in_a_frame(
    name: str, size: tuple[int, int], scene: str
) -> None:
    width, height = size
    rows = panes.pane(name).lines(SCENES[scene](), View(pane=name), width, height)
    assert {line_cells(row) for row in rows} == {width}
    assert len(rows) == height
    ends = [(text_of(row)[0], text_of(row)[-1]) for row in rows]
    assert {left for left, _ in ends} <= LEFT
    assert {right for _, right in ends} <= RIGHT
    assert (ends[0], ends[-1]) == (("╭", "╮"), ("╰", "╯"))


@folded("name", panes.names())
def test_a_small_pane_has_no_frame(name: str) -> None:
    rows = panes.pane(name).lines(storied(), View(pane=name), 80, FRAMED - 1)
    assert not {text_of(row)[:1] for row in rows} & LEFT


@pytest.mark.parametrize("width", [40, 50, 60])
def test_a_narrow_pane_keeps_the_value_and_what_it_would_become(width: int) -> None:
    settings = words(panes.pane("nic").lines(lossy(), View(pane="nic"), width, 22)).splitlines()
    ring = next(row.split() for row in settings if row.startswith(" ring.rx "))
    assert ring[1:3] == ["256", "▸"] or ring[1:4] == ["256", "4096", "▸"]
    assert "tx  12.1 Mb/s" in settings[1]


@pytest.mark.parametrize("width", [50, 60, 80])
def test_the_keys_of_a_countdown_are_never_cut(width: int) -> None:
    told = words(page.compose(storied(), View(), width, 24))
    assert "c keep, u undo now" in told


def test_a_heading_inside_a_frame_joins_both_sides() -> None:
    rows = [section("ONE", "remark", 20), line("text"), section("TWO", "", 20), line("more")]
    assert [text_of(row) for row in enclosed(rows, 22, 7)] == [
        "╭─ ONE ─────── remark ─╮".replace("───────", "─────"),
        "│text                │",
        "├─ TWO ──────────────┤",
        "│more                │",
        "│                    │",
        "│                    │",
        "╰────────────────────╯",
    ]


def test_rows_without_a_heading_have_the_title_above_them() -> None:
    rows = [text_of(row) for row in enclosed([line("text")], 22, 3, "NAME")]
    assert rows == ["╭─ NAME ─────────────╮", "│text                │", "╰────────────────────╯"]


def test_a_line_joins_values_and_leaves_gaps() -> None:
    assert braille.trace([1.0, 1.0, 1.0, 1.0], 1, 1.0) == ("⠉⠉",)
    assert braille.trace([0.0, 0.0, None, None], 1, 1.0) == ("⣀ ",)
    assert braille.trace([0.0, 1.0], 1, 1.0) == ("⡸",)  # joined
    assert braille.trace([], 2, 1.0) == ("", "")


def chosen(rows: list[Line]) -> list[str]:
    """The texts under the cursor, below the headings."""
    return [text for row in rows[3:-1] for text, role in row if role == "select"]


@folded("size", [(120, 40), (200, 60)])
@folded("name", panes.names())
def test_a_note_moves_no_part_and_hides_no_cursor(name: str, size: tuple[int, int]) -> None:
    scene = replace(lossy(), notes=())
    told = replace(scene, notes=(Note("Esc: nothing to close", "warn", 0.0),))
    for row in panes.pane(name).items(scene, View(pane=name))[-1:]:
        view = page.painted(scene, View(pane=name).at(on=row), *size)
        before, after = (page.compose(one, view, *size) for one in (scene, told))
        assert bool(chosen(before)) is bool(chosen(after))
        assert before[:-2] == after[:-2]
        assert text_of(after[-2]).strip("╰─╯ ") == "Esc: nothing to close"
        assert text_of(before[-2])[:1] in ("╰", " ")
        assert text_of(before[-2])[:1] == text_of(after[-2])[:1]  # the frame stays closed
