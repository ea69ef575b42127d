"""Frames: where there is room they enclose all of a pane, and cost no more than a row or two."""

from __future__ import annotations

import pytest
from scenes import SCENES, storied

from nettop import panes
from nettop.panes.frame import FRAMED, enclosed
from nettop.panes.parts import section
from nettop.terms import braille
from nettop.terms.text import line, line_cells, text_of
from nettop.views.scene import View

OWN = ("overview", "options")  # before there is a graph; with a preview of any height
OTHERS = [name for name in panes.names() if name not in OWN]
LEFT, RIGHT = set("╭│├╰"), set("╮│┤╯")


@pytest.mark.parametrize("scene", ["lossy", "storied", "big", "healthy"])
@pytest.mark.parametrize("size", [(80, 40), (120, FRAMED), (120, 38), (200, 58)])
@pytest.mark.parametrize("name", OTHERS)
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


@pytest.mark.parametrize("name", panes.names())
def test_a_small_pane_has_no_frame(name: str) -> None:
    rows = panes.pane(name).lines(storied(), View(pane=name), 80, FRAMED - 1)
    assert not {text_of(row)[:1] for row in rows} & LEFT


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
