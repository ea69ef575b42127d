"""What no table of this namespace has: what the kernel learnt, and what rides on an interface."""

from dataclasses import replace
from typing import Any

import pytest
import way_tables as host
from way_tables import FAR, answer, frame, switches, went

from nettop.collect import neighbour_states, netns_children
from nettop.facts.way import Flow, Way
from nettop.facts.way.flow import PASSES, Step, loop


def test_a_next_hop_that_was_learnt_by_a_redirect_is_a_suspect() -> None:
    learnt = answer("192.0.2.9", kind="unicast", network="0.0.0.0/0", table=254, interface="a0",
                    address=host.NEAR, gateway="10.0.0.3", redirected=True)  # fmt: skip
    way = went("192.0.2.9", frame(ways=[learnt]))
    assert way.decider is None
    assert way.suspect is not None
    words = f"redirect that this host accepted, where route 0.0.0.0/0 has {host.GATEWAY}"
    assert words in way.suspect.saw
    assert "net.ipv4.conf.a0.accept_redirects=0; ip route flush cache" in way.suspect.change


def test_an_mtu_that_was_learnt_is_not_that_of_the_route() -> None:
    known: dict[str, Any] = {
        "network": "10.0.0.0/24",
        "table": 254,
        "interface": "a0",
        "address": host.NEAR,
    }
    learnt = answer(FAR, kind="unicast", mtu=552, locked=True, learnt=True, **known)
    way = went(FAR, frame(ways=[learnt]))
    assert any("mtu 552, learnt from a router" in one.saw for one in way.steps)
    assert way.suspect is None


def test_an_interface_does_not_reach_what_rides_on_it() -> None:
    failed = [neighbour_states.Row("a0", FAR, 4, "failed")]
    child = netns_children.Row(7, "eth0", "macvlan", 2, "web", 77, (FAR,))
    decider = went(FAR, frame(neighbour_states=failed, netns_children=[child])).decider
    assert decider is not None
    assert decider.saw.startswith(f"{FAR} is eth0 of namespace web, a macvlan on a0: a0 itself")
    assert decider.command == "nsenter -t 77 -n ip -d addr show eth0"
    assert decider.change.startswith("ip link add HOST link a0 type macvlan mode bridge")
    for other in (replace(child, below=3), replace(child, addresses=("10.0.0.9",))):
        decider = went(FAR, frame(neighbour_states=failed, netns_children=[other])).decider
        assert decider is not None
        assert "no neighbour answers" in decider.saw


# Packets that come back, and those of a router with one arm.


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


@pytest.mark.parametrize(
    ("believed", "doubted"), [(3_600_000, True), (60_000, False), (None, False)]
)
def test_a_neighbour_that_is_believed_for_an_hour_may_be_old(
    believed: int | None, *, doubted: bool
) -> None:
    known = [switches("all"), replace(switches("a0"), reachable_ms=believed), switches("b0")]
    way = went(FAR, frame(interface_sysctls=known), port=80)
    assert way.decider is None
    assert (way.suspect is not None) is doubted
    if way.suspect is not None:
        assert "net.ipv4.neigh.a0.base_reachable_time_ms is 3600000" in way.suspect.saw
        assert way.suspect.change.startswith("ip neigh del 10.0.0.2 dev a0")
