"""Which rule reports a problem when two hold: the one that the other yields to."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import field
from typing import Final

from ...facts.kinds import kinds
from ...facts.kinds.core import Core
from ...facts.kinds.nic import Nic
from ...terms.dataclass import dataclass
from ..rules.rule import Rule

_HOST: Final = "host"


@dataclass(slots=True)
class Held:
    """Where a rule is reported: the targets, and the interfaces that these are about."""

    over: str
    targets: set[str] = field(default_factory=set)
    nics: set[str] = field(default_factory=set)

    def meets(self, over: str, target: str, fact: object) -> bool:
        """Whether it holds on that target or its interface; one of the host always does."""
        if self.over == over:
            return target in self.targets
        return _HOST in (self.over, over) or not self.nics.isdisjoint(nics_of(over, fact))


class Yields:
    """Where the rules that others yield to are reported, collected while a moment is judged.

    A muted rule does not silence another one, nor does a rule that has not held for long enough.
    """

    def __init__(self, names: Collection[str]) -> None:
        """`names`: all rules that others yield to."""
        self._names = names
        self._held: dict[str, Held] = {}

    def add(self, rule: Rule, target: str, fact: object) -> None:
        """Record that the rule, or one that it yields to, is reported on that target."""
        if rule.id in self._names:
            held = self._held.setdefault(rule.id, Held(rule.over))
            held.targets.add(target)
            held.nics.update(nics_of(rule.over, fact))

    def to(self, rule: Rule, target: str, fact: object) -> str | None:
        """The rule that reports the problem instead of this one on that target; None: no rule."""
        for name in rule.yields:
            held = self._held.get(name)
            if held is not None and held.meets(rule.over, target, fact):
                return name
        return None


def nics_of(over: str, fact: object) -> Iterable[str]:
    """The interfaces a target is about."""
    if isinstance(fact, Nic):
        return (fact.name,)
    if isinstance(fact, Core):
        return fact.nics
    nic = kinds()[over].parents.get("nic")
    name = nic(fact) if nic is not None else None
    return (str(name),) if name else ()
