"""What the rules want set exists as a setting, and their values are ones it would take."""

from pathlib import Path

import pytest
from folded import folded

from nettop import settings
from nettop.advice.judge import rule_tests
from nettop.advice.judge.judge import Judge
from nettop.advice.judge.rule_tests import check
from nettop.advice.language.tunable import CPUS, type_of
from nettop.advice.language.vocabulary import ANY, NUMBER, SWITCH, TEXT
from nettop.advice.rules import load
from nettop.advice.rules.load import RuleError
from nettop.advice.rules.rule import Rule
from nettop.facts.limits.stages import receive_socket

RULES = Path(__file__).parents[2] / "rules"
UNLESS = """[[unless]]
when = "sysctl('zz.qq') == 1"
say  = "x"

[[source]]"""
SLOW = """title    = "{nic} is slow"
severity = "warning"
over     = "nic"
when     = "nic.mtu < 1000"
why      = "why"

[[source]]
doc   = "a book"
place = "page 1"

[[fix]]
set = "link.mtu@{nic}"
to  = "1500"
"""


def test_a_wanted_setting_exists_and_takes_its_value() -> None:
    """Each setting and value that a rule's own test expects it to want."""
    found = {
        (setting, value): rule.id
        for rule in load.load([RULES])
        for test in load.tests(rule)
        for setting, value in test.get("wanted", ())
    }
    for (setting, value), rule in found.items():
        address = settings.parse(setting)
        assert str(address) == setting, rule
        assert settings.normal(address, value) == value, rule


def test_a_rule_that_sets_something_says_in_a_test_what() -> None:
    assert [
        rule.id
        for rule in load.load([RULES])
        if any(fix.setting for fix in rule.words.fixes)
        and not any(test.get("wanted") for test in load.tests(rule))
    ] == []


def _rule(name: str) -> Rule:
    return next(rule for rule in load.load([RULES]) if rule.id == name)


def _confines(rule: Rule) -> bool:
    settings = [fix.setting.form() for fix in rule.words.fixes if fix.setting]
    return any(one.startswith("process.affinity@") for one in settings)


@folded("rule", [one for one in load.load([RULES]) if _confines(one)], ids=lambda one: one.id)
def test_no_process_is_confined_to_fewer_cpus_than_it_has_threads(rule: Rule) -> None:
    """The rule's own cases, each with a process of a thousand threads."""
    tests = [test for test in load.tests(rule) if test["finds"] and "process" in test]
    assert tests
    for test in tests:
        many = {**test, "process": {**test["process"], "threads": 1000}}
        facts = rule_tests.moments(rule, many, None)
        judge = Judge((rule,), window=0.0)
        findings = [finding for one in facts for finding in judge.judge(one).findings]
        wanted = [one.setting for finding in findings for one in finding.wanted]
        assert not [one for one in wanted if one.startswith("process.affinity")], test["name"]


def test_unread_data_has_one_threshold() -> None:
    rule = _rule("application-does-not-read")
    assert rule.limits["share"] == receive_socket.UNREAD


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("nic.mtu < 1000", "sysctl('zz.qq') == 1", "when"),
        ('to  = "1500"', "to  = \"sysctl('zz.qq')\"", "fix[0].to"),
        ('to  = "1500"', 'to  = "1500"\nif  = "sysctl(\'zz.qq\') == 1"', "fix[0].if"),
        ("[[source]]", UNLESS, "unless[0].when"),
    ],
)
def test_a_kernel_parameter_that_is_not_read_is_refused(
    old: str, new: str, key: str, tmp_path: Path
) -> None:
    """Its value would always be unknown, so the rule could never have a finding."""
    file = tmp_path / "rings" / "slow-nic.toml"
    file.parent.mkdir()
    file.write_text(SLOW.replace(old, new, 1))
    told: list[str] = []
    assert load.load([tmp_path], tell=told.append) == ()
    reason = "nettop does not read 'zz.qq'; rules/sysctls.toml lists what it reads"
    assert told == [f"{file}: {key}: {reason}"]
    file.write_text(SLOW.replace("nic.mtu < 1000", "sysctl('net.ipv4.tcp_sack') == 0", 1))
    assert [rule.id for rule in load.load([tmp_path], tell=told.append)] == ["slow-nic"]


# The type of value that a setting takes.


@pytest.mark.parametrize(
    ("setting", "kind"),
    [
        ("ring.rx@eth0", NUMBER), ("coalesce.adaptive-rx@eth0", SWITCH),
        ("coalesce.rx-profile@eth0", TEXT), ("link.promisc@eth0", SWITCH),
        ("rps.cpus@eth0/rx-0", CPUS),
        ("xps.cpus@eth0/tx-0", CPUS), ("xps.rxqs@eth0/tx-0", ANY), ("sysctl.cpus", ANY),
    ],
)  # fmt: skip
def test_the_type_follows_from_kind_and_name(setting: str, kind: object) -> None:
    assert type_of(setting) == kind


# A value in a [[test]] that no host has is refused with one sentence.


RULE = Path(__file__).parents[2] / "rules" / "flow-control" / "pause-stops-the-port.toml"


def changed(folder: Path, lines: str) -> Path:
    path = folder / RULE.name
    head, mark, rest = RULE.read_text("utf-8").partition("[[test]]\n")
    first, _, others = rest.partition("\n\n")
    kept = [one for one in first.splitlines() if one.partition(" ")[0] != lines.partition(" ")[0]]
    path.write_text("\n".join([f"{head}{mark}{lines}", *kept, "", others]), "utf-8")
    return path


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e309", "9" * 400, "1" + "0" * 19])
def test_a_number_is_finite_and_bounded(number: str, tmp_path: Path) -> None:
    path = changed(tmp_path, f"nic = {{ per_s = {{ phy_discards = {number} }} }}")
    with pytest.raises(RuleError, match="or not finite"):
        check(path)


@pytest.mark.parametrize(
    "line",
    [f"{key} = {value}" for key in ("name", "finds", "profile", "target", "title", "silent",
                                    "recorded", "before", "ago", "after", "wanted", "advice")
     for value in ("[[]]", "{ a = [] }")
     if (key, value) not in {("before", "{ a = [] }"), ("wanted", "[[]]")}],
)  # fmt: skip
def test_a_key_has_a_value_of_its_type(line: str, tmp_path: Path) -> None:
    with pytest.raises(RuleError, match=f"{line.partition(' ')[0]} cannot be"):
        check(changed(tmp_path, line))
