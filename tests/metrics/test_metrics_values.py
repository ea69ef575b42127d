"""The samples of a host: what they count, how many they can be, and what no label holds."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")

from prometheus_client.parser import text_string_to_metric_families

from nettop import config
from nettop.advice.judge.judge import Judgement
from nettop.advice.rules.load import load
from nettop.advice.rules.rule import Finding, Rule
from nettop.cli import main
from nettop.facts import Facts, Profile
from nettop.facts.kinds.core import Core
from nettop.facts.kinds.flow import Flow
from nettop.facts.kinds.host import HostFact
from nettop.facts.kinds.nic import Counters, Nic
from nettop.facts.kinds.process import Process
from nettop.facts.kinds.queue import Queue
from nettop.facts.kinds.thread import Thread
from nettop.frame.rates import Frame
from nettop.metrics import families
from nettop.metrics.families import FAMILIES, FINDING, LEFT_OUT, QUEUE_CORE, Sample
from nettop.metrics.listen import exposition
from nettop.views.observer import Observation

HOSTS = Path(__file__).parents[1] / "hosts"
RULES = {rule.id: rule for rule in load(config.rule_folders())}
COUNTED = Counters(*range(1, 27))
FLOW = "tcp 10.1.2.3:5201-10.9.8.7:40000"


def finding(rule: Rule, target: str) -> Finding:
    return Finding(
        f"{rule.id}@{target}", rule.id, target, rule.severity, "", "", 3.0, (), (), (), (), (), "",
    )  # fmt: skip


def observation(facts: Facts, *findings: Finding) -> Observation:
    return Observation(Frame(0.0, 0.0, {}), facts, Judgement(findings))


def samples(facts: Facts, *findings: Finding, judged: bool = True) -> list[Sample]:
    seen = observation(facts, *findings)
    return list(families.samples(seen, RULES, judged=judged, unread=0))


def host(**more: object) -> Facts:
    return replace(Facts(HostFact("h"), Profile("server", "")), **more)  # type: ignore[arg-type]


def nic(name: str, kind: str = "nic", **more: object) -> Nic:
    return replace(
        Nic(name, kind, total=COUNTED, irq_off_node=0),
        **more,  # type: ignore[arg-type]
    )


def queue(device: str, way: str, number: int, irq: int) -> Queue:
    return Queue(device, f"{way}-{number}", way, number, irq, cpu=number)


def by_family(found: list[Sample], name: str) -> dict[tuple[str, ...], float]:
    return {one.labels: one.value for one in found if one.family.name == name}


def test_64_combined_queues_are_fewer_than_300_series() -> None:
    queues = tuple(queue("eth0", way, n, n) for way in ("tx", "rx") for n in range(64))
    found = samples(host(nics=(nic("eth0"),), queues=queues))
    assert len(found) < 300
    cores = {one.labels: one.value for one in found if one.family == QUEUE_CORE}
    assert cores == {("eth0", f"rx-{n}"): n for n in range(64)}


def test_a_transmit_queue_with_an_interrupt_of_its_own_is_named() -> None:
    facts = host(nics=(nic("eth0"),), queues=(queue("eth0", "tx", 0, 8), queue("eth0", "rx", 0, 7)))
    assert set(by_family(samples(facts), "nettop_queue_core")) == {
        ("eth0", "rx-0"),
        ("eth0", "tx-0"),
    }


def test_no_host_has_more_than_a_thousand_series_and_the_rest_is_counted() -> None:
    names = [f"eth{n:03}" for n in range(300)]
    facts = host(
        nics=tuple(map(nic, names)),
        queues=tuple(queue(name, "rx", n, n) for name in names[:64] for n in range(64)),
    )
    facts = replace(facts, cores=tuple(Core(number) for number in range(300)))
    every = [finding(RULES["backlog-overflows"], f"cpu{number}") for number in range(300)]
    found = samples(facts, *every)
    assert len(found) <= 990  # and ten of the process and the journal
    left = {one.labels[0]: one.value for one in found if one.family == LEFT_OUT}
    assert left == {
        "findings": 300 - families.MOST_FINDINGS,
        "devices": 300 - families.DEVICES,
        "queues": families.DEVICES * 64 - families.QUEUES,
    }


def test_the_veths_of_containers_are_left_out_beside_a_nic() -> None:
    veths = (nic("veth1a", "veth"), nic("lo", "loopback"))
    assert [one.name for one in families.devices((*veths, nic("eth0")))] == ["eth0"]
    assert [one.name for one in families.devices(veths)] == ["veth1a"]
    found = samples(host(nics=(*veths, nic("eth0"))))
    assert by_family(found, "nettop_left_out")["devices",] == 1


@pytest.mark.parametrize(
    ("rule", "target", "label"),
    [
        ("rx-ring-overrun", "eth0", "eth0"),
        ("rx-ring-overrun", "veth1a", "other"),
        ("rx-ring-overrun", "lo", "lo"),
        ("backlog-overflows", "cpu6", "cpu6"),
        ("loss-recovery-crippled", "host", "host"),
        ("send-buffer-limits", FLOW, "eth0"),
        ("app-on-other-node", "4711", "eth0"),
        ("app-on-other-node", "4712", "host"),
        ("socket-overrun", "4713", "host"),
        ("thread-waits-for-cpu", "app[4714]", "eth0"),
    ],
)
def test_a_target_is_an_interface_a_cpu_or_the_host(rule: str, target: str, label: str) -> None:
    facts = host(
        nics=(nic("eth0"), nic("veth1a", "veth"), nic("lo", "loopback")),
        cores=(Core(6),),
        flows=(Flow(FLOW, "tcp", nic="eth0"),),
        processes=(Process(4711, "iperf3", nic="eth0"), Process(4712, "nginx")),
        more={"thread": (Thread(4714, 4711, "app", nic="eth0"),)},
    )
    found = samples(facts, finding(RULES[rule], target))
    assert [one.labels[:2] for one in found if one.family == FINDING] == [(rule, label)]


def test_findings_of_two_flows_on_one_interface_are_one_series_and_count_as_two() -> None:
    other = "tcp 10.1.2.3:5201-10.9.8.7:40001"
    flows = (Flow(FLOW, "tcp", nic="eth0"), Flow(other, "tcp", nic="eth0"))
    facts = host(nics=(nic("eth0"),), flows=flows)
    rule = RULES["send-buffer-limits"]
    found = samples(facts, finding(rule, FLOW), finding(rule, other))
    assert by_family(found, "nettop_finding") == {(rule.id, "eth0", rule.severity): 1}
    counts = by_family(found, "nettop_findings")
    assert counts == {("critical",): 0, ("warning",): 2, ("advice",): 0, ("info",): 0}


def test_what_was_not_judged_has_no_findings_instead_of_zero() -> None:
    found = samples(host(), judged=False)
    names = {one.family.name for one in found}
    assert by_family(found, "nettop_judged") == {(): 0}
    assert names.isdisjoint({"nettop_findings", "nettop_finding", "nettop_flows"})


def test_losses_are_by_stage_whatever_the_driver_calls_them() -> None:
    counted = Counters(ring_drops=7, phy_errors=2, length_errors=3, phy_discards=5, qdisc_drops=9)
    found = samples(host(nics=(nic("eth0", total=counted),)))
    assert by_family(found, "nettop_path_packets_lost_total") == {
        ("eth0", "rx", "wire"): 5,
        ("eth0", "rx", "port"): 5,
        ("eth0", "rx", "ring"): 7,
        ("eth0", "tx", "qdisc"): 9,
    }


def names_of(recording: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["metrics", "--replay", str(HOSTS / recording)]) == 0
    return capsys.readouterr().out


ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+|[0-9a-f]*::[0-9a-f]*|([0-9a-f]{2}:){5}")


@pytest.mark.parametrize("name", ["vm-send-buffer.host", "guest-udp-loss.host"])
def test_a_recorded_host_is_parsed_back(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    parsed = list(text_string_to_metric_families(names_of(name, capsys)))
    declared = {family.name.removesuffix("_total"): family for family in FAMILIES}
    assert len(parsed) > 10
    for metric in parsed:
        family = declared[metric.name]
        assert (metric.type, metric.documentation) == (family.type, family.help)
        for sample in metric.samples:
            assert sample.timestamp is None
            assert sample.name == family.name
            assert sorted(sample.labels) == sorted(family.labels)
            assert not any(ADDRESS.search(value) for value in sample.labels.values())
    findings = [s for m in parsed if m.name == "nettop_finding" for s in m.samples]
    assert findings
    assert {sample.labels["target"] for sample in findings} <= {"host", "enp0s12"}


def test_names_types_and_help_follow_the_conventions() -> None:
    for family in FAMILIES:
        assert re.fullmatch(r"nettop_[a-z_]+", family.name)
        assert family.name.endswith("_total") == (family.type == "counter")
        assert not re.search(r"_(count|sum|bucket|gauge|counter|ms|bits|percent)(_|$)", family.name)
        assert family.help.endswith(".")
        assert "\n" not in family.help
        assert not {"address", "port", "pid", "process", "job", "instance"} & set(family.labels)
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


def test_a_name_that_is_no_utf_8_or_holds_quotes_is_one_label() -> None:
    odd = 'a"b\\c\udcff'
    page = exposition([Sample(LEFT_OUT, (odd,), 3)])
    (metric,) = text_string_to_metric_families(page)
    assert metric.samples[0].labels == {"what": 'a"b\\c?'}


MISSING: list[Callable[[], list[str]]] = [
    lambda: ["metrics"],
    lambda: ["metrics", "--listen", "9469"],
    lambda: ["metrics", "--textfile", "/nowhere/nettop.prom"],
]


@pytest.mark.parametrize("words", MISSING)
def test_without_the_library_one_sentence_names_the_extra(
    words: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("nettop.commands.metrics.find_spec", lambda name: None)
    assert main(words()) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "nettop: prometheus_client is not installed: pip install 'nettop[metrics]'"
    ]
