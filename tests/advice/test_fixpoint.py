"""What a fix leaves behind: its finding is gone, and no other rule speaks because of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from advice.test_cases import cases, moments, rules
from applied import after, quiet
from folded import folded

from nettop.advice.judge.judge import Judge
from nettop.advice.rules.rule import Finding
from nettop.facts import Facts

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
