"""The prediction of a finding: on which limits, in which order, and what a rule may declare."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.judge import Judge
from nettop.advice.rules.explain import data, page, verdict
from nettop.advice.rules.load import RuleError, load, read
from nettop.advice.rules.rule import Finding, Rule
from nettop.facts import Facts
from nettop.facts.limits import Limit, Reading
from nettop.facts.limits.following import Calibration
from nettop.facts.limits.stages import declared

RULES = Path(__file__).parents[2] / "rules"
FIX = '\n[[fix]]\nadvice = "do it"'
FLOW = "10.0.0.1:5201>10.0.0.2:40000"
WIRE = Reading("wire", "here", "link of eth0", capacity=(9.1e9, 9.4e9))
Make = Callable[..., Rule]


@pytest.fixture
def rule(tmp_path: Path) -> Make:
    def make(over: str, relieves: object, name: str = "a-rule", **more: str) -> Rule:
        path = tmp_path / "surface" / f"{name}.toml"
        path.parent.mkdir(exist_ok=True)
        when = {"host": "host.cpus >= 0", "core": "core.cpu >= 0", "process": "process.pid > 0",
                "path": "path.lost >= 0", "queue": "queue.number >= 0", "thread": "thread.tid > 0",
                "quota": "len(quota.processes) > 0", "card": "len(card.ports) > 0"}  # fmt: skip
        path.write_text(
            f'title = "t"\nseverity = "{more.get("severity", "warning")}"\nover = "{over}"\n'
            f'when = "{when.get(over, f"known({over}.nic)" if over != "nic" else "nic.mtu > 0")}"\n'
            f'why = "w"\nrelieves = {relieves}\ngain = {more.get("gain", "1")}'
            f'{more.get("fix", FIX)}\n[[source]]\ndoc = "a book"\n'
        )  # fmt: skip
        return read(path)[0]

    return make


def limit(stage: str = "sndbuf", rate: float = 1e9, name: str = "", **more: Any) -> Limit:
    first = Reading(stage, "here", name or f"the {stage}", held=1.0)
    one = Limit("flow", FLOW, "tx", rate, stage=first, next=WIRE,
                ladder=(first, WIRE), nic="eth0", pid=7)  # fmt: skip
    return replace(one, **more)


def moment(*limits: Limit, **table: Any) -> Facts:
    return replace(facts({"host": {"cpus": 4}, **table}, "server"), limits=limits)


def found(rules: Rule | Iterable[Rule], now: Facts, **options: Any) -> tuple[Finding, ...]:
    every = [rules] if isinstance(rules, Rule) else list(rules)
    return Judge(every, **options).judge(now).findings


NIC = {"nic": {"mtu": 1500}}
PASSED = {"nic": {"mtu": 1500, "per_s": {"port_tx_bytes": 3e10, "tx_bytes": 300}}}
OF = {"local": "10.0.0.1", "local_port": 5201, "remote": "10.0.0.2", "remote_port": 40000}
PROCESS = {"process": {"pid": 7, "nic": "eth0"}}


@pytest.mark.parametrize(
    ("over", "one", "table", "right"),
    [
        ("nic", limit(), NIC, True),
        ("nic", limit(nic="eth1"), NIC, False),
        ("nic", limit("core"), NIC, False),
        ("nic", limit(over="nic"), PASSED, False),
        ("nic", limit(), PASSED, True),  # a flow of the kernel
        ("host", limit(nic="eth1"), {}, True),
        ("flow", limit(), {"flow": OF}, True),
        ("flow", limit(target="10.0.0.1:5201>10.0.0.2:40001"), {"flow": OF}, False),
        ("flow", limit(over="nic"), {"flow": OF}, False),
        ("flow", limit(namespace="pod"), {"flow": OF}, False),  # the same addresses, elsewhere
        ("host", limit(namespace="pod", nic=None), {}, False),
        ("process", limit(), PROCESS, True),
        ("process", limit(pid=8), PROCESS, False),
        ("queue", limit(), {"queue": {"name": "tx-0"}}, True),
        ("queue", limit(), {"queue": {"name": "rx-0"}}, False),
        ("path", limit(), {"path": {"direction": "tx", "lost": 1}}, True),
        ("path", limit(), {"path": {"direction": "rx", "lost": 1}}, False),
    ],
)
def test_a_finding_takes_the_limits_of_its_target(
    rule: Make, over: str, one: Limit, table: dict[str, Any], right: bool
) -> None:
    (finding,) = found(rule(over, ["sndbuf"]), moment(one, **table))
    assert (finding.predicted is not None) == right
    if finding.predicted is not None:
        assert finding.predicted.rate == (1e9, 9.4e9)
        assert finding.predicted.next is WIRE


@pytest.mark.parametrize(("bytes_s", "told"), [(1.1e9, True), (1.3e9, False)])
def test_a_bound_below_what_passes_now_is_not_told(rule: Make, bytes_s: float, told: bool) -> None:
    """Seen live: `with this fix at most 8.9 Gb/s`, below evidence of 17.9 Gb/s."""
    now = moment(limit(), flow={**OF, "tx_per_s": bytes_s})
    (finding,) = found(rule("flow", ["sndbuf"]), now)
    assert (finding.predicted is not None) == told
    now = moment(limit(over="nic"), nic={"mtu": 1500, "per_s": {"tx_bytes": bytes_s}})
    (finding,) = found(rule("nic", ["sndbuf"]), now)
    assert (finding.predicted is not None) == told


def test_a_core_is_the_one_that_limits(rule: Make) -> None:
    now = moment(limit("core", name="core 1, which takes the interrupts"),
                 cores=[{"cpu": 1, "nics": ["eth0"]}, {"cpu": 2, "nics": ["eth0"]}])  # fmt: skip
    predicted = {one.target: one.predicted for one in found(rule("core", ["core"]), now)}
    assert predicted["cpu1"] is not None
    assert predicted["cpu2"] is None


def test_a_thread_is_the_one_that_limits(rule: Make) -> None:
    threads = [{"tid": tid, "pid": 7, "name": "app"} for tid in (7, 9)]
    now = moment(limit("thread", name="app[7]"), threads=threads)
    predicted = {one.target: one.predicted for one in found(rule("thread", ["thread"]), now)}
    assert predicted["app[7]"] is not None
    assert predicted["app[9]"] is None


def test_a_quota_and_a_card_are_about_their_processes_and_ports(rule: Make) -> None:
    quotas = [{"cgroup": "/a", "processes": ["app[7]"]}, {"cgroup": "/b", "processes": ["app[17]"]}]
    cards = [{"bus": "1", "ports": ["eth0"]}, {"bus": "2", "ports": ["eth1"]}]
    now = moment(limit(), quotas=quotas, cards=cards)
    predicted = {
        one.target: one.predicted is not None
        for one in found([rule("quota", ["sndbuf"]), rule("card", ["sndbuf"], "b-rule")], now)
    }
    assert predicted == {"/a": True, "/b": False, "1": True, "2": False}


@pytest.mark.parametrize(
    ("rate", "more", "first"),
    [
        (1e9, {}, "b-advice"),  # 9.25 Gb/s are nine times that
        (5e9, {}, "a-warning"),
        (1e9, {"next": None}, "a-warning"),  # how far it may rise is not known
    ],
)
def test_advice_that_doubles_the_rate_stands_among_the_warnings(
    rule: Make, rate: float, more: dict[str, Any], first: str
) -> None:
    rules = [
        rule("nic", ["pause"], "a-warning"),
        rule("nic", ["sndbuf"], "b-advice", severity="advice"),
        rule("nic", [], "c-worse", severity="critical"),
    ]
    made = found(rules, moment(limit(rate=rate, **more), **NIC))
    assert [one.rule for one in made[:2]] == ["c-worse", first]
    assert {one.rule: one.severity for one in made}["b-advice"] == "advice"


def test_a_rule_whose_predictions_failed_says_so(rule: Make) -> None:
    made = rule("nic", ["sndbuf"])
    for earlier, failed in ((Calibration(4, 1), True), (Calibration(4, 3), False), (None, False)):
        known = {"a-rule": earlier}
        (finding,) = found(made, moment(limit(), **NIC), earlier=known.get)
        assert finding.predicted is not None
        assert finding.predicted.earlier == earlier
        text = " ".join(" ".join(verdict(finding, made)).split())
        assert "with this fix at most 9.4 Gb/s, then limited by the link" in text
        assert ("failed on this host: 1 of 4 proofs" in text) == failed


@pytest.mark.parametrize(
    ("relieves", "fix", "wrong"),
    [
        ('["sendbuf"]', FIX, "did you mean sndbuf?"),
        ('"sndbuf"', FIX, "must be a list of texts"),
        ("[7]", FIX, "must be a list of texts"),
        ('["core", "core"]', FIX, "a stage is listed twice"),
        ('["core"]', "", "a rule without a fix relieves nothing"),
    ],
)
def test_a_wrong_list_of_stages_is_one_sentence(
    rule: Make, relieves: str, fix: str, wrong: str
) -> None:
    with pytest.raises(RuleError, match=r"a-rule\.toml:6: relieves: ") as error:
        rule("nic", relieves, fix=fix)
    assert wrong in str(error.value)


def test_a_rule_lists_what_it_relieves(rule: Make) -> None:
    made = rule("nic", ["sndbuf", "core"])
    assert data(made)["relieves"] == ["sndbuf", "core"]
    text = "\n".join(page(made))
    assert "Relieves\n  - the send buffer\n  - the interrupt core\n" in text


def test_every_stage_is_relieved_by_a_rule() -> None:
    """But what cannot be seen."""
    known = {stage for rule in load([RULES]) for stage in rule.relieves}
    assert known == set(declared()) - {"unknown"}


SETS = '\n[[fix]]\nset = "sysctl.net.ipv4.tcp_sack"\nto = "1"'


def test_a_finding_relieves_what_its_fixes_that_apply_do(rule: Make) -> None:
    """A fix that is not needed, and one that names a part of the stages, predict nothing more."""
    fix = f'{SETS}\nrelieves = ["path"]\n[[fix]]\nif = "host.cpus > 9"\nadvice = "do it"'
    made = rule("host", ["sndbuf", "path"], fix=fix)
    table = {"sysctls": {"net.ipv4.tcp_sack": 0}}
    (of_buffer,) = found(made, moment(limit("sndbuf"), **table))
    assert (of_buffer.relieves, of_buffer.predicted) == (("path",), None)
    (of_path,) = found(made, moment(limit("path"), **table))
    assert of_path.predicted is not None


@pytest.mark.parametrize(
    ("stage", "more", "severity"),
    [
        ("sndbuf", {}, "warning"),
        ("sndbuf", {"fix": FIX}, "advice"),  # nothing that nettop could set
        ("sndbuf", {"fix": f"{SETS}\nexperiment = true"}, "advice"),
        ("sndbuf", {"severity": "info"}, "info"),
        ("pacing", {}, "advice"),  # something else limits
        ("thread", {}, "advice"),  # whether it saves CPU time, a test shows
    ],
)
def test_advice_is_a_warning_while_its_setting_limits_the_busiest_flow(
    rule: Make, stage: str, more: dict[str, str], severity: str
) -> None:
    made = rule("host", ["sndbuf", "thread"], **{"severity": "advice", "fix": SETS, **more})
    first = Reading(stage, "here", "it", "measured", held=1.0)
    one = limit(stage=first.stage, ladder=(first,), next=None)
    one = replace(one, stage=first)
    now = moment(one, sysctls={"net.ipv4.tcp_sack": 0})
    assert [one.severity for one in found(made, now)] == [severity]
    slower = replace(one, rate=1e6)
    busy = limit("qdisc", 1e9)
    now = moment(slower, busy, sysctls={"net.ipv4.tcp_sack": 0})
    assert "warning" not in [one.severity for one in found(made, now)]
    guess = replace(one, stage=replace(first, kind="inferred"))
    now = moment(guess, sysctls={"net.ipv4.tcp_sack": 0})
    assert "warning" not in [one.severity for one in found(made, now)]


def test_a_fix_relieves_stages_of_its_rule(rule: Make) -> None:
    made = rule("nic", ["sndbuf"], fix=f'{FIX}\nrelieves = ["core"]')
    with pytest.raises(RuleError, match=r"fix.*relieves: 'core' is none of sndbuf"):
        assert made.words


@pytest.mark.parametrize(
    ("host", "off", "severity"),
    [
        ({"retransmit_ratio": 0.0}, "tcp_sack", "advice"),
        ({"retransmit_ratio": 0.0, "out_of_order": 0.0}, "tcp_sack", "advice"),
        ({"retransmit_ratio": 0.002}, "tcp_sack", "warning"),
        ({"retransmit_ratio": 0.0, "out_of_order": 0.002}, "tcp_sack", "warning"),  # it receives
        ({}, "tcp_sack", "warning"),  # nothing moves: what it costs is not known
    ],
)
def test_without_losses_the_repair_of_losses_has_no_effect_now(
    host: dict[str, float], off: str, severity: str
) -> None:
    every = ("tcp_sack", "tcp_dsack")
    sysctls = {f"net.ipv4.{name}": int(name != off) for name in every}
    (rule,) = (one for one in load([RULES]) if one.id == "loss-recovery-crippled")
    now = replace(facts({"host": {"cpus": 4, **host}, "sysctls": sysctls}, "server"))
    assert [one.severity for one in found(rule, now)] == [severity]
    assert "Advice where also" in "\n".join(page(rule))
    assert data(rule)["harmless"]
