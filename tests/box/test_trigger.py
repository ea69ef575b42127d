"""What begins an incident."""

from dataclasses import replace

import pytest
from box_parts import finding

from nettop.advice.rules.load import load
from nettop.box.blackbox import AGAIN, APART, Trigger, expressions
from nettop.box.incident import Incident
from nettop.config import rules_folder

RULES = load([rules_folder()])


@pytest.mark.parametrize(
    ("on", "wanted"),
    [
        (["critical"], ["critical"]),
        (["warning"], ["critical", "warning"]),
        (["info"], ["critical", "warning", "advice", "info"]),
        (["rx-ring-overrun"], []),
    ],
)
def test_a_level_means_those_above_it_too(on: list[str], wanted: list[str]) -> None:
    trigger = Trigger(on, RULES)
    levels = ("critical", "warning", "advice", "info")
    assert [one for one in levels if trigger.wants(finding("x", severity=one))] == wanted


def test_a_rule_is_wanted_whatever_its_level() -> None:
    trigger = Trigger(["rx-ring-overrun"], RULES)
    assert trigger.wants(finding("rx-ring-overrun", severity="info"))


def test_only_the_beginning_counts() -> None:
    trigger = Trigger(["critical"], RULES)
    one, two = finding("a"), finding("b")
    assert trigger.begun({one.id: one}) == [one]
    assert trigger.begun({one.id: one, two.id: two}) == [two]
    assert trigger.begun({}) == []
    assert trigger.begun({one.id: one}) == [one]


def test_a_finding_that_gets_worse_begins_when_it_is_bad_enough() -> None:
    trigger = Trigger(["warning"], RULES)
    one = finding("a", severity="advice")
    assert trigger.begun({one.id: one}) == []
    worse = replace(one, severity="warning")
    assert trigger.begun({one.id: worse}) == [worse]
    assert trigger.begun({one.id: worse}) == []


def test_a_flapping_cause_makes_one_incident_an_hour() -> None:
    trigger = Trigger(["critical"], RULES)
    made = []
    for at in range(0, 7200, 20):
        one = finding("a")
        trigger.begun({})
        if trigger.begun({one.id: one}) and trigger.due(one, at):
            trigger.note(Incident("a", "eth0", "critical", "", at, at), at)
            made.append(at)
    assert made == [0, AGAIN]


def test_another_target_of_the_rule_makes_one_after_ten_minutes_another_rule_at_once() -> None:
    trigger = Trigger(["critical"], RULES)
    trigger.note(Incident("a", "eth0", "critical", "", 0, 0), 0)
    assert not trigger.due(finding("a", "eth1"), APART - 1)
    assert trigger.due(finding("a", "eth1"), APART)
    assert not trigger.due(finding("a", "eth0"), APART)
    assert trigger.due(finding("b", "eth0"), 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("critcal", "no severity and no rule (did you mean critical?)"),
        ("rx-ring-overun", "did you mean rx-ring-overrun?"),
    ],
)
def test_a_wrong_name_is_one_sentence(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="is no severity") as raised:
        Trigger([text], RULES)
    assert message in str(raised.value)


def test_an_expression_is_a_rule_over_the_fact_that_it_names() -> None:
    texts = ["critical", "nic.per_s.ring_drops > 100", "core(0).softirq > host.cpus"]
    one, two = expressions(texts)
    assert (one.id, one.over, one.severity) == ("on-expression", "nic", "critical")
    assert (two.id, two.over) == ("on-expression-2", "core")
    assert "veth" in (one.links or ())
    assert Trigger(["nic.per_s.ring_drops > 100"], [one, *RULES]).wants(finding("on-expression"))


@pytest.mark.parametrize("text", ["1 > 0", "nic.nonsense > 1", "nic.per_s.ring_drops >", "nic; x"])
def test_a_wrong_expression_is_one_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="--on ") as raised:
        expressions([text])
    assert "\n" not in str(raised.value)
    assert ".toml" not in str(raised.value)
