"""Why a rule has no finding on a target, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ...facts.kinds import kinds
from ...terms.text import listed
from ..language.evaluate import Scope, evaluate
from ..language.moment import Moment
from ..language.result import Read
from ..language.words import named, parts, said, told
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


def elsewhere(judged: Judged, moment: Moment, fact: Any) -> str | None:
    """Why the rule does not apply to this target; None where it applies."""
    rule = judged.rule
    nic = moment.scope(rule.over, fact).get("nic")
    if rule.profiles is not None and moment.profile not in rule.profiles:
        names = listed(sorted(rule.profiles), "or")
        return f"applies to profile {names}; this host is {moment.profile}"
    if kinds()[rule.over].needs_nic and nic is None:
        return f"not evaluated: no data for interface {fact.nic}"
    if rule.links is not None and nic is not None and nic.kind not in rule.links:
        return f"does not apply to interfaces of kind {nic.kind}"
    return None


def because(judged: Judged, moment: Moment, fact: Any, target: str) -> str:
    """The sentence for a rule that applies to a target and has no finding there."""
    rule = judged.rule
    scope = Scope(moment.scope(rule.over, fact), moment, rule.limits, target)
    sides = [(side, evaluate(side, scope)) for side in parts(rule.when)]
    missed = [_missed(said(side, rule.limits), m.reads) for side, m in sides if m.value is False]
    if missed:
        return "; ".join(missed)
    unsure = [read for _, made in sides if made.value is None for read in made.reads]
    if any(made.value is None for _, made in sides):
        return unknowns([one for one in unsure if one.value is None] or unsure, moment)
    for exempt in rule.unless:
        answer = evaluate(exempt.when, scope)
        if answer.value is None:
            return unknowns(answer.unknown() or answer.reads, moment)
        if answer.value is True:
            return exempt.say.prose(scope)
    return "not evaluated: no data"


def _missed(wanted: str, reads: tuple[Read, ...]) -> str:
    """`needs receive ring < 512 descriptors; now 4,096 descriptors`."""
    if len(reads) == 1 and wanted.startswith(named(reads[0].field)):
        return f"needs {wanted}; now {told(reads[0].field, reads[0].value, reads[0].measure)}"
    return f"needs {wanted}; now {values(reads)}" if reads else f"needs {wanted}"


def values(reads: Iterable[Read]) -> str:
    """`receive ring 256 descriptors, link speed 10 Gb/s`."""
    seen = list(dict.fromkeys(reads))
    return ", ".join(
        f"{named(read.field)} {told(read.field, read.value, read.measure)}"
        for read in seen
        if not any(f"({read.field})" in other.field for other in seen)  # only selects a core
    )


def unknowns(reads: Iterable[Read], moment: Moment) -> str:
    """`not evaluated: receive ring maximum unknown (not reported by the driver)`."""
    names = [f"{named(read.field)} unknown{_why(read.field, moment)}" for read in reads]
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
