"""The rules on one kind of target as one loop: which rules are true on which rows.

Making and starting a loop costs as much as a condition, so all rules on the same rows share one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..language.moment import Moment
from ..language.native import ERRORS, Writer
from ..language.syntax import NoCode
from ..language.vocabulary import PARENTS
from .condition import Judged

Row = tuple[Any, ...]
Found = tuple[int, Row]
Loop = Callable[..., Iterator[Found]]
Careful = Callable[[int, Row], bool]


def code_of(over: str, asked: Sequence[Judged]) -> str:
    """The source of a generator `rules(rows, moment, host, profile, label, careful)`.

    `rows` are tuples (fact, parents …) as `PARENTS` orders them; it yields each with the place of
    every rule that holds on it in this profile. A condition without native code is left to
    `careful`. All rules on the same rows are one function, for to begin one costs as much as a
    condition; and it is short: a hundred conditions are compiled before the first picture.
    """
    writer = Writer(over, {})
    tests = []
    for place, judged in enumerate(asked):
        writer.limits = judged.rule.limits
        try:
            test = writer.condition(judged.condition.tree, True)
        except NoCode:
            test = f"careful({place}, row)"
        if judged.rule.profiles is not None:
            test = f"profile in {sorted(judged.rule.profiles)!r} and {test}"
        tests.append(f"  if {test}: yield {place}, row\n")
    once = "".join(f" {variable} = {code}\n" for code, variable in writer.once.items())
    unpacked = ", ".join((over, *PARENTS[over]))
    head = f"def rules(rows, moment, host, profile, label, careful):\n{once}"
    return f"{head} for row in rows:\n  {unpacked}, = row\n{''.join(tests)}"


def true_on(
    loop: Loop,
    count: int,
    rows: Sequence[Row],
    moment: Moment,
    label: Callable[[Any], str],
    careful: Careful,
) -> list[Found]:
    """The rows on which each of `count` conditions is true, by the loop made of them.

    `careful` decides on a row that the loop has no number for.
    """
    try:
        return list(loop(rows, moment, moment.facts.host, moment.profile, label, careful))
    except ERRORS:
        if len(rows) > 1:
            alone = (true_on(loop, count, [row], moment, label, careful) for row in rows)
            return [found for one in alone for found in one]
    return [(place, row) for row in rows for place in range(count) if careful(place, row)]
