"""Sockets that rest wait longer, by the segments of the host; one that moves ends that."""

from types import SimpleNamespace
from typing import Any

import pytest

from nettop.frame.rates import Frame
from nettop.sampling.refresh import (
    FEW,
    LONGEST,
    OWNERS,
    RISE,
    SOCKETS,
    SOCKETS_REST,
    Budget,
    Stillness,
)

REST_NOW = dict.fromkeys((SOCKETS, OWNERS), SOCKETS_REST)


def frame(sockets: Any, rx: float | None, tx: float | None = 0.0) -> Frame:
    rates = {"tcp_in": rx, "tcp_out": tx}
    counted: list[Any] = [SimpleNamespace(rate=rates.get)]
    return Frame(0.0, 0.0, {SOCKETS: sockets, "snmp": counted})


def test_sockets_rest_until_more_segments_come_than_before() -> None:
    still, first, second = Stillness(), [1], [2]
    assert still.longest(None) == {}
    assert still.longest(frame(first, 4.0, 4.0)) == REST_NOW
    assert still.longest(frame(first, 1.0, 2.0)) == REST_NOW
    assert still.longest(frame(first, 3.0, RISE - 0.1)) == REST_NOW
    assert still.longest(frame(first, 3.0, RISE)) == {}
    assert still.longest(frame(first, 0.0)) == {}  # until they are read
    assert still.longest(frame(second, 3.0, RISE)) == REST_NOW


@pytest.mark.parametrize(("rx", "tx", "rests"), [
    (FEW - 0.1, 0.0, True), (FEW, 0.0, False), (0.0, FEW, False), (FEW / 2, FEW / 2, False),
    (None, 0.0, False), (0.0, None, False),
])  # fmt: skip
def test_a_host_that_moves_data_or_does_not_count_is_not_still(
    rx: float | None, tx: float | None, rests: bool
) -> None:
    for _ in range(2):
        assert Stillness().longest(frame([1], rx, tx)) == (REST_NOW if rests else {})


def test_without_the_tables_nothing_is_known() -> None:
    assert Stillness().longest(Frame(0.0, 0.0, {"snmp": []})) == {}
    assert Stillness().longest(Frame(0.0, 0.0, {SOCKETS: []})) == {}


def test_only_expensive_sockets_wait_for_a_minute() -> None:
    budget = Budget()
    for _ in range(2):
        budget.read({SOCKETS: 9.0, "processes": 9.0})
    pace = {SOCKETS: 1.0, "processes": 1.0}
    assert budget.stretched(pace, REST_NOW) == {SOCKETS: SOCKETS_REST, "processes": LONGEST}
    cheap = Budget()
    for _ in range(2):
        cheap.read({SOCKETS: 0.02})
    assert cheap.stretched({SOCKETS: 1.0}, REST_NOW) == {SOCKETS: 4.0}
