"""Graphs of braille dots: what is known shows, and no cell is lost."""

from folded import folded

from nettop.terms import braille
from nettop.terms.text import plain, text_of


def test_two_values_share_a_cell_and_fill_from_the_bottom() -> None:
    assert braille.area([4.0, 2.0], 1, 4.0) == ("⣧",)
    assert braille.area([8.0, 4.0], 2, 8.0) == ("⡇", "⣿")


def test_a_graph_that_hangs_fills_from_the_top() -> None:
    assert braille.area([4.0, 2.0], 1, 4.0, down=True) == ("⡟",)
    assert braille.area([8.0, 4.0], 2, 8.0, down=True) == ("⣿", "⡇")


def test_what_is_above_zero_has_a_dot_and_what_is_not_known_has_none() -> None:
    assert braille.area([0.001, None, 0.0, -3.0], 3, 1e9) == ("  ", "  ", "⡀ ")
    assert braille.area([1.0, 2.0], 1, 0.0) == (" ",)


def test_what_is_above_the_top_stops_there() -> None:
    assert braille.area([9.0, 9.0], 2, 4.0) == ("⣿", "⣿")


@folded("count", [0, 1, 2, 7, 200])
@folded("rows", [1, 5, 90])
def test_every_line_has_a_cell_for_each_pair(count: int, rows: int) -> None:
    lines = braille.area([1.0] * count, rows, 1.0)
    assert len(lines) == min(rows, braille.MOST)
    assert {len(line) for line in lines} == {(count + 1) // 2}


def test_without_unicode_a_fuller_cell_is_a_darker_sign() -> None:
    cells = braille.area([0, 1, 1, 1, 2, 2, 3, 3, 4, 4], 1, 4.0)[0]
    assert text_of(plain(((cells, ""),))) == "..:=#"


def test_the_blanks_of_a_graph_have_no_role() -> None:
    assert braille.parts(" ⣧ ⣿⣿ ", "rx") == (
        (" ", ""), ("⣧", "rx"), (" ", ""), ("⣿⣿", "rx"), (" ", ""),
    )  # fmt: skip
    assert braille.parts("", "rx") == ()
