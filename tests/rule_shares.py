"""Looks at a rule's fault as a share: what fails, beside what gets through, for ten seconds.

For each `share(lost, through)` in the condition of a rule, planted on the facts of one of the
rule's own tests: 2, 20 and 20,000 events a second while nothing gets through, one event in ten
thousand of a busy service, and two events in the whole look.
"""

import ast
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nettop.advice.judge.judge import Judge
from nettop.advice.judge.rule_tests import moments
from nettop.advice.language.functions.history import terms
from nettop.advice.language.moment import LOOK
from nettop.advice.language.syntax import path_of
from nettop.advice.rules.load import tests as own_tests
from nettop.advice.rules.rule import Rule
from nettop.facts import Facts

SECONDS = int(LOOK)
TOTAL = (2.0, 20.0, 20_000.0)  # events a second, while nothing gets through
BUSY = 20_000.0  # events a second that get through, beside `SLIGHT` that do not
SLIGHT = 2.0
FEW = 0.2  # a second: two in a look


@dataclass(frozen=True)
class Look:
    """One fault for ten seconds, and what the rule must say of it."""

    name: str
    facts: tuple[Facts, ...]
    finds: bool
    total: bool = False  # nothing gets through


def looks(rule: Rule) -> Iterator[Look]:
    """The looks at each share of the rule, on the first of its tests that the share decides."""
    seen: set[str] = set()
    for call in rule.when.calls("share"):
        lost, through = call.args
        if ast.unparse(lost) in seen:
            continue
        seen.add(ast.unparse(lost))
        base = _base(rule, lost, through)
        for rate in TOTAL:
            name = f"{ast.unparse(lost)}: {rate:g}/s, nothing gets through"
            yield Look(name, _facts(rule, base, lost, through, rate, 0.0), True, total=True)
        name = f"{ast.unparse(lost)}: one in ten thousand"
        yield Look(name, _facts(rule, base, lost, through, SLIGHT, BUSY), False)
        name = f"{ast.unparse(lost)}: two in a look"
        yield Look(name, _facts(rule, base, lost, through, FEW, 0.0), False)


def severity(rule: Rule, look: Look) -> str:
    """The severity of the finding after the look; empty: there is none."""
    judge = Judge((rule,))
    found = [judge.judge(facts).findings for facts in look.facts][-1]
    return found[0].severity if found else ""


def _base(rule: Rule, lost: ast.expr, through: ast.expr) -> Mapping[str, Any]:
    for table in own_tests(rule):
        if table["finds"] and "recorded" not in table and "before" not in table:
            tries = ((0.0, BUSY), (0.0, 0.0), (TOTAL[-1], 0.0))
            said = [
                severity(rule, Look("", _facts(rule, table, lost, through, *rates), finds=False))
                for rates in tries
            ]
            if not said[0] and not said[1] and said[2]:
                return table
    raise AssertionError(f"{rule.id}: no test of its own that {ast.unparse(lost)} decides")


def _facts(
    rule: Rule,
    table: Mapping[str, Any],
    lost: ast.expr,
    through: ast.expr,
    rate: float,
    rest: float,
) -> tuple[Facts, ...]:
    """The facts of each second, with `rate` of `lost` and `rest` of what gets through."""
    new = copy.deepcopy(dict(table))
    failed = {ast.unparse(field): sign for sign, field in terms(lost)}
    values = dict.fromkeys(failed, 0.0)
    values[next(field for field, sign in failed.items() if sign > 0)] = rate
    passed = [(sign, ast.unparse(field)) for sign, field in terms(through)]
    again = sum(sign * values.get(field, 0.0) for sign, field in passed)
    others = [field for _, field in passed if field not in failed]
    values |= dict.fromkeys(others, 0.0) | {others[0]: rest - again}
    for field, value in values.items():
        _set(new, path_of(ast.parse(field, mode="eval").body) or (), value)
    (now,) = moments(rule, new, None)
    return tuple(replace(now, at=now.at + second) for second in range(SECONDS))


def _set(table: dict[str, Any], keys: tuple[str, ...], value: float) -> None:
    kind, *names = keys
    rows = table.get(f"{kind}s", [])
    place = rows[0] if rows else table.setdefault(kind, {})
    for name in names[:-1]:
        place = place.setdefault(name, {})
    place[names[-1]] = value
