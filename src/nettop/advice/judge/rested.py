"""Resting facts: the interfaces and sockets that are the same object as in the last frame.

If a kind has many facts, only those that changed and those with a finding are judged in each frame.
Every `EVERY` seconds all are judged, because a rule may read another fact, such as the host.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ...facts import Facts
from ...facts.kinds import kinds

MANY: Final = 64  # facts of one kind; up to this number all are judged each time
EVERY: Final = 10.0  # seconds

Fresh = Mapping[str, Sequence[object]]
"""The facts to judge, for each kind with resting facts."""


@dataclass(slots=True)
class Rested:
    """The facts of the last frame, and when all were judged."""

    at: float = float("-inf")
    before: Mapping[str, Sequence[object]] = field(default_factory=dict)

    def fresh(self, facts: Facts, held: Collection[tuple[str, str]]) -> Fresh:
        """The facts to judge now; `held` are the rules, with their targets, that hold."""
        every = {name: facts.of(kind) for name, kind in kinds().items()}
        many = {name: found for name, found in every.items() if len(found) > MANY}
        before, self.before = self.before, many
        if not many or not 0 <= facts.at - self.at < EVERY:
            self.at = facts.at
            return {}
        targets = {target for _, target in held}
        fresh = {}
        for name, found in many.items():
            label = kinds()[name].target
            same = {id(fact) for fact in before.get(name, ())}
            fresh[name] = [
                fact for fact in found
                if id(fact) not in same or (targets and label(fact) in targets)
            ]  # fmt: skip
        return fresh
