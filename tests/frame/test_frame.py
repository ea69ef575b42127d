"""Rates: a counter that goes on has one, one that goes back or is unknown has none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.frame.fields import counter, gauge, label, light, vector
from nettop.frame.pairs import entries
from nettop.frame.rates import Entry, per_second


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
