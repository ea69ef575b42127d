"""The limit that the screen names, and the stages of its direction."""

from dataclasses import replace
from pathlib import Path

import pytest
from folded import folded
from recorded_hosts import HERE, HOSTS, last, name
from scenes import SCENES, WALL, healthy, lossy
from scenes.limits import IDLE, RING, THREAD, WIRE

from nettop import collect
from nettop.advice.rules.explain import prediction
from nettop.facts.flow_words import name as name_of
from nettop.facts.limits import Limit, Reading
from nettop.facts.limits.following import bound
from nettop.facts.limits.words import ANSWERS, FORWARDED, verdict
from nettop.host.recording import Replay, load
from nettop.panes.limit import stages
from nettop.terms.text import text_of
from nettop.views.observer import Observer
from nettop.views.scene import Scene
from nettop.views.stages import SPENT, Bar, at_fault, bars, flow_of, foremost, moves, taker
from nettop.views.view import View

PEER = Reading("peer", "there", "senders", "inferred", "no data waits at this end")
DROPS = Reading("application", "here", "python[2]", "measured", "waits", 1.0, None, 1.0)


def limit(
    direction: str, rate: float, stage: Reading, *ladder: Reading, nic: str = "eth0"
) -> Limit:
    return Limit("nic", nic, direction, rate, WALL, stage, (), None, (stage, *ladder), nic)


def scene_of(*limits: Limit) -> Scene:
    scene = lossy()
    assert scene.facts is not None
    return replace(scene, facts=replace(scene.facts, limits=limits))


def named(*limits: Limit, invert: bool = False) -> tuple[str, str]:
    found = foremost(scene_of(*limits), View().at(invert=invert))
    assert found is not None
    return found.target, found.direction


def test_the_direction_that_carries_most_is_named_and_the_other_on_request() -> None:
    ways = limit("rx", 9e9, PEER), limit("tx", 3e8, IDLE)
    assert named(*ways) == ("eth0", "rx")
    assert named(*ways, invert=True) == ("eth0", "tx")
    assert named(ways[0], invert=True) == ("eth0", "rx")  # there is no other


def test_a_limit_of_this_host_comes_first_unless_that_direction_only_acknowledges() -> None:
    assert named(limit("rx", 9e9, PEER), limit("tx", 2e9, THREAD)) == ("eth0", "tx")
    assert named(limit("rx", 9e9, PEER), limit("tx", 2e8, THREAD)) == ("eth0", "rx")
    assert named(limit("rx", 9e9, WIRE), limit("tx", 3e9, THREAD)) == ("eth0", "tx")


def test_of_forwarded_traffic_that_nothing_here_limits_no_stage_has_the_mark() -> None:
    stage = Reading("unknown", "there", "", "inferred", FORWARDED)
    one, scene = limit("tx", 4e9, stage), lossy()
    assert scene.facts is not None
    assert [bar for bar in bars(scene.facts, one) if bar.limits] == []
    assert "limits" not in "".join(map(text_of, stages(scene, one, 198)))
    answers = replace(one, stage=replace(stage, because=ANSWERS))
    assert [bar for bar in bars(scene.facts, answers) if bar.limits] == []
    elsewhere = replace(one, stage=replace(stage, because="a queue of another host"))
    assert [bar.stage for bar in bars(scene.facts, elsewhere) if bar.limits] == ["unknown"]


def test_datagrams_lost_at_a_socket_come_before_an_interface_that_is_not_full() -> None:
    socket = Limit("socket", "192.0.2.1:53", "rx", None, WALL, DROPS, (), None, (DROPS,), "eth0")
    assert named(limit("rx", 9e9, PEER), socket)[0] == "192.0.2.1:53"
    assert named(limit("rx", 9e9, PEER), replace(socket, nic=None))[0] == "192.0.2.1:53"
    assert named(limit("rx", 9e9, RING), socket)[0] == "eth0"


def test_without_a_limit_of_the_interface_there_is_none() -> None:
    assert foremost(scene_of(limit("rx", 9e9, PEER, nic="eth1")), View()) is None
    assert foremost(Scene(), View()) is None


def test_an_idle_direction_is_not_called_limited() -> None:
    assert not moves(limit("rx", 27e3, PEER))
    assert moves(limit("rx", 27e6, PEER))
    assert moves(limit("rx", 0.0, RING))
    assert not at_fault(limit("tx", 9e9, IDLE))
    assert not at_fault(limit("rx", 9e9, WIRE))


def shown(scene: Scene, view: View = View()) -> list[str]:  # noqa: B008
    found = foremost(scene, view)
    assert found is not None
    assert scene.facts is not None
    return [bar.stage for bar in bars(scene.facts, found)]


def test_the_stages_stand_in_the_order_in_which_data_passes_them() -> None:
    assert shown(lossy()) == ["peer", "wire", "ring", "core", "backlog", "rcvbuf", "thread"]
    sending = View().at(invert=True)
    assert shown(lossy(), sending) == [
        "application", "sndbuf", "qdisc", "tx-ring", "core", "wire", "peer",
    ]  # fmt: skip


@pytest.mark.parametrize("direction", ["rx", "tx"])
def test_a_veth_has_no_stages_of_a_card(direction: str) -> None:
    scene = healthy()
    assert scene.facts is not None
    (nic,) = scene.facts.nics
    facts = replace(scene.facts, nics=(replace(nic, kind="veth"),), paths=(),
                    limits=(limit(direction, 9e9, THREAD),))  # fmt: skip
    stages = shown(replace(scene, facts=facts))
    assert "thread" in stages
    assert not {"wire", "ring", "tx-ring"} & set(stages)


def test_a_bar_has_the_utilisation_of_the_limit_model_and_the_loss_of_the_path() -> None:
    scene = lossy()
    found = foremost(scene, View())
    assert found is not None
    assert scene.facts is not None
    known = {bar.stage: bar for bar in bars(scene.facts, found)}
    assert known["wire"].full == 0.65
    assert (known["ring"].full, known["ring"].lost, known["ring"].limits) == (1.0, 1204.0, True)
    assert (known["backlog"].full, known["backlog"].lost) == (None, 0.0)
    assert sum(bar.limits for bar in known.values()) == 1


@pytest.mark.parametrize(
    ("first", "joint", "path", "window"),
    [
        ("qdisc", (), None, None),  # it fills the window, and its few losses make a path of that
        ("thread", (), None, 0.6),  # more passes than the model of the path allows
        ("path", ("cwnd",), 1.0, 0.6),
        ("wire", ("path",), 1.0, None),
    ],
)
def test_what_fills_by_the_queue_that_limits_has_no_share(
    first: str, joint: tuple[str, ...], path: float | None, window: float | None
) -> None:
    known = {
        name: Reading(name, "there" if name == "path" else "here", "", "computed", "", full,
                      (1e8, 2e8), 1.0)
        for name, full in (("path", 1.0), ("cwnd", 0.6), ("sndbuf", 0.1), (first, 1.0))
    }  # fmt: skip
    one = replace(limit("tx", 1.9e8, known.pop(first), *known.values()), joint=joint)
    facts = lossy().facts
    assert facts is not None
    shown = {bar.stage: bar.full for bar in bars(facts, one)}
    assert (shown.get("path"), shown.get("cwnd")) == (path, window)
    assert (shown["sndbuf"], shown[first]) == (0.1, 1.0)


def test_the_flow_that_stands_for_an_interface_is_its_largest_of_that_process() -> None:
    flows = [
        Limit("flow", name, "rx", rate, WALL, THREAD, (), None, (), "eth0", 3391, "iperf3")
        for name, rate in (("a>b", 1e8), ("a>c", 5e8))
    ]
    whole = replace(limit("rx", 6e8, THREAD), pid=3391)
    facts = scene_of(*flows, whole).facts
    assert facts is not None
    assert flow_of(facts, whole).target == "a>c"
    assert flow_of(facts, flows[0]) is flows[0]


def test_stages_of_the_largest_flow_fill_those_that_the_interface_lacks() -> None:
    qdisc = Reading("qdisc", "here", "tbf", "reported", "", 1.0, None, 1.0)
    flow = Limit("flow", "a>b", "tx", 2e8, WALL, qdisc, (), None, (qdisc, THREAD), "eth0", 7, "cp")
    whole = limit("tx", 2e8, qdisc)
    facts = scene_of(flow, whole).facts
    assert facts is not None
    known = {bar.stage: bar for bar in bars(facts, whole)}
    assert (known["thread"].full, known["thread"].owner) == (0.65, "cp[7]")
    others = scene_of(flow, replace(whole, rate=9e8)).facts  # the flow is a small part of it
    assert others is not None
    known = {bar.stage: bar for bar in bars(others, others.limits[1])}
    assert (known["thread"].full, known["thread"].owner) == (None, "")


@pytest.mark.parametrize("host", SCENES)
def test_every_host_has_at_most_one_limiting_bar(host: str) -> None:
    scene = SCENES[host]()
    found = foremost(scene, View())
    if found is not None and scene.facts is not None:
        assert sum(bar.limits for bar in bars(scene.facts, found)) == 1
    assert (found is None) == (host == "bare")


def test_a_flow_without_a_rate_is_not_the_largest() -> None:
    over = limit("tx", 3e8, THREAD)
    silent = replace(over, over="flow", target="a", rate=None)
    slow = replace(silent, target="b", rate=0.5)
    facts = scene_of(over, silent, slow).facts
    assert facts is not None
    assert flow_of(facts, over) == slow


@pytest.mark.parametrize(
    ("utilisation", "held", "full"),
    [(0.4, 0.9, 0.4), (None, 0.5, 0.5), (None, 0.0, None), (2.0, 0.0, 1.0), (-1.0, 0.5, 0.0)],
)
def test_a_stage_without_a_utilisation_is_as_full_as_the_time_for_which_it_limits(
    utilisation: float | None, held: float, full: float | None
) -> None:
    stage = replace(THREAD, utilisation=utilisation, held=held)
    scene, one = lossy(), limit("tx", 1e9, stage)
    assert scene.facts is not None
    (bar,) = (each for each in bars(scene.facts, one) if each.stage == stage.stage)
    assert bar.full == full


def with_core(user: float, idle: float, iowait: float = 0.0) -> Scene:
    """A flow of this host whose program runs on core 2, which has that load."""
    flow = limit("tx", 1e9, PEER)
    scene = scene_of(replace(flow, over="flow", target="192.0.2.1:9>192.0.2.2:5"), flow)
    facts = scene.facts
    assert facts is not None
    own = replace(facts.flows[0], local="192.0.2.1", local_port=9, remote="192.0.2.2",
                  remote_port=5, app_cpu=2, irq_cpu=None)  # fmt: skip
    core = replace(facts.cores[2], cpu=2, processes=("gcc[77]",), user=user, system=0.0,
                   softirq=0.0, idle=idle, iowait=iowait)  # fmt: skip
    cores = (*facts.cores[:2], core, *facts.cores[3:])
    return replace(scene, facts=replace(facts, flows=(own,), cores=cores))


def core_bars(scene: Scene) -> list[Bar]:
    assert scene.facts is not None
    return [bar for bar in bars(scene.facts, scene.facts.limits[-1]) if bar.stage == "core"]


def test_a_full_core_of_the_program_is_a_stage_and_names_what_takes_it() -> None:
    (bar,) = core_bars(with_core(98.0, 2.0))
    assert (bar.core and bar.core.cpu, bar.full, bar.limits) == (2, 0.98, False)
    assert bar.core is not None
    assert taker(bar.core) == "gcc[77]"
    assert taker(replace(bar.core, softirq=95.0, user=2.0, system=1.0)) == "softirq"
    assert taker(replace(bar.core, steal=95.0, user=2.0, system=1.0)) == "the hypervisor"
    assert core_bars(with_core(10.0, 90.0)) == []
    assert core_bars(with_core(10.0, 0.0, iowait=90.0)) == []  # for a disk: the core is free


@folded("path", HOSTS, ids=name)
def test_on_a_full_host_the_stages_have_a_core(path: Path) -> None:
    facts = last(path).facts
    if facts.host.idle is None or facts.host.idle >= SPENT:
        return
    for one in facts.limits:
        full = [bar.full for bar in bars(facts, one) if bar.stage == "core" and bar.core]
        assert full, one.target
        assert (full[0] or 0.0) >= 0.95


# Recorded hosts: a finding predicts the next stage that `nettop why` says of the same limit.


@pytest.mark.parametrize("host", ["vm-vmxnet3-drops", "vm-virtio-unsent"])
def test_findings_and_limits_agree_on_what_is_next(host: str) -> None:
    source = Replay(load(str(HERE / f"hosts/{host}.host")))
    observer = Observer(source)
    observer.step(collect.always())
    predicted = 0
    while source.wait(1):
        seen = observer.step(collect.always())
        for finding in seen.judgement.findings:
            known = finding.predicted
            if known is None or known.limit.joint:
                continue
            predicted += 1
            assert known.limit in seen.facts.limits
            assert known.next == known.limit.next
            assert known.bound == bound(known.limit)
            text, limit = prediction(finding), verdict(known.limit)
            assert ("next: not known" in text) == ("next: not known" in limit), (text, limit)
    assert predicted


@pytest.mark.parametrize("rates", [(300.0, 900.0), (900.0, 300.0), (27e3, 30e3), (0.0, 0.0)])
def test_of_a_host_at_rest_the_same_direction_is_shown_whatever_the_last_packet_was(
    rates: tuple[float, float],
) -> None:
    assert named(limit("tx", rates[1], PEER), limit("rx", rates[0], PEER)) == ("eth0", "rx")


def test_a_program_has_at_its_stage_what_it_moves_in_the_direction_shown() -> None:
    """Seen live: the rate at which it sends, in the lane of what it receives."""
    scene = lossy()
    assert scene.facts is not None
    flow = replace(scene.facts.flows[0], nic="eth0", rx_per_s=5.0, tx_per_s=7e7)
    facts = replace(scene.facts, flows=(flow,))
    program = Reading("application", "here", "x", "measured")
    for way, moved in (("rx", 5.0), ("tx", 7e7)):
        one = replace(limit(way, 9e9, program, program), process=flow.process, pid=flow.pid,
                      over="flow", target=name_of(flow))  # fmt: skip
        assert [bar.moved for bar in bars(facts, one) if bar.stage == "application"] == [moved]
