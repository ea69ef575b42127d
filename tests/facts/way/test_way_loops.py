"""Packets that come back, and those of a router with one arm."""

from __future__ import annotations

import pytest

from nettop.facts.way import Flow, Way
from nettop.facts.way.flow import PASSES, Step
from nettop.facts.way.loops import loop

WAY = Way(Flow("10.0.9.1", 443), "forward",
          (Step("neighbour", PASSES, "seen", neighbours=("10.0.0.2@a0",)),), "a0")  # fmt: skip


def test_a_loop_names_the_router_that_sends_them_back() -> None:
    found = loop(WAY, [62, 60, 4, 2])
    assert found is not None
    assert "come back on a0" in found.saw
    assert "ttl 62 down to 2): 10.0.0.2@a0 sends them" in found.saw
    assert "ip route add unreachable" in found.change


@pytest.mark.parametrize("hops", [[], [62, 2, 1], [64, 63, 118, 57, 44]])
def test_what_only_passes_by_one_interface_is_no_loop(hops: list[int]) -> None:
    assert loop(WAY, hops) is None
