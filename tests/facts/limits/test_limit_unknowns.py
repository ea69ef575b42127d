"""What limits a flow if one measurement is not known, or is 0: expected output.

An older kernel does not report a field, and a socket that has just been opened has counted nothing.
No field may be missed by an error, and none may be taken for a value that it does not have. The
file has each field whose absence changes the verdict or a reading: which no longer hold, and what
is said instead.
`pytest tests/facts/limits/test_limit_unknowns.py --update` writes it anew.
"""

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from folded import folded
from golden_text import parts, same
from limit_frames import every
from limit_situations import SITUATIONS, line, sender

from nettop.collect import sockets_tcp

GOLDEN = Path(__file__).parents[2] / "golden/limits/unknowns.txt"
NAMES = [one.name for one in fields(sockets_tcp.Row) if one.default is None]
OF_THREAD = ("ran", "waited", "runs")


def said(tables: Any) -> list[str]:
    """The verdicts and the ladders of all targets after two seconds, with their figures."""
    out = []
    for limit in every(tables, 2, kinds=False)[-1].limits:
        where = f"{limit.over} {limit.direction}"
        out.append(
            f"{where} limited by {limit.stage.stage}, next {limit.next and limit.next.stage}"
        )
        out += [f"{where} {line(one)}" for one in limit.ladder]
    return out


def without(situation: Any, table: str, name: str, value: int | None) -> Any:
    """The situation, where a field of the only row of a table has this value."""

    def at(second: float) -> Any:
        tables = situation(second)
        (row,) = tables[table]
        return {**tables, table: [replace(row, **{name: value})]}

    return at


def different(fixed: Any) -> Iterator[str]:
    """Each field whose absence changes something; also the value 0, if it says something else."""

    def situation(second: float) -> Any:
        return sender(second, **fixed)

    def of(table: str, name: str, value: int | None) -> list[str]:
        given = without(situation, table, name, value)
        unchanged = all(
            given(second)[table] == situation(second)[table] for second in (0.0, 1.0, 2.0)
        )
        return known if unchanged else said(given)

    known = said(situation)
    asked = [("sockets_tcp", name) for name in NAMES] + [("threads", name) for name in OF_THREAD]
    for table, name in asked:
        found = [(value, of(table, name, value)) for value in (None, 0)]
        for value, now in found[: 1 if found[0][1] == found[1][1] else 2]:
            if now != known:
                gone = [" ".join(one.split()[:3]) for one in known if one not in now]
                yield f"{table}.{name} = {value}: otherwise {', '.join(gone) or 'nothing'}"
                yield from [f"    {one}"[:160] for one in now if one not in known]


@folded("case", SITUATIONS)
def test_a_measurement_that_is_not_known(case: str, update: bool) -> None:
    text = "\n".join(different(SITUATIONS[case][0]))
    same(GOLDEN, text + "\n", update, case)


def test_no_situation_is_left_that_is_gone() -> None:
    assert set(parts(GOLDEN)) == set(SITUATIONS)
