"""A rule's whole condition: `when`, and none of its `unless`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

from ...terms.dataclass import dataclass
from ..language.evaluate import evaluate
from ..language.expression import Expression
from ..language.functions.history import COUNTED, EARLIER, key, terms
from ..language.moment import LOOK, Moment, Scope
from ..language.syntax import literal, path_of
from ..language.values import Read
from ..language.vocabulary import SWITCH
from ..rules.rule import Rule

Row: TypeAlias = tuple[object, ...]  # a fact and its parents, in the order of `PARENTS`
Label: TypeAlias = Callable[[object], str]  # the name of a fact as a target


@dataclass(frozen=True, slots=True)
class Earlier:
    """A `worst(field, seconds)` or `increase(field, seconds)` of a condition, or a rate to sum."""

    text: str
    path: tuple[str, ...]  # of the field
    seconds: float
    sign: float  # 1: the largest value is needed; -1: the smallest; 0: the sum


@dataclass(frozen=True, slots=True)
class Judged:
    """A rule made ready for judging."""

    rule: Rule
    condition: Expression
    earlier: tuple[Earlier, ...] = ()

    @classmethod
    def of(cls, rule: Rule) -> Judged:
        """Put `when` and `unless` together."""
        condition = whole(rule)
        every = (condition, *filter(None, (rule.critical, rule.harmless)))
        earlier = dict.fromkeys(call for one in every for call in _earlier(one))
        return cls(rule, condition, tuple(earlier))

    def averaged(self, read: Read, moment: Moment, target: str) -> Read:
        """The read; of a rate that the condition sums, its mean in the same seconds."""
        name = key(self.rule.over, read.field)
        if not any(one.text == name and not one.sign for one in self.earlier):
            return read
        now = read.value if isinstance(read.value, int | float) else None
        return replace(read, value=moment.mean(target, ((1.0, name, now),)))

    def holds(self, row: Row, moment: Moment, label: Label) -> bool:
        """Whether it is for this profile and holds on a row, by the three-valued walk."""
        if self.rule.profiles is not None and moment.profile not in self.rule.profiles:
            return False
        names = moment.scope(self.rule.over, row[0])
        scope = Scope(names, moment, self.rule.limits, label(row[0]))
        return evaluate(self.condition, scope).value is True


def whole(rule: Rule) -> Expression:
    """`when and not unless and not unless …` as one expression."""
    return _joined(rule.when, tuple(exempt.when for exempt in rule.unless))


@lru_cache(maxsize=1024)
def _joined(when: Expression, exempt: tuple[Expression, ...]) -> Expression:
    if not exempt:
        return when
    text = " and not ".join(f"({one.text})" for one in (when, *exempt))
    return Expression(text, when.over, SWITCH)


@lru_cache(maxsize=1024)
def _earlier(condition: Expression) -> tuple[Earlier, ...]:
    """The earlier values that a condition asks for."""
    found = [
        Earlier(
            key(condition.over, ast.unparse(call)),
            path_of(call.args[0]) or (),
            float(literal(call.args[1])),
            sign,
        )
        for name, sign in EARLIER.items()
        if name in condition.text
        for call in condition.calls(name)
    ]
    found += [
        Earlier(key(condition.over, ast.unparse(field)), path_of(field) or (), LOOK, 0.0)
        for name in COUNTED
        if name in condition.text
        for call in condition.calls(name)
        for argument in call.args
        for _, field in terms(argument)
    ]
    return tuple(dict.fromkeys(found))
