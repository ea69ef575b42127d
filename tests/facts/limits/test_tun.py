"""The program behind a TUN interface is named where its queue is full."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nettop.facts.kinds.program import Program
from nettop.facts.limits.stages.tun import readings

VPN = Program(7, "vpnd", nic="tun0")


def look(dropped: float, taken: float = 0.0, driver: str = "tun", *programs: Program) -> Any:
    rates = {"tx_dropped": dropped, "tx_packets": taken}
    return SimpleNamespace(
        over="nic", sends=True, nic=SimpleNamespace(name="tun0", driver=driver), device=None,
        counted=rates.get, facts=SimpleNamespace(more={"program": programs}),
    )  # fmt: skip


def test_a_reader_that_takes_nothing_limits() -> None:
    (found,) = readings(look(900.0, 0.0, "tun", VPN))
    assert (found.stage, found.name, found.held) == ("application", "vpnd[7]", 1.0)
    assert found.because == (
        "its queue is full: 900 packets/s are dropped, and 0 packets/s are taken"
    )


@pytest.mark.parametrize(("dropped", "driver"), [(0.0, "tun"), (900.0, "veth")])
def test_others_are_not_told_so(dropped: float, driver: str) -> None:
    assert list(readings(look(dropped, 5.0, driver))) == []


def test_a_burst_that_finds_it_full_does_not_limit() -> None:
    (found,) = readings(look(10.0, 990.0))
    assert (found.name, found.held) == ("program behind it", 0.01)
