"""Judging: since when, in what order, on which targets, with what remedy, and why silent."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.judge import Judge, Judgement
from nettop.advice.rules.load import read
from nettop.advice.rules.rule import Rule
from nettop.facts import Facts


@pytest.fixture
def rule(tmp_path: Path) -> Any:
    def make(body: str, name: str = "a-rule", over: str = "nic", severity: str = "warning") -> Rule:
        folder = tmp_path / "surface"
        folder.mkdir(exist_ok=True)
        path = folder / f"{name}.toml"
        head = "" if "title" in body else 'title = "t"\n'
        source = '\n[[source]]\ndoc = "a book"\n'
        top, mark, tables = body.partition("\n[")
        path.write_text(
            f'{head}severity = "{severity}"\nover = "{over}"\nwhy = "w"\n'
            f"{top}\n{mark}{tables}{source}"
        )
        return read(path)[0]

    return make


def at(seconds: float, profile: str = "server", **table: Any) -> Facts:
    return facts(table, profile, seconds)


DROPS = {"ring": {"rx": 256, "rx_max": 4096}, "per_s": {"ring_drops": 5}}
WHEN = 'when = "nic.per_s.ring_drops > 0"'


def judged(rules: list[Rule] | Rule, moment: Facts, **options: Any) -> Judgement:
    return Judge(rules if isinstance(rules, list) else [rules], **options).judge(moment)


def test_counters_of_one_finding_are_of_the_same_seconds(rule: Any) -> None:
    """What the condition sums is shown as its mean, though this branch of it decided nothing."""
    when = "events(host.syn_cookies) > 3 or events(host.listen_drops) > 1000"
    judge = Judge([rule(f'when = "{when}"\nshow = ["host.listen_drops"]', over="host")])
    for second, rate in ((0, 0), (4, 50), (8, 0)):
        moment = at(float(second), host={"syn_cookies": rate, "listen_drops": rate})
        found = judge.judge(moment).findings
    values = {line["field"]: line["value"] for line in found[0].evidence}
    assert values["host.listen_drops"] == values["host.syn_cookies"] == pytest.approx(200 / 9)


def test_arithmetic_that_fails_on_one_target_leaves_the_others(rule: Any) -> None:
    rings = {"a": (512, 256), "zero": (512, 0), "b": (512, 128), "small": (128, 512)}
    nics = [{"name": name, "ring": {"rx": rx, "tx": tx}} for name, (rx, tx) in rings.items()]
    found = judged(rule('when = "nic.ring.rx / nic.ring.tx > 1"'), at(0, nics=nics))
    assert {one.target for one in found.findings} == {"a", "b"}
    assert {one.target for one in found.silent()} == {"zero", "small"}
    either = judged(
        rule('when = "nic.ring.rx / nic.ring.tx > 1 or nic.ring.tx == 0"'), at(0, nics=nics)
    )
    assert {one.target for one in either.findings} == {"a", "zero", "b"}


def test_silences_of_those_that_look_come_before_those_that_do_not(rule: Any) -> None:
    nics = [{"name": name, "kind": kind, "mtu": 1} for name, kind in
            (("lo", "loopback"), ("eth0", "nic"))]  # fmt: skip
    made = [rule('when = "nic.mtu > 9"'), rule(f'{WHEN}\nprofiles = ["latency"]', "b-rule")]
    said = judged(made, at(0, nics=nics)).silent()
    assert [(one.rule, one.target, one.applies) for one in said] == [
        ("a-rule", "eth0", True),
        ("a-rule", "lo", False), ("b-rule", "lo", False), ("b-rule", "eth0", False),
    ]  # fmt: skip


def test_flows_everywhere_but_loopback(rule: Any) -> None:
    flows = [{"id": name, "nic": name} for name in ("bond0", "lo")]
    nics = [{"name": "bond0", "kind": "bond"}, {"name": "lo", "kind": "loopback"}]
    made = rule('when = "flow.bulk or not flow.bulk"', over="flow")
    found = judged(made, at(0, nics=nics, flows=flows)).findings
    assert [one.target for one in found] == ["bond0"]
    fix = 'relieves = ["disk-read"]\n[[fix]]\nadvice = "read ahead"'
    waits = rule(f'when = "flow.bulk or not flow.bulk"\n{fix}', over="flow")
    found = judged(waits, at(0, nics=nics, flows=flows)).findings
    assert [one.target for one in found] == ["bond0", "lo"], "a disk is slow for either"


def test_exceptions_have_their_say(rule: Any) -> None:
    made = rule(f'{WHEN}\nunless = [{{ when = "nic.speed < 1e9", say = "{{nic}} is slow" }}]')
    silent = judged(made, at(0, nic={**DROPS, "speed": 1e8})).silent()
    assert [one.because for one in silent] == ["eth0 is slow"]
    silent = judged(made, at(0, nic=DROPS)).silent()
    assert [one.because for one in silent] == [
        "not evaluated: link speed unknown (not reported by the driver)"
    ]
    assert judged(made, at(0, nic={**DROPS, "speed": 1e10})).findings


def test_the_unknown_is_named_with_the_reason_that_the_host_gave(rule: Any) -> None:
    made = rule('when = "nic.ring.rx < nic.ring.rx_max"')
    moment = at(0, nic={"ring": {"rx": 256}})
    (silent,) = judged(made, moment).silent()
    unknown = "not evaluated: receive ring maximum unknown"
    assert silent.because == f"{unknown} (not reported by the driver)"
    moment = replace(moment, missing={"rings": "Operation not permitted"})
    (silent,) = judged(made, moment).silent()
    assert silent.because == f"{unknown} (Operation not permitted)"


def test_mutes(rule: Any) -> None:
    made = rule(WHEN)
    for muted in ("a-rule", "a-rule@eth0"):
        said = judged(made, at(0, nic=DROPS), muted=[muted])
        assert not said.findings
        assert [one.because for one in said.silent()] == ["muted"]
    assert judged(made, at(0, nic=DROPS), muted=["a-rule@eth1"]).findings
    process = rule('when = "process.tcp == 0"', over="process")
    moment = at(0, process={"pid": 42, "name": "iperf3"})
    assert not judged(process, moment, muted=["a-rule@iperf3"]).findings
    assert judged(process, moment, muted=["a-rule@nginx"]).findings


def test_waiting_is_a_reason_for_silence(rule: Any) -> None:
    (silent,) = judged(rule(f"{WHEN}\nhold = 5"), at(0, nic=DROPS)).silent()
    assert silent.because == "condition has held for less than 5 s"


def test_a_rule_yields_where_another_says_it_better(rule: Any) -> None:
    ring = rule(WHEN, "ring")
    core = rule('yields = ["ring"]\nwhen = "core.softirq > 80"', "full", "core")
    host = rule('yields = ["ring"]\nwhen = "host.cpus > 0"', "small", "host")
    again = rule(f'yields = ["ring"]\n{WHEN}', "again")
    cores = [
        {"cpu": 0, "softirq": 90, "nics": ["eth0"]},
        {"cpu": 1, "softirq": 90, "nics": ["eth1"]},
        {"cpu": 2, "softirq": 90},
    ]
    other = {"name": "eth1", "per_s": {"ring_drops": 0}}
    moment = at(1.0, nics=[DROPS, other], cores=cores, host={"cpus": 3})
    judgement = judged([core, host, again, ring], moment, window=0)
    assert {one.id for one in judgement.findings} == {"ring@eth0", "full@cpu1", "full@cpu2"}
    silent = {(one.rule, one.target): one.because for one in judgement.silent()}
    assert silent["full", "cpu0"] == "ring reports the same problem"
    assert silent["small", "host"] == "ring reports the same problem"
    assert "speaks" not in silent["again", "eth1"]


def test_a_muted_rule_silences_no_other(rule: Any) -> None:
    rules = [rule(WHEN, "ring"), rule(f'yields = ["ring"]\n{WHEN}', "again")]
    for muted in ("ring", "ring@eth0"):
        found = judged(rules, at(1.0, nic=DROPS), window=0, muted=[muted])
        assert [one.rule for one in found.findings] == ["again"]
        assert [one.rule for one in found.muted] == ["ring"]
    elsewhere = judged(rules, at(1.0, nic=DROPS), window=0, muted=["ring@eth1"])
    assert [one.rule for one in elsewhere.findings] == ["ring"]


def test_remedies(rule: Any) -> None:
    made = rule(
        WHEN
        + """
[[fix]]
set = "ring.rx@{nic}"
to = "nic.ring.rx * 2"
[[fix]]
set = "ring.rx@{nic}"
to = "nic.ring.rx_max"
[[fix]]
set = "ring.tx@{nic}"
to = "nic.ring.tx_max"
[[fix]]
set = "pause.rx@{nic}"
to = "False"
[[fix]]
set = "feature.rx-gro@{nic}"
to = "True"
[[fix]]
set = "feature.rx-lro@{nic}"
to = "True"
[[fix]]
set = "link.mtu@{nic}"
to = "9000"
[[fix]]
if = "nic.speed > 1"
set = "coalesce.rx-usecs@{nic}"
to = "50"
[[fix]]
set = "qdisc.root@{nic}"
to = { latency = "'fq_codel'", default = "'fq'" }
experiment = true
[[fix]]
each = "queue"
set = "irq.affinity@{nic}/{queue}"
to = "queue.number + 4"
[[fix]]
set = "sysctl.net.ipv4.tcp_rmem"
to = "triple(keep, keep, 8388608)"
[[fix]]
set = "sysctl.net.ipv4.tcp_gone"
to = "triple(keep, keep, 8388608)"
[[fix]]
advice = "the ring has {nic.ring.rx}"
[[fix]]
if = "nic.speed > 1"
advice = "never"
"""
    )
    nic = {
        **DROPS, "features": {"rx-gro": False, "rx-lro": "fixed off"}, "max_mtu": 1500,
        "pause": {"rx": False},
    }  # fmt: skip
    queues = [
        {"name": "rx-0"},
        {"name": "rx-1", "allowed": [5]},
        {"nic": "eth1", "name": "rx-0"},
    ]
    sysctls = {"net.ipv4.tcp_rmem": "4096\t131072\t6291456"}
    moment = at(0, nic=nic, queues=queues, sysctls=sysctls)
    (found,) = judged(made, moment).findings
    assert [(one.setting, one.value, one.experiment) for one in found.wanted] == [
        ("ring.rx@eth0", "512", False),
        ("feature.rx-gro@eth0", "on", False),
        ("qdisc.root@eth0", "fq", True),
        ("irq.affinity@eth0/rx-0", "4", False),
        ("sysctl.net.ipv4.tcp_rmem", "4096 131072 8388608", False),
    ]
    assert found.advice == ("the ring has 256 descriptors",)
    (found,) = judged(
        made, replace(moment, profile=replace(moment.profile, name="latency"))
    ).findings
    assert ("qdisc.root@eth0", "fq_codel") in [(one.setting, one.value) for one in found.wanted]
