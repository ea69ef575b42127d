"""Distributions as plots."""

from __future__ import annotations

from nettop.terms.braille import histogram


def test_bins_span_the_range_and_the_tallest_fills_the_rows() -> None:
    assert histogram([(0.0, 4), (1.0, 2), (2.0, 1), (3.0, 4)], 2) == ("⣧⣸",)
    assert histogram([(0.0, 8), (3.0, 4)], 2, 2) == ("⡇ ", "⡇⢸")


def test_a_rare_value_is_never_lost() -> None:
    assert histogram([(0.0, 1_000_000), (100.0, 1)], 3) == ("⡇ ⢀",)


def test_one_value_or_none_is_no_error() -> None:
    assert histogram([(7.0, 3)], 2) == ("⡇ ",)
    assert histogram([], 5) == ()
    assert histogram([(1.0, 0)], 5) == ()
    assert histogram([(1.0, 1)], 0) == ()
