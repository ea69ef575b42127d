"""Traffic of others: what limits it, or that nothing here does."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from recorded_hosts import HERE, last
from scenes import lossy

from nettop.facts import Facts
from nettop.facts.kinds.core import Load
from nettop.facts.kinds.nic import Counters
from nettop.facts.limits import Limit, Reading, words
from nettop.facts.limits.interfaces import Interfaces, forwarded, spent
from nettop.facts.limits.ladder import labelled
from nettop.facts.limits.window import Window
from nettop.frame.rates import Frame
from nettop.views.stages import bars

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


def full(
    idle: tuple[float, ...], soft: float, packets: tuple[float, ...], ports: Sequence[Limit] = ()
) -> Limit:
    """What limits a port of a router where python takes what the interrupts leave of each core."""
    facts = router(1e5, 1e5)
    cores = tuple(replace(facts.cores[0], cpu=cpu, processed=each)
                  for cpu, each in enumerate(packets))  # fmt: skip
    facts = replace(facts, cores=cores)
    window = Window()
    load = {cpu: Load(100 - soft - part, 0.0, 0.0, soft, 0.0, 0.0, part)
            for cpu, part in enumerate(idle)}  # fmt: skip
    window.add(Frame(1.0, 1.0, {}), (), load)
    window.take(1.0, {cpu: {f"python[{cpu}]": 100 - soft - part} for cpu, part in enumerate(idle)})
    nics, forwards = ports or [WAY, OTHER], forwarded(facts)
    return Interfaces().build(nics, (), forwards=forwards, cpu=spent(window, facts))[0]


@pytest.mark.parametrize(
    ("idle", "soft", "packets", "because"),
    [
        ((0.0, 1.0), 8.0, (9e4, 9e4), "cores 0-1 are full, by python[0] (46% of 2 cores), python"),
        ((0.0, 1.0), 8.0, (9e4, 1e2), "cores 0-1 are full, by python[0] (46% of 2 cores), python"),
        ((0.0, 60.0), 90.0, (9e4, 1e2), "core 0 is full, by interrupts; the forwarded traffic"),
        ((0.0, 60.0), 8.0, (9e4, 1e2), ""),  # its programs can run on core 1
        ((0.0, 60.0), 90.0, (9e4, 9e4), ""),  # core 1 takes packets too, and has time
        ((0.0, 0.0), 0.5, (9e4, 9e4), ""),  # little is forwarded
        ((0.0, 0.0), 8.0, (0.0, 0.0), ""),  # softnet_stat was not read
    ],
)
def test_cores_without_time_limit_what_is_forwarded(
    idle: tuple[float, ...], soft: float, packets: tuple[float, ...], because: str
) -> None:
    one = full(idle, soft, packets)
    if not because:
        assert words.limited(one) == "forwarded traffic, which nothing here limits"
        return
    assert words.limited(one) == "limited by the CPU"
    assert because in one.stage.because
    assert one.stage.because.endswith("; the forwarded traffic leaves by eth1")
    scene = lossy()
    assert scene.facts is not None
    marked = [bar for bar in bars(scene.facts, one) if bar.limits]
    assert [bar.stage for bar in marked] == ["core"]
    assert labelled(replace(scene.facts, limits=(one,))).host.crowd == one.stage.how
    assert f"full, by {one.stage.how};" in one.stage.because


def test_a_trickle_waits_for_no_core() -> None:
    """It needs hardly any time: what fills the cores says nothing of it."""
    little = [replace(port, rate=9e4) for port in (WAY, OTHER)]
    one = full((0.0, 1.0), 8.0, (9e4, 9e4), little)
    assert words.limited(one) == "forwarded traffic, which nothing here limits"


def test_acknowledgments_do_not_wait_for_the_cores_where_something_limits_their_data() -> None:
    """A shaper in a container limits what goes the other way, while programs fill all cores."""
    facts = last(Path(HERE / "live/recordings/pods-tbf-inside.host.gz")).facts
    assert facts.host.idle == 0
    told = {(one.target, one.direction): words.limited(one) for one in facts.limits}
    assert told["left", "rx"].endswith("limited by the traffic shaper tbf of python in space7")
    assert told["left", "tx"] == "forwarded traffic, which nothing here limits"
    assert facts.host.crowd is None


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
