"""A rule's whole condition, `when` and none of its `unless`; in words, why it has no finding."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, TypeAlias

from ...facts.kinds import kinds
from ...facts.kinds.nic import Nic
from ...terms.dataclass import dataclass
from ...terms.text import listed
from ..language.evaluate import evaluate
from ..language.expression import Expression
from ..language.functions.history import COUNTED, EARLIER, key, terms
from ..language.moment import LOOK, Moment, Scope
from ..language.syntax import literal, path_of
from ..language.values import Evaluated, Read
from ..language.vocabulary import SWITCH
from ..language.words import field_name, in_words, parts, value_text
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


_TABLES: Final = {
    **{
        f"{name}.{prefix}".rstrip("."): table
        for name, kind in kinds().items()
        for prefix, table in kind.tables.items()
    },
    "feature": "features",
    "sysctl": "sysctls",
}


def not_applicable(judged: Judged, moment: Moment, fact: object) -> str | None:
    """Why the rule does not apply to this target; None where it applies."""
    rule = judged.rule
    kind, nic = kinds()[rule.over], moment.scope(rule.over, fact).get("nic")
    if rule.profiles is not None and moment.profile not in rule.profiles:
        names = listed(sorted(rule.profiles), "or")
        return f"applies to profile {names}; this host is {moment.profile}"
    if kind.needs_nic and nic is None:
        return f"not evaluated: no data for interface {kind.parents['nic'](fact)}"
    if rule.links is not None and isinstance(nic, Nic) and nic.kind not in rule.links:
        return f"does not apply to interfaces of kind {nic.kind}"
    return None


def because(judged: Judged, moment: Moment, fact: object, target: str) -> str:
    """The sentence for a rule that applies to a target and has no finding there."""
    rule = judged.rule
    scope = Scope(moment.scope(rule.over, fact), moment, rule.limits, target)
    sides = [(side, evaluate(side, scope)) for side in parts(rule.when)]
    missed = [
        _missed(in_words(side, rule.limits), r.reads) for side, r in sides if r.value is False
    ]
    if missed:
        return "; ".join(missed)
    unsure = [result for _, result in sides if result.value is None]
    if unsure:
        return unknowns(_unknown(unsure), moment)
    for exempt in rule.unless:
        result = evaluate(exempt.when, scope)
        if result.value is None:
            return unknowns(_unknown([result]), moment)
        if result.value is True:
            return exempt.say.prose(scope)
    return "not evaluated: no data"


def _unknown(results: Sequence[Evaluated]) -> list[Read]:
    """The reads without a value; all reads where each has one (a division by zero)."""
    reads = [read for result in results for read in result.reads]
    return [read for read in reads if read.value is None] or reads


def _missed(condition: str, reads: tuple[Read, ...]) -> str:
    """`needs receive ring < 512 descriptors; now 4,096 descriptors`."""
    if len(reads) == 1 and condition.startswith(field_name(reads[0].field)):
        return f"needs {condition}; now {_value(reads[0])}"
    return f"needs {condition}; now {values(reads)}" if reads else f"needs {condition}"


def values(reads: Iterable[Read]) -> str:
    """`receive ring 256 descriptors, link speed 10 Gb/s`."""
    once = list(dict.fromkeys(reads))
    return ", ".join(
        f"{field_name(read.field)} {_value(read)}"
        for read in once
        if not any(f"({read.field})" in other.field for other in once)  # only selects a core
    )


def _value(read: Read) -> str:
    return value_text(read.field, read.value, read.measure)


def unknowns(reads: Iterable[Read], moment: Moment) -> str:
    """`not evaluated: receive ring maximum unknown (not reported by the driver)`."""
    names = [f"{field_name(read.field)} unknown{_why(read.field, moment)}" for read in reads]
    return f"not evaluated: {'; '.join(dict.fromkeys(names))}"


def _why(field: str, moment: Moment) -> str:
    for prefix, table in _TABLES.items():
        if field.startswith(prefix):
            reason = moment.facts.missing.get(table)
            if reason:
                return f" ({reason})"
    if field.startswith("sysctl."):
        return " (no such setting in this kernel, or not readable)"
    if field.startswith("nic.per_s."):
        return " (not counted by the driver, or first sample)"
    if field.startswith(("nic.", "feature.")):
        return " (not reported by the driver)"
    return ""
