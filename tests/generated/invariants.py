"""What must be true of the verdicts on one host and of its fixes, whatever is wrong with it.

Fixes are applied to facts: the settings change, what was measured stays. A measured loss outlives
its fix there, so only findings of settings alone must end (`applied.quiet`).
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

import verdicts
from applied import after, held, quiet

from nettop.advice.judge.judge import Judge
from nettop.advice.rules.load import load
from nettop.advice.rules.rule import Finding, Rule
from nettop.config import rules_folder
from nettop.facts import Facts

TWO_VALUES: Final = "two values for one setting"
REMAINS: Final = "a fix does not end its finding"
BEGINS: Final = "a fix begins another finding"
CONTRADICTS: Final = "a verdict contradicts another figure"
INVARIANTS: Final = (TWO_VALUES, REMAINS, BEGINS, CONTRADICTS)


@cache
def rules() -> Sequence[Rule]:
    """The rules of the project, read once."""
    return load([rules_folder()])


def broken(facts: Facts, found: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    """(invariant, finding or setting) for each that does not hold on this host."""
    yield from ((CONTRADICTS, fault) for fault in verdicts.broken(facts))
    values: dict[str, set[str]] = {}
    for finding in found:
        for wanted in finding.wanted:
            values.setdefault(wanted.setting, set()).add(wanted.value)
    yield from ((TWO_VALUES, name) for name, ways in values.items() if len(ways) > 1)
    before = {one.id for one in _judged(facts)}
    alone = {one.id for one in quiet(found)}
    for finding in found:
        if not finding.wanted or not all(map(held, finding.wanted)):
            continue
        left = _judged(after(facts, finding.wanted))
        if finding.id in alone:
            if finding.id in {one.id for one in left}:
                yield REMAINS, finding.id
            new = {one.id for one in left if finding.rule not in _yields(one.rule)} - before
            yield from ((BEGINS, f"{finding.id}: {name}") for name in sorted(new))
        yield from _undone(finding, left)


def _undone(finding: Finding, left: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    """Other findings that would set what this fix has set to another value."""
    done = {one.setting: one.value for one in finding.wanted}
    for one in left:
        if one.rule not in {finding.rule, *_family(finding.rule)}:
            for wanted in one.wanted:
                if done.get(wanted.setting, wanted.value) != wanted.value:
                    yield TWO_VALUES, f"{finding.id} and {one.id}: {wanted.setting}"


def _judged(facts: Facts) -> Sequence[Finding]:
    return Judge(rules(), window=0.0).judge(facts).findings


@cache
def _yields(name: str) -> frozenset[str]:
    return frozenset(next(rule.yields for rule in rules() if rule.id == name))


def _family(name: str) -> frozenset[str]:
    """The rules that continue what the fix of this one began: they yield to it, or it to them."""
    return _yields(name) | {rule.id for rule in rules() if name in rule.yields}
