"""Values that a rule condemns: what would be wrong on this host if a setting had them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..advice.judge.judge import Judge
from ..advice.language.syntax import literal
from ..advice.rules.rule import Finding, Rule, place
from ..advice.rules.severity import SERIOUS
from ..facts import Facts
from ..host.source import Source

_KIND: Final = "sysctl."


def condemned(
    facts: Facts, wanted: Iterable[tuple[str, str]], rules: Iterable[Rule]
) -> tuple[Finding, ...]:
    """The findings that hold with these values of sysctls, and not with those of the facts.

    Only rules that read one of them are judged, without their `hold`.
    """
    values = _values(wanted)
    touched = _touched(values, rules)

    def findings(of: Facts) -> Sequence[Finding]:
        return Judge(touched, window=0.0).judge(of).findings

    before = {one.id for one in findings(facts)}
    then = replace(facts, sysctls={**facts.sysctls, **values})
    return tuple(one for one in findings(then) if one.id not in before)


def _values(wanted: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The sysctls among the settings, by name."""
    return {s.removeprefix(_KIND): value for s, value in wanted if s.startswith(_KIND)}


def _touched(values: Mapping[str, str], rules: Iterable[Rule]) -> list[Rule]:
    """The serious rules that read one of these sysctls."""
    return [rule for rule in rules if rule.severity in SERIOUS and _reads(rule, values)]


def _reads(rule: Rule, values: Mapping[str, str]) -> bool:
    """Whether the condition of the rule reads one of these sysctls."""
    return any(literal(call.args[0]) in values for call in rule.when.calls("sysctl"))


def doubts(
    source: Source, wanted: Sequence[tuple[str, str]], facts: Facts | None = None
) -> tuple[str, ...]:
    """The same as sentences, for the host as it is now, or as it was with these facts."""
    from .observer import Observer

    values = _values(wanted)
    if not values:
        return ()
    observer = Observer(source)
    if not _touched(values, observer.rules):
        return ()
    known = facts or observer.facts(observer.sampler.take(observer.tables()))
    return tuple(map(sentence, condemned(known, wanted, observer.rules)))


def sentence(finding: Finding) -> str:
    """What the rule says of the value, its id, and its first source."""
    rests = "; ".join((finding.rule, *(place(cite) for cite in finding.sources[:1])))
    return f"a rule condemns this value: {finding.title} ({rests})"
