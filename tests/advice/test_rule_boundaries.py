"""Every rule begins and ends to hold where tests/golden/rules says (`--update` searches anew)."""

from collections.abc import Mapping
from typing import Any

import pytest
import rule_boundaries as boundaries
from advice.test_cases import cases, moments, rules
from applied import after, quiet
from folded import folded
from sentences import no_fault

from nettop.advice.judge.judge import Judge
from nettop.advice.rules.load import load
from nettop.advice.rules.rule import Finding, Rule
from nettop.facts import Facts

RULES = load([boundaries.PACK])
(RING,) = [rule for rule in RULES if rule.id == "rx-ring-overrun"]


@folded("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_holds_up_to_its_boundaries_and_not_beyond(rule: Rule, update: bool) -> None:
    file = boundaries.golden(rule)
    kept = boundaries.kept(file)
    if update:
        kept[rule.id] = boundaries.needed(rule)
        boundaries.keep(file, kept)
    if rule.id not in kept:
        which = f"tests/advice/test_rule_boundaries.py -k {rule.id}"
        pytest.fail(f"no boundaries of {rule.id}: `pytest {which} --update`", pytrace=False)
    assert boundaries.differences(rule, kept[rule.id]) == {}


def test_no_boundaries_are_left_of_a_rule_that_is_gone() -> None:
    there = {(boundaries.golden(rule), rule.id) for rule in RULES}
    no_fault(
        f"tests/golden/rules/{file.name} has {name}, which is no rule of this folder: delete it"
        for file in sorted(boundaries.GOLDEN.glob("*.txt"))
        for name in boundaries.kept(file)
        if (file, name) not in there
    )


def test_what_changes_in_a_rule_is_noticed() -> None:
    lines = boundaries.kept(boundaries.golden(RING))[RING.id]
    assert lines
    kinds = {"limit x2", "limit /2", "hold", "profiles"}
    found = [one for one in boundaries.mutants(RING) if one[0] in kinds]
    assert {kind for kind, _, _ in found} == kinds
    assert [
        (kind, what)
        for kind, what, one in found
        if not boundaries.differences(one, lines) and not boundaries.fails(one)
    ] == []


# What a fix leaves behind: its finding is gone, and no other rule speaks because of it.


YIELDS = {rule.id: rule.yields for rule in rules()}


def judged(facts: Facts) -> tuple[Finding, ...]:
    return Judge(rules(), window=0.0).judge(facts).findings


@folded("case", cases().values(), ids=cases())
def test_no_two_findings_set_one_setting_differently(case: Mapping[str, Any]) -> None:
    values: dict[str, set[str]] = {}
    for finding in judged(moments(case)[-1]):
        for wanted in finding.wanted:
            values.setdefault(wanted.setting, set()).add(wanted.value)
    assert {name: found for name, found in values.items() if len(found) > 1} == {}


@folded("case", cases().values(), ids=cases())
def test_a_fix_ends_its_finding_and_begins_no_other(case: Mapping[str, Any]) -> None:
    facts = moments(case)[-1]
    found = judged(facts)
    for finding in quiet(found):
        left = judged(after(facts, finding.wanted))
        assert finding.id not in {one.id for one in left}
        # a rule that yielded to this one held before, and speaks now in its turn
        new = {one.id for one in left if finding.rule not in YIELDS[one.rule]}
        assert new <= {one.id for one in found}, finding.id
