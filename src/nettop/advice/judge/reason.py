"""Why a rule does not speak on a target, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ...facts.kinds import kinds
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
    """Why the rule does not judge this target at all; None where it does."""
    rule = judged.rule
    nic = moment.scope(rule.over, fact).get("nic")
    if rule.profiles is not None and moment.profile not in rule.profiles:
        return f"it is for {', '.join(sorted(rule.profiles))}; this host is {moment.profile}"
    if kinds()[rule.over].needs_nic and nic is None:
        return f"nothing is known of the interface {fact.nic}"
    if rule.links is not None and nic is not None and nic.kind not in rule.links:
        return f"{nic.name} is of kind {nic.kind}, where this does not apply"
    return None


def because(judged: Judged, moment: Moment, fact: Any, target: str) -> str:
    """The sentence for one rule on one target that it judges and does not find."""
    rule = judged.rule
    scope = Scope(moment.scope(rule.over, fact), moment, rule.limits, target)
    sides = [(side, evaluate(side, scope)) for side in parts(rule.when)]
    missed = [_missed(said(side, rule.limits), m.reads) for side, m in sides if m.value is False]
    if missed:
        return f"not so: {'; '.join(missed)}"
    unsure = [read for _, made in sides if made.value is None for read in made.reads]
    if any(made.value is None for _, made in sides):
        return unknowns([one for one in unsure if one.value is None] or unsure, moment)
    for exempt in rule.unless:
        answer = evaluate(exempt.when, scope)
        if answer.value is None:
            return unknowns(answer.unknown() or answer.reads, moment)
        if answer.value is True:
            return exempt.say.prose(scope)
    return "nothing is known"


def _missed(wanted: str, reads: tuple[Read, ...]) -> str:
    """`receive ring below 512 descriptors (4,096 descriptors)`."""
    if len(reads) == 1 and wanted.startswith(named(reads[0].field)):
        return f"{wanted} ({told(reads[0].field, reads[0].value, reads[0].measure)})"
    return f"{wanted} ({values(reads)})" if reads else wanted


def values(reads: Iterable[Read]) -> str:
    """`receive ring 256 descriptors, link speed 10 Gb/s`."""
    seen = list(dict.fromkeys(reads))
    return ", ".join(
        f"{named(read.field)} {told(read.field, read.value, read.measure)}"
        for read in seen
        if not any(f"({read.field})" in other.field for other in seen)  # only to look a core up
    )


def unknowns(reads: Iterable[Read], moment: Moment) -> str:
    """`nic.ring.rx_max is not known: the driver does not report it`."""
    return "; ".join(
        f"{read.field} is not known: {_why(read.field, moment)}" for read in dict.fromkeys(reads)
    )


def _why(field: str, moment: Moment) -> str:
    for prefix, table in _TABLES.items():
        if field.startswith(prefix):
            reason = moment.facts.missing.get(table)
            if reason:
                return reason
    if field.startswith("sysctl."):
        return "this kernel has no such setting, or it cannot be read from here"
    if field.startswith("nic.per_s."):
        return "the driver does not count it, or there was only one sample yet"
    if field.startswith(("nic.", "feature.")):
        return "the driver does not report it"
    return "the host does not tell, or there was only one sample yet"
