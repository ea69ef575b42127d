"""All rules on one kind of target as one compiled loop: which rules are true on which rows.

Facts rest that are the same object as in the last frame, as interfaces and sockets without data do.
If a kind has many facts, or if no data moves, only those that changed and those with a finding are
judged in each frame. All are judged every `EVERY` seconds, or every `QUIET` seconds if no kind has
many, because a rule may read another fact, such as the host.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Final, TypeAlias, cast

from ...facts import Facts
from ...facts.kinds import kinds
from ...facts.kinds.host import HostFact
from ...terms.dataclass import dataclass
from ..language.expression import Expression, parsed
from ..language.moment import Moment
from ..language.native import ERRORS, Writer, compiled
from ..language.syntax import Limit, NoCode
from ..language.vocabulary import PARENTS
from .condition import Judged, Label, Row

Hit: TypeAlias = tuple[int, Row]  # the place of a condition, and a row on which it is true
Walk: TypeAlias = Callable[[int, Row], bool]  # the same answer by the three-valued walk
Loop: TypeAlias = Callable[[Sequence[Row], Moment, HostFact, str, Label, Walk], Iterator[Hit]]
# the condition of a rule, its limits and its profiles
Part: TypeAlias = tuple[Expression, tuple[tuple[str, Limit], ...], frozenset[str] | None]


def loop_of(over: str, conditions: Sequence[Judged]) -> Loop:
    """The compiled loop of conditions over one kind of fact."""
    return _loop(over, parts_of(conditions))


def code_of(over: str, parts: Iterable[Part]) -> str:
    """The source of a generator `rules(rows, moment, host, profile, label, walk)`.

    `rows` are tuples (fact, parents …) in the order of `PARENTS`; the generator yields each with
    the place of every rule that holds on it in this profile. `walk` evaluates conditions that have
    no native code. All rules on the same rows share one function, because a call costs as much as a
    condition; its code is short, because all of it is compiled before the first screen.
    """
    writer = Writer(over, {})
    tests = []
    for place, (condition, limits, profiles) in enumerate(parts):
        writer.limits = dict(limits)
        try:
            test = writer.condition(parsed(condition.text), True)
        except NoCode:
            test = f"walk({place}, row)"
        if profiles is not None:
            test = f"profile in {sorted(profiles)!r} and {test}"
        tests.append(f"  if {test}: yield {place}, row\n")
    once = "".join(f" {variable} = {code}\n" for code, variable in writer.once.items())
    unpacked = ", ".join((over, *PARENTS[over]))
    head = f"def rules(rows, moment, host, profile, label, walk):\n{once}"
    return f"{head} for row in rows:\n  {unpacked}, = row\n{''.join(tests)}"


def parts_of(conditions: Iterable[Judged]) -> tuple[Part, ...]:
    """What their code is made of."""
    return tuple(
        (one.condition, tuple(one.rule.limits.items()), one.rule.profiles) for one in conditions
    )


@lru_cache(maxsize=64)  # several observers of one process judge by the same rules
def _loop(over: str, parts: tuple[Part, ...]) -> Loop:
    return cast("Loop", compiled(code_of(over, parts)))


def true_on(
    loop: Loop,
    count: int,
    rows: Sequence[Row],
    moment: Moment,
    label: Label,
    walk: Walk,
) -> list[Hit]:
    """The rows on which each of `count` conditions is true, by their compiled loop.

    `walk` decides about a row on which the loop raises (a division by zero, for example).
    """
    try:
        return list(loop(rows, moment, moment.facts.host, moment.profile, label, walk))
    except ERRORS:
        if len(rows) > 1:
            alone = (true_on(loop, count, [row], moment, label, walk) for row in rows)
            return [hit for hits in alone for hit in hits]
    return [(place, row) for row in rows for place in range(count) if walk(place, row)]


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
