"""Rates: a counter that goes on has one, one that goes back or is unknown has none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pytest
from folded import folded
from hypothesis import given
from hypothesis import strategies as st

from nettop.collect import link_stats
from nettop.frame.fields import columns, counter, gauge, label, light, vector
from nettop.frame.pairs import entries
from nettop.frame.rates import Counted, Entry, per_second


@light
@dataclass(frozen=True, slots=True)
class Beside:
    """Its counters stand side by side."""

    name: str = label("name")
    one: float | None = counter("one", default=None)
    two: float | None = counter("two", default=None)
    state: int | None = gauge("state", default=None)


@light
@dataclass(frozen=True, slots=True)
class Mixed:
    """A gauge stands between its counters."""

    name: str = label("name")
    one: float | None = counter("one", default=None)
    state: int | None = gauge("state", default=None)
    two: float | None = counter("two", default=None)


@dataclass(frozen=True, slots=True)
class Plain:
    """An ordinary dataclass with counters by CPU."""

    name: str = label("name")
    one: float | None = counter("one", default=None)
    two: float | None = counter("two", default=None)
    state: int | None = gauge("state", default=None)
    by_cpu: Mapping[int, int] | None = vector("by CPU", default=None)


KINDS: tuple[Any, ...] = (Beside, Mixed, Plain)
COUNT = st.none() | st.integers(0, 1 << 64)


@given(st.sampled_from(KINDS), COUNT, COUNT, COUNT, COUNT, st.floats(0.01, 100))
def test_each_counter_has_its_own_rate(
    kind: Any, a: int | None, b: int | None, c: int | None, d: int | None, seconds: float
) -> None:
    old: Any = kind(name="x", one=a, two=b, state=1)
    new: Any = kind(name="x", one=c, two=d, state=7)
    rate: Any = per_second(old, new, seconds)
    assert rate is not None
    assert type(rate) is kind
    assert (rate.name, rate.state) == ("x", 7)
    for was, now, found in ((a, c, rate.one), (b, d, rate.two)):
        if was is None or now is None or now < was:
            assert found is None
        else:
            assert found == (now - was) / seconds
    for f in fields(kind):
        if f.metadata["kind"] == "counter":
            assert Entry(new, before=old, seconds=seconds).rate(f.name) == getattr(rate, f.name)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_past_there_is_no_rate(kind: Any) -> None:
    assert per_second(None, kind(name="x", one=1, two=2), 1.0) is None
    assert per_second(kind(name="x"), kind(name="x"), 0.0) is None


def test_counters_by_cpu_are_sparse() -> None:
    rate = per_second(Plain("x", by_cpu={0: 5}), Plain("x", by_cpu={0: 5, 7: 4}), 2.0)
    assert rate is not None
    assert rate.by_cpu == {7: 2.0}
    back = per_second(Plain("x", by_cpu={0: 5}), Plain("x", by_cpu={0: 4}), 2.0)
    assert back is not None
    assert back.by_cpu is None


def test_rows_that_come_and_go_keep_their_own_past() -> None:
    first = entries([Beside("a", 1, 1), Beside("b", 10, 10)], (), 0.0)
    second = entries([Beside("b", 30, 10), Beside("c", 1, 1)], first, 2.0)
    assert [entry.now.name for entry in second] == ["b", "c"]
    assert second[0].per_s == Beside("b", 10.0, 0.0)
    assert second[1].per_s is None


def test_a_row_handed_out_again_is_still() -> None:
    row = Beside("a", 1, 1)
    first = entries([row], (), 0.0)
    second = entries([row], first, 1.0)
    third = entries([row], second, 1.0)
    assert second[0].per_s == Beside("a", 0.0, 0.0)
    assert third is second


def _rates_of_one(kind: Any, *counts: int | None) -> list[float | None]:
    """The rates of a counter in turn, read once a second."""
    found: list[float | None] = []
    last: Sequence[Entry[Any]] = ()
    for count in counts:
        last = entries([kind(name="x", one=count, two=7, state=1)], last, 1.0)
        (entry,) = last
        row = entry.per_s
        assert row is None or row.one == entry.rate("one")
        found.append(None if row is None else row.one)
    return found[1:]


@folded("kind", KINDS)
@folded(
    ("counts", "rates"),
    [
        ((1000, 0, 1500, 1600), [None, None, 100]),  # zeros once
        ((1000, 0, 0, 0, 1500, 1600), [None, 0, 0, None, 100]),  # zeros for a while
        ((1000, 0, 1000, 1000, 1010), [None, None, 0, 10]),  # of an idle interface
        ((1000, 400, 1500, 1600), [None, None, 100]),  # any lower value
        ((1000, 0, 1500, 0, 1600), [None, None, None, None]),
        ((1000, 0, 300, 600, 1600), [None, 300, 300, 1000]),  # a reset
        ((1000, 0, 0, 300, 1300), [None, 0, 300, 1000]),
        ((1 << 32, 200, 500, 800), [None, 300, 300]),  # a counter of 32 bits wraps
        ((1000, None, 1500, 1600), [None, None, 100]),
        ((1000, 1000, 1000, 1500), [0, 0, 500]),  # it stands still
    ],
)
def test_a_counter_that_comes_back_has_no_rate(
    kind: Any, counts: tuple[int | None, ...], rates: list[float | None]
) -> None:
    assert _rates_of_one(kind, *counts) == rates


def test_a_column_that_comes_back_has_no_rate() -> None:
    last: Sequence[Entry[Beside]] = ()
    found = []
    for count in (1000, 0, 0, 1500, 1600):
        rows = columns(Beside, [Beside("x", count, 5), Beside("y", 50, 5)])
        rows = rows.like(last.now if isinstance(last, Counted) else None)
        last = entries(rows, last, 1.0)
        assert isinstance(last, Counted)
        each = [row.one for entry in last if (row := entry.per_s) is not None]
        assert list(last.rates("one")) == each
        found.append(each)
    assert found == [[], [None, 0], [0, 0], [None, 0], [100, 0]]


def test_the_count_of_a_cpu_that_comes_back_has_no_rate() -> None:
    last: Sequence[Entry[Plain]] = ()
    found = []
    for count in (1000, 0, 1500, 1600):
        last = entries([Plain("x", by_cpu={0: count})], last, 1.0)
        found.append(row.by_cpu if (row := last[0].per_s) is not None else None)
    assert found == [None, None, None, {0: 100}]


def test_another_interface_of_the_name_counts_from_its_own_start() -> None:
    one, zero, busy = (
        link_stats.Row("eth0", index, *[count] * 23)
        for index, count in ((1, 1000), (2, 0), (2, 5000))
    )
    last = entries([busy], entries([zero], entries([one], (), 1.0), 1.0), 1.0)
    assert last[0].rate("rx_bytes") == 5000
    assert entries([busy], entries([one], (), 1.0), 1.0)[0].per_s is None
