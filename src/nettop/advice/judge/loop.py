"""All rules on one kind of target as one compiled loop: which rules are true on which rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias, cast

from ...facts.kinds.host import HostFact
from ..language.expression import Expression
from ..language.moment import Moment
from ..language.native import ERRORS, Writer, compiled
from ..language.syntax import Limit, NoCode
from ..language.vocabulary import PARENTS
from .condition import Judged, Label, Row

Hit: TypeAlias = tuple[int, Row]  # the place of a condition, and a row on which it is true
Walk: TypeAlias = Callable[[int, Row], bool]  # the same answer by the three-valued walk
Loop: TypeAlias = Callable[[Sequence[Row], Moment, HostFact, str, Label, Walk], Iterator[Hit]]
# the condition of a rule, its limits and its profiles
_Part: TypeAlias = tuple[Expression, tuple[tuple[str, Limit], ...], frozenset[str] | None]


def loop_of(over: str, conditions: Sequence[Judged]) -> Loop:
    """The compiled loop of conditions over one kind of fact."""
    return _loop(over, _parts(conditions))


def code_of(over: str, conditions: Sequence[Judged]) -> str:
    """The source of a generator `rules(rows, moment, host, profile, label, walk)`.

    `rows` are tuples (fact, parents …) in the order of `PARENTS`; the generator yields each with
    the place of every rule that holds on it in this profile. `walk` evaluates conditions that have
    no native code. All rules on the same rows share one function, because a call costs as much as a
    condition; its code is short, because all of it is compiled before the first screen.
    """
    return _code(over, _parts(conditions))


def _parts(conditions: Iterable[Judged]) -> tuple[_Part, ...]:
    return tuple(
        (one.condition, tuple(one.rule.limits.items()), one.rule.profiles) for one in conditions
    )


@lru_cache(maxsize=64)  # several observers of one process judge by the same rules
def _loop(over: str, parts: tuple[_Part, ...]) -> Loop:
    return cast("Loop", compiled(_code(over, parts)))


def _code(over: str, parts: Iterable[_Part]) -> str:
    writer = Writer(over, {})
    tests = []
    for place, (condition, limits, profiles) in enumerate(parts):
        writer.limits = dict(limits)
        try:
            test = writer.condition(condition.tree, True)
        except NoCode:
            test = f"walk({place}, row)"
        if profiles is not None:
            test = f"profile in {sorted(profiles)!r} and {test}"
        tests.append(f"  if {test}: yield {place}, row\n")
    once = "".join(f" {variable} = {code}\n" for code, variable in writer.once.items())
    unpacked = ", ".join((over, *PARENTS[over]))
    head = f"def rules(rows, moment, host, profile, label, walk):\n{once}"
    return f"{head} for row in rows:\n  {unpacked}, = row\n{''.join(tests)}"


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
