"""Conditions in words: nothing that is shown to a reader is written as code."""

from __future__ import annotations

import re

import pytest

from nettop.advice.language import words as spoken
from nettop.advice.language.expression import condition, parse
from nettop.advice.rules.explain import page
from nettop.advice.rules.load import load
from nettop.advice.rules.rule import Rule
from nettop.config import rules_folder

RULES = load([rules_folder()])
CODE = re.compile(
    r"(?<![.\w])(?:nic|host|core|queue|flow|process|capture|path|limits)[.][a-z]|==|!="
)


def words(text: str, over: str = "nic", **limits: float) -> str:
    return spoken.said(condition(text, over, limits), limits)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_condition_that_is_shipped_is_words(rule: Rule) -> None:
    shown = [spoken.said(side, rule.limits) for side in spoken.parts(rule.when)]
    shown += [spoken.said(exempt.when, rule.limits) for exempt in rule.unless]
    shown += [spoken.said(f.when, rule.limits) for f in rule.words.fixes if f.when]
    assert [text for text in shown if not text or CODE.search(text)] == []


def test_figures_have_the_unit_of_what_they_bound() -> None:
    assert words("nic.per_s.ring_drops > limits.drops", drops=0) == (
        "lost because the receive ring was full above 0 packets/s"
    )
    assert words("nic.ring.rx < nic.ring.rx_max") == "receive ring below largest receive ring"
    assert words("0 < nic.ring.rx") == "receive ring above 0 descriptors"
    assert words("nic.speed >= 1e10") == "link speed at least 10 Gb/s"
    assert words("nic.pcie.usable < 0.5 * nic.speed") == (
        "what the slot carries after encoding below 50% of link speed"
    )
    assert words("host.kernel >= (6, 11)") == "kernel version at least 6.11"


def test_switches_and_what_is_known_are_statements() -> None:
    assert words("not nic.msi and nic.xdp") == (
        "interrupts are message-signalled: no and an XDP program is attached: yes"
    )
    assert words("nic.rss_symmetric == False") == "both directions of a flow reach one queue: no"
    assert words("not known(nic.master)") == "bond or bridge it belongs to is not known"
    assert words("on(nic, 'rx-gro') and not fixed(nic, 'rx-gro')") == (
        "rx-gro is on and rx-gro can be changed"
    )
    assert words("len(nic.local_cpus) > 0") == "there are CPUs near the device"


def test_what_must_hold_together_is_told_apart() -> None:
    both = condition("nic.mtu > 1500 and (nic.xdp or nic.promisc)", "nic")
    assert [spoken.said(side, {}) for side in spoken.parts(both)] == [
        "largest packet above 1500 bytes",
        "an XDP program is attached: yes or takes every frame: yes",
    ]
    alone = parse("nic.mtu > 1500", "nic")
    assert [side.text for side in spoken.parts(alone)] == ["nic.mtu > 1500"]


def test_a_field_of_evidence_has_a_name() -> None:
    assert spoken.named("nic.total.ring_drops") == (
        "lost because the receive ring was full, in all"
    )
    assert spoken.named("core(nic.irq_top_cpu).softirq") == (
        "soft interrupts of the CPU with most of its interrupts"
    )
    assert spoken.named("sysctl.net.ipv4.tcp_rmem") == "net.ipv4.tcp_rmem"
    assert spoken.named("feature.rx-gro") == "rx-gro"
    assert spoken.named("a name; not an expression") == "a name; not an expression"
    assert spoken.told("host.kernel", (6, 1), "") == "6.1"


def test_the_page_of_a_rule_keeps_its_own_words_for_those_who_write_rules() -> None:
    rule = next(rule for rule in RULES if rule.id == "rx-ring-overrun")
    text = "\n".join(page(rule))
    assert "When all of this is so\n  - lost because the receive ring was full above 0" in text
    assert text.count("nic.per_s.ring_drops > limits.drops") == 1
    assert text.index("As the rule has it") < text.index("nic.per_s.ring_drops > limits.drops")
