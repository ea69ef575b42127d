"""Values of sysctls that a rule condemns: what is said before they are set."""

from dataclasses import replace

import pytest
from scenes import lossy

from nettop import config
from nettop.advice.rules.load import load
from nettop.advice.rules.rule import Rule
from nettop.facts import Facts
from nettop.views.condemned import condemned, sentence

GOOD = {"net.ipv4.tcp_sack": "1", "net.ipv4.tcp_dsack": "1", "net.ipv4.tcp_window_scaling": "1",
        "net.ipv4.tcp_mem": "100 200 300"}  # fmt: skip


@pytest.fixture(scope="module")
def rules() -> tuple[Rule, ...]:
    return load(config.rule_folders()[:1])


@pytest.fixture
def facts() -> Facts:
    known = lossy().facts
    assert known is not None
    host = replace(known.host, memory=1 << 34, page=4096)
    return replace(known, host=host, sysctls={**known.sysctls, **GOOD})


def said(facts: Facts, rules: tuple[Rule, ...], setting: str, value: str) -> list[str]:
    return [sentence(one) for one in condemned(facts, [(setting, value)], rules)]


def test_a_value_that_a_rule_condemns_is_named_with_the_rule_and_its_source(
    facts: Facts, rules: tuple[Rule, ...]
) -> None:
    (one,) = said(facts, rules, "sysctl.net.ipv4.tcp_sack", "0")
    assert "loss-recovery-crippled; Boscia" in one
    (two,) = said(facts, rules, "sysctl.net.ipv4.tcp_mem", "10000000 10000000 10000000")
    assert "tcp-memory-unbounded" in two


def test_a_sound_value_and_one_that_is_set_already_are_not(
    facts: Facts, rules: tuple[Rule, ...]
) -> None:
    assert said(facts, rules, "sysctl.net.ipv4.tcp_sack", "1") == []
    assert said(facts, rules, "link.mtu@eth0", "1400") == []
    off = replace(facts, sysctls={**facts.sysctls, "net.ipv4.tcp_sack": "0"})
    assert said(off, rules, "sysctl.net.ipv4.tcp_sack", "0") == []
    assert said(off, rules, "sysctl.net.ipv4.tcp_sack", "1") == []
