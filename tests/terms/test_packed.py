"""Rows of numbers, packed: what comes back is what went in, as far as its letter keeps it."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.views.past import Layout, Packed


class Row(NamedTuple):
    rate: float | None
    events: int | None


LAYOUT = Layout(Row, "fQ")
EXACT = 1 << 20  # a float of 32 bits holds these
ROWS = st.dictionaries(
    st.text(max_size=4),
    st.tuples(
        st.none() | st.integers(-EXACT, EXACT).map(float), st.none() | st.integers(0, 2**64 - 2)
    ),
    max_size=6,
)


@given(ROWS)
def test_rows_come_back(rows: dict[str, tuple[float | None, int | None]]) -> None:
    packed: Packed[Row] = Packed(LAYOUT).then(rows)
    assert dict(packed) == rows
    assert list(packed) == list(rows)
    assert len(packed) == len(rows)
    for name, row in rows.items():
        assert packed[name] == packed.get(name) == row
    assert packed.get("absent", 7) == 7
    assert packed.get("absent") is None
    with pytest.raises(KeyError):
        packed["absent"]


@given(ROWS, st.sets(st.text(max_size=4)))
def test_only_some_rows(rows: dict[str, tuple[float | None, int | None]], names: set[str]) -> None:
    packed: Packed[Row] = Packed(LAYOUT).then(rows)
    assert dict(packed.only(names)) == {k: v for k, v in rows.items() if k in names}
    assert packed.only(set(rows) | {"other"}) is packed


def test_equal_names_are_shared() -> None:
    first: Packed[Row] = Packed(LAYOUT).then({"a b": (1.0, 1), "c d": (2.0, 2)})
    again = first.then({"a b": (3.0, 3), "c d": (4.0, 4)})
    other = first.then({"c d ".strip(): (5.0, 5)})
    assert again._names is first._names
    assert other._names[0] is first._names[1]


@pytest.mark.parametrize(("value", "kept"), [
    (3e38, 3e38), (4e38, 3e38), (-4e38, -3e38), (float("inf"), 3e38), (0.0, 0.0), (None, None),
])  # fmt: skip
def test_a_rate_stays_within_a_float(value: float | None, kept: float | None) -> None:
    row = LAYOUT.unpack(LAYOUT.pack((value, 0)), 0)
    assert row.rate == (None if kept is None else pytest.approx(kept))


@pytest.mark.parametrize(("value", "kept"), [
    (0, 0), (-5, 0), (2**64 - 2, 2**64 - 2), (2**64 - 1, 2**64 - 2), (2**70, 2**64 - 2),
    (7.9, 7), (None, None),
])  # fmt: skip
def test_a_count_stays_within_64_bits(value: float | None, kept: int | None) -> None:
    assert LAYOUT.unpack(LAYOUT.pack((0.0, value)), 0).events == kept
