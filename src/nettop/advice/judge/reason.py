"""Why a rule has no finding on a target, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ...facts.kinds import kinds
from ...facts.kinds.nic import Nic
from ...terms.text import listed
from ..language.evaluate import evaluate
from ..language.moment import Moment, Scope
from ..language.values import Evaluated, Read
from ..language.words import field_name, in_words, parts, value_text
from .condition import Judged

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
