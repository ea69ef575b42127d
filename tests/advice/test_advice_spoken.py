"""Conditions in words: nothing that is shown to a reader is written as code."""

import re

from folded import folded

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
    return spoken.in_words(condition(text, over, limits), limits)


@folded("rule", RULES, ids=lambda rule: rule.id)
def test_every_condition_that_is_shipped_is_words(rule: Rule) -> None:
    shown = [spoken.in_words(side, rule.limits) for side in spoken.parts(rule.when)]
    shown += [spoken.in_words(exempt.when, rule.limits) for exempt in rule.unless]
    shown += [spoken.in_words(f.when, rule.limits) for f in rule.words.fixes if f.when]
    assert [text for text in shown if not text or CODE.search(text)] == []


def test_figures_have_the_unit_of_what_they_bound() -> None:
    assert words("nic.per_s.ring_drops > limits.drops", drops=0) == (
        "packets dropped, receive ring full > 0 packets/s"
    )
    assert words("nic.ring.rx < nic.ring.rx_max") == "receive ring < receive ring maximum"
    assert words("0 < nic.ring.rx") == "receive ring > 0 descriptors"
    assert words("nic.speed >= 1e10") == "link speed >= 10 Gb/s"
    assert words("nic.pcie.usable < 0.5 * nic.speed") == (
        "slot bandwidth after encoding < 50% of link speed"
    )
    assert words("host.kernel >= (6, 11)") == "kernel version >= 6.11"


def test_switches_and_what_is_known_are_statements() -> None:
    assert words("not nic.msi and nic.xdp") == (
        "message-signalled interrupts: no and XDP program attached: yes"
    )
    assert words("nic.rss_symmetric == False") == "symmetric RSS: no"
    assert words("not known(nic.master)") == "bond or bridge of this port unknown"
    assert words("on(nic, 'rx-gro') and not fixed(nic, 'rx-gro')") == (
        "rx-gro is on and rx-gro can be changed"
    )
    assert words("len(nic.local_cpus) > 0") == "any CPUs of the device's NUMA node"


def test_what_must_hold_together_is_told_apart() -> None:
    both = condition("nic.mtu > 1500 and (nic.xdp or nic.promisc)", "nic")
    assert [spoken.in_words(side, {}) for side in spoken.parts(both)] == [
        "MTU > 1500 bytes",
        "XDP program attached: yes or promiscuous mode: yes",
    ]
    alone = parse("nic.mtu > 1500", "nic")
    assert [side.text for side in spoken.parts(alone)] == ["nic.mtu > 1500"]


def test_a_field_of_evidence_has_a_name() -> None:
    assert spoken.field_name("nic.total.ring_drops") == (
        "packets dropped, receive ring full (total)"
    )
    assert spoken.field_name("core(nic.irq_top_cpu).softirq") == (
        "softirq time of busiest interrupt CPU"
    )
    assert spoken.field_name("sysctl.net.ipv4.tcp_rmem") == "net.ipv4.tcp_rmem"
    assert spoken.field_name("feature.rx-gro") == "rx-gro"
    assert spoken.field_name("a name; not an expression") == "a name; not an expression"
    assert spoken.value_text("host.kernel", (6, 1), "") == "6.1"


def test_a_unit_that_the_name_contains_is_left_out() -> None:
    assert words("process.packet_sockets > 0", "process") == "packet sockets > 0"
    assert spoken.value_text("process.packet_sockets", 2, "sockets") == "2"
    assert spoken.value_text("flow.loss_ratio", 0.67, "ratio") == "67%"
    assert spoken.value_text("nic.ring.rx", 256, "descriptors") == "256 descriptors"


def test_the_page_of_a_rule_keeps_its_own_words_for_those_who_write_rules() -> None:
    rule = next(rule for rule in RULES if rule.id == "rx-ring-overrun")
    text = "\n".join(page(rule))
    assert "Conditions (all must hold)\n  - packets dropped, receive ring full > 0" in text
    assert text.count("nic.per_s.ring_drops > limits.drops") == 1
    assert text.index("Condition in the rule file") < text.index(
        "nic.per_s.ring_drops > limits.drops"
    )


def test_a_limit_is_named_as_nettop_why_names_it() -> None:
    assert words("flow.limit in ('sndbuf', 'qdisc')", "flow") == (
        "limit is one of the send buffer or the qdisc"
    )
    assert words("flow.limit == 'none'", "flow") == "limit = none"
    assert spoken.value_text("flow.limit", "rwnd", "") == "the peer's receive window"
    assert spoken.value_text("flow.congestion", "path", "") == "path"
