"""The letters of groups, as columns of a spreadsheet."""

from __future__ import annotations

from itertools import product
from string import ascii_uppercase

import pytest

from nettop.fleet.differing import letters


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "A"), (25, "Z"), (26, "AA"), (27, "AB"), (52, "BA"), (701, "ZZ"), (702, "AAA")],
)
def test_the_letters_of_a_group(number: int, name: str) -> None:
    assert letters(number) == name


def test_the_letters_of_1000_groups_are_in_order() -> None:
    names = ["".join(one) for size in (1, 2, 3) for one in product(ascii_uppercase, repeat=size)]
    assert [letters(number) for number in range(1000)] == names[:1000]
