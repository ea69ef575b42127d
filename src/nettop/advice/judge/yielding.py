"""Which of two rules speaks when both hold and one says it better: the one the other yields to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..rules.rule import Rule

_HOST: Final = "host"


@dataclass(slots=True)
class Held:
    """Where a rule is reported: the targets, and the interfaces that these are about."""

    over: str
    targets: set[str] = field(default_factory=set)
    nics: set[str] = field(default_factory=set)

    def meets(self, over: str, target: str, fact: Any) -> bool:
        """Whether it holds on that target, on its interface or, one of the two, on the host."""
        if self.over == over:
            return target in self.targets
        return _HOST in (self.over, over) or not self.nics.isdisjoint(nics_of(over, fact))


class Yields:
    """Where the rules that others yield to are reported, gathered while a moment is judged.

    A muted rule, or one that has not held for long enough yet, silences no other.
    """

    def __init__(self, asked: Collection[str]) -> None:
        """`asked`: the names of all rules that others yield to."""
        self._asked = asked
        self._held: dict[str, Held] = {}

    def add(self, rule: Rule, target: str, fact: Any) -> None:
        """The rule is to be reported on that target, or in its place one that it yields to."""
        if rule.id in self._asked:
            held = self._held.setdefault(rule.id, Held(rule.over))
            held.targets.add(target)
            held.nics.update(nics_of(rule.over, fact))

    def to(self, rule: Rule, target: str, fact: Any) -> str | None:
        """The rule that speaks in this one's place on that target, if any does."""
        for name in rule.yields:
            held = self._held.get(name)
            if held is not None and held.meets(rule.over, target, fact):
                return name
        return None


def nics_of(over: str, fact: Any) -> Iterable[str]:
    """The interfaces a target is about."""
    if over == _HOST:
        return ()
    if over == "nic":
        return (fact.name,)
    if over == "core":
        found: tuple[str, ...] = fact.nics
        return found
    return (fact.nic,) if fact.nic else ()


Spoken = Mapping[tuple[str, str], str]  # (rule, target) → the rule that speaks in its place
