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


def test_a_rule_must_hold(rule: Any) -> None:
    judge = Judge([rule(f"{WHEN}\nhold = 3")])
    counts = []
    for second in range(6):
        found = judge.judge(at(float(second), nic=DROPS)).findings
        counts.append([round(one.held) for one in found])
    assert counts == [[], [], [], [3], [4], [5]]


def test_a_source_with_a_condition_is_cited_where_that_holds(rule: Any) -> None:
    one = rule(f'{WHEN}\n[[source]]\ndoc = "large"\nif = "nic.mtu > 8000"')
    cited = []
    for mtu in (1500, 9000):
        (finding,) = judged(one, at(0.0, nic={**DROPS, "mtu": mtu})).findings
        cited.append([cite["doc"] for cite in finding.sources])
    assert cited == [["a book"], ["large", "a book"]]


def test_a_break_starts_the_time_again(rule: Any) -> None:
    judge = Judge([rule(f"{WHEN}\nhold = 2")])
    seen = []
    for second, drops in enumerate([1, 1, 1, 0, 1, 1, 1]):
        moment = at(float(second), nic={"per_s": {"ring_drops": drops}})
        seen.append(len(judge.judge(moment).findings))
    assert seen == [0, 0, 1, 0, 0, 1, 1]


def test_what_comes_and_goes_holds_on_for_the_seconds_of_keep(rule: Any) -> None:
    judge = Judge([rule(f"{WHEN}\nhold = 2\nkeep = 3")])
    seen = []
    for second, drops in enumerate([1, 0, 1, 0, 0, 0, 0, 1, 1]):
        moment = at(float(second), nic={"per_s": {"ring_drops": drops}})
        seen.append(len(judge.judge(moment).findings))
    assert seen == [0, 0, 1, 1, 1, 1, 0, 0, 1]


def test_a_headless_window_shortens_the_wait(rule: Any) -> None:
    judge = Judge([rule(f"{WHEN}\nhold = 30")], window=2.0)
    judge.judge(at(0.0, nic={}))  # no rates yet
    for second in (0.5, 1.0, 1.5):
        assert not judge.judge(at(second, nic=DROPS)).findings
    (found,) = judge.judge(at(2.001, nic=DROPS)).findings
    assert found.held == pytest.approx(2.001)


def test_findings_come_by_severity_then_loss_then_gain(rule: Any) -> None:
    rules = [
        rule('when = "nic.mtu > 0"', "z-setting", severity="critical"),
        rule(WHEN, "y-loss", severity="critical"),
        rule('when = "nic.mtu > 0"\ngain = 1.2', "b-small", severity="advice"),
        rule('when = "nic.mtu > 0"\ngain = 2.6', "c-large", severity="advice"),
        rule('when = "nic.mtu > 0"', "a-warning"),
        rule('when = "nic.mtu > 0"', "a-info", severity="info"),
    ]
    found = judged(rules, at(0, nic={**DROPS, "mtu": 1500})).findings
    assert [one.rule for one in found] == [
        "y-loss", "z-setting", "a-warning", "c-large", "b-small", "a-info",
    ]  # fmt: skip


def test_evidence_has_fields_values_and_units(rule: Any) -> None:
    made = rule(f'{WHEN}\nshow = ["nic.ring.rx", "nic.ring.tx"]')
    (found,) = judged(made, at(0, nic=DROPS)).findings
    assert found.evidence == (
        {"field": "nic.per_s.ring_drops", "value": 5, "unit": "packets/s"},
        {"field": "nic.ring.rx", "value": 256, "unit": "descriptors"},
    )
    assert found.seen
    assert found.id == "a-rule@eth0"


def test_counters_of_one_finding_are_of_the_same_seconds(rule: Any) -> None:
    """What the condition sums is shown as its mean, though this branch of it decided nothing."""
    when = "events(host.syn_cookies) > 3 or events(host.listen_drops) > 1000"
    judge = Judge([rule(f'when = "{when}"\nshow = ["host.listen_drops"]', over="host")])
    for second, rate in ((0, 0), (4, 50), (8, 0)):
        moment = at(float(second), host={"syn_cookies": rate, "listen_drops": rate})
        found = judge.judge(moment).findings
    values = {line["field"]: line["value"] for line in found[0].evidence}
    assert values["host.listen_drops"] == values["host.syn_cookies"] == pytest.approx(200 / 9)


def test_the_growth_of_a_count(rule: Any) -> None:
    """A count that begins anew (a driver that was loaded again) has grown from there."""
    judge = Judge([rule('when = "increase(nic.total.carrier_changes, 10) > 2"')])
    seen = []
    for second, count in ((0, 90), (5, 92), (8, 93), (13, 94), (20, 95), (21, 1), (22, 4)):
        moment = at(float(second), nic={"total": {"carrier_changes": count}})
        seen.append(bool(judge.judge(moment).findings))
    assert seen == [False, False, True, False, False, False, True]
    assert judge.judge(at(23.0, nic={})).findings == ()


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


def test_kinds_of_interface(rule: Any) -> None:
    nics = [{"name": name, "kind": kind, "mtu": 1} for name, kind in
            (("eth0", "nic"), ("veth1", "veth"), ("lo", "loopback"))]  # fmt: skip
    plain = judged(rule('when = "nic.mtu > 0"'), at(0, nics=nics))
    assert [one.target for one in plain.findings] == ["eth0"]
    assert {one.target: one.because for one in plain.silent()} == {
        "veth1": "does not apply to interfaces of kind veth",
        "lo": "does not apply to interfaces of kind loopback",
    }
    assert not any(one.applies for one in plain.silent())
    veth = judged(rule('when = "nic.mtu > 0"\nlinks = ["veth"]'), at(0, nics=nics))
    assert [one.target for one in veth.findings] == ["veth1"]


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


def test_targets_have_names(rule: Any) -> None:
    table: dict[str, Any] = {
        "nic": {"name": "eth0"}, "queue": {"name": "rx-3"}, "core": {"cpu": 6},
        "process": {"pid": 42}, "capture": {"inode": 9}, "path": {}, "flow": {"id": "f"},
    }  # fmt: skip
    names = {}
    for over in (*table, "host"):
        made = rule("when = \"profile == 'server'\"", f"over-{over}", over=over)
        (found,) = judged(made, at(0, **table)).findings
        names[over] = found.target
    assert names == {
        "nic": "eth0", "queue": "eth0/rx-3", "core": "cpu6", "process": "42",
        "capture": "eth0/9", "path": "eth0/rx", "flow": "f", "host": "host",
    }  # fmt: skip


def test_profiles(rule: Any) -> None:
    made = rule(f'{WHEN}\nprofiles = ["capture", "latency"]')
    assert judged(made, at(0, "capture", nic=DROPS)).findings
    (silent,) = judged(made, at(0, "server", nic=DROPS)).silent()
    assert silent.because == "applies to profile capture or latency; this host is server"


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


def test_a_rule_that_has_not_held_for_long_enough_silences_no_other(rule: Any) -> None:
    judge = Judge([rule(f"{WHEN}\nhold = 9", "ring"), rule(f'yields = ["ring"]\n{WHEN}', "again")])
    found = [
        [one.rule for one in judge.judge(at(second, nic=DROPS)).findings]
        for second in (1.0, 5.0, 10.0, 11.0)
    ]
    assert found == [["again"], ["again"], ["ring"], ["ring"]]


def test_a_rule_in_whose_place_another_is_reported_silences_the_third(rule: Any) -> None:
    rules = [
        rule(WHEN, "ring"),
        rule(f'yields = ["ring"]\n{WHEN}', "again"),
        rule(f'yields = ["again"]\n{WHEN}', "third"),
    ]
    assert [one.rule for one in judged(rules, at(1.0, nic=DROPS), window=0).findings] == ["ring"]


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


def test_the_worst_of_the_past(rule: Any) -> None:
    judge = Judge([rule('when = "worst(nic.per_s.ring_drops, 10) > 100"')])
    seen = []
    for second, drops in ((0, 0), (1, 500), (5, 0), (11, 0), (12, 0)):
        moment = at(float(second), nic={"per_s": {"ring_drops": drops}})
        seen.append(bool(judge.judge(moment).findings))
    assert seen == [False, True, True, True, False]


def test_the_judge_compiles_a_loop_once(rule: Any) -> None:
    judge = Judge([rule(WHEN)])
    judge.judge(at(0, nic=DROPS))
    (before,) = [alike.loop for alike in judge._alike]
    judge.judge(at(1, nic=DROPS))
    assert [alike.loop for alike in judge._alike] == [before]
