"""Every rule begins and ends to hold where tests/golden/rules says (`--update` searches anew)."""

from __future__ import annotations

import pytest
import rule_boundaries as boundaries
from folded import folded
from sentences import no_fault

from nettop.advice.rules.load import load
from nettop.advice.rules.rule import Rule

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
