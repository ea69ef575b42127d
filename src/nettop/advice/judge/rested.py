"""Resting facts: the interfaces and sockets that are the same object as in the last frame.

If a kind has many facts, or if no data moves, only those that changed and those with a finding are
judged in each frame. All are judged every `EVERY` seconds, or every `QUIET` seconds if no kind has
many, because a rule may read another fact, such as the host.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Final

from ...facts import Facts
from ...facts.kinds import kinds
from ...terms.dataclass import dataclass

MANY: Final = 64  # facts of one kind; up to this number all are judged each time
EVERY: Final = 10.0  # seconds
QUIET: Final = 5.0  # seconds, if no kind has many: most tables are as old while no data moves

Fresh = Mapping[str, Sequence[object]]
"""The facts to judge, for each kind with resting facts."""


@dataclass(slots=True)
class Rested:
    """The facts of the last frame, and when all were judged."""

    at: float = float("-inf")
    before: Mapping[str, Sequence[object]] = field(default_factory=dict)

    def fresh(
        self, facts: Facts, held: Collection[tuple[str, str]], *, quiet: bool = False
    ) -> Fresh:
        """The facts to judge now; `held` are the rules, with their targets, that hold.

        `quiet`: no data moves, so that also of a few facts those that rest are left out.
        """
        every = {name: facts.of(kind) for name, kind in kinds().items()}
        few = 0 if quiet else MANY
        many = {name: found for name, found in every.items() if len(found) > few}
        wait = EVERY if any(len(found) > MANY for found in many.values()) else QUIET
        before, self.before = self.before, many
        if not many or not 0 <= facts.at - self.at < wait:
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
