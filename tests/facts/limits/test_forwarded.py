"""Traffic of others: what limits it, or that nothing here does."""

from dataclasses import replace
from pathlib import Path

import pytest
from recorded_hosts import HERE, last
from scenes import lossy

from nettop.facts import Facts
from nettop.facts.kinds.nic import Counters
from nettop.facts.limits import Limit, Reading, words
from nettop.facts.limits.interfaces import Interfaces, forwarded

WAY = Limit("nic", "eth0", "rx", 8e8, nic="eth0")
OTHER = Limit("nic", "eth1", "tx", 8e8, nic="eth1")
FULL = Reading("qdisc", "here", "tbf", "computed", "99% of 800 Mb/s configured", 0.99, None, 1.0)


def router(received: float, passed: float) -> Facts:
    facts = lossy().facts
    assert facts is not None
    return replace(facts, host=replace(facts.host, ip_in=received, ip_forwarded=passed))


def told(facts: Facts, *others: Limit) -> Limit:
    nics = [one for one in others if one.over == "nic"]
    flows = [one for one in others if one.over == "flow"]
    return Interfaces().build([WAY, *nics], flows, forwards=forwarded(facts))[0]


def test_of_what_a_router_forwards_nothing_here_is_full() -> None:
    one = told(router(1e5, 0.99e5), OTHER)
    assert words.limited(one) == "forwarded traffic, which nothing here limits"
    assert one.stage.stage == "unknown"
    assert "forwarded" not in words.limited(told(router(1e5, 0.2e5), OTHER))
    assert forwarded(router(0.0, 0.0)) == frozenset()


def test_the_interface_that_is_full_is_named_at_the_one_that_receives() -> None:
    one = told(router(1e5, 1e5), replace(OTHER, stage=FULL, ladder=(FULL,)))
    assert words.limited(one) == "forwarded traffic, limited by the traffic shaper tbf of eth1"
    assert one.stage.because.endswith(FULL.because)
    slow = replace(OTHER, stage=FULL, rate=2e8)
    assert words.limited(told(router(1e5, 1e5), slow)).endswith("which nothing here limits")


def test_a_port_carries_traffic_of_others_where_its_bridge_carries_little() -> None:
    facts = router(0.0, 0.0)
    port = replace(facts.nics[0], name="tap0", kind="veth", master="br0",
                   per_s=Counters(rx_bytes=1e8, tx_bytes=1e6))  # fmt: skip
    bridge = replace(port, name="br0", kind="bridge", master=None,
                     per_s=Counters(rx_bytes=1e3, tx_bytes=1e6))  # fmt: skip
    assert forwarded(replace(facts, nics=(port, bridge))) == {("tap0", "rx")}


@pytest.mark.parametrize(
    ("host", "nic", "by"),
    [
        ("pods-paced", "left", "limited by the pacing limit of python in space1"),
        ("pods-htb-inside", "left", "limited by the traffic shaper htb of python in space2"),
        ("pods-bridged", "left", "limited by the traffic shaper tbf of right"),
    ],
)
def test_of_containers_the_flow_or_the_interface_that_limits_is_named(
    host: str, nic: str, by: str
) -> None:
    facts = last(Path(HERE / f"live/recordings/{host}.host.gz")).facts
    one = next(one for one in facts.limits if (one.target, one.direction) == (nic, "rx"))
    assert words.limited(one) == f"forwarded traffic, {by}"
