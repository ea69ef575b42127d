"""Which moments of the history are given: all, or those of the last seconds."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from scenes import lossy

from nettop.facts.kinds.nic import Counters, Nic
from nettop.views import past

FINE = tuple(replace(past.NONE, at=float(at)) for at in range(100, 105))
COARSE = tuple(replace(past.NONE, at=float(at)) for at in range(70, 100, 10))
WHOLE = past.History(FINE, COARSE)


@pytest.mark.parametrize(
    ("seconds", "first", "count"),
    [(None, 70, 8), (0.0, 104, 1), (3.0, 101, 4), (4.0, 100, 5), (24.0, 80, 7), (1e9, 70, 8)],
)
def test_the_moments_of_the_last_seconds(seconds: float | None, first: int, count: int) -> None:
    found = WHOLE.moments(seconds)
    assert (found[0].at, len(found)) == (first, count)
    assert found == (*COARSE, *FINE)[-count:]


def test_without_moments_there_are_none_for_any_time() -> None:
    empty = past.History((), ())
    assert empty.moments() == empty.moments(5.0) == ()


def veth(number: int, rate: float, **more: Any) -> Nic:
    counters = Counters(rx_bytes=rate, tx_bytes=0.0)
    return Nic(f"veth{number}", kind="veth", per_s=counters, total=counters, **more)


def kept(rates: Sequence[float], before: past.Summary = past.NONE) -> past.Summary:
    """The summary of veths with these rates, and of a real interface at rest, the last of all."""
    known = lossy().facts
    assert known is not None
    idle = Counters(rx_bytes=0.0, tx_bytes=0.0)
    real = replace(known.nics[1], name="eth0", kind="nic", per_s=idle, total=idle)
    nics = (*(veth(number, rate) for number, rate in enumerate(rates)), real)
    return past.moment(replace(known, nics=nics), 0.0, before)


def test_of_many_interfaces_those_that_move_data_are_kept() -> None:
    rates = [0.0] * 300
    rates[299], rates[150] = 1e8, 2e3
    first = kept(rates)
    assert len(first.ports) == past.PORTS
    assert {"veth299", "veth150", "eth0"} <= set(first.ports)
    assert first.ports["veth299"].rx == 1e8
    calm = kept([0.0] * 300, first)  # the transfer pauses: its graph goes on
    assert {"veth299", "veth150", "eth0"} <= set(calm.ports)
    noise = kept([3000.0 + number for number in range(300)], calm)  # a broadcast to all
    assert {"veth299", "veth150"} <= set(noise.ports)
