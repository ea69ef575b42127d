"""What each table tells: the facts that differ when its rows are unknown or others.

The base is one host with every table (tests/support/whole_host.py), whose facts are expected output
of their own. Of each table the unknown, the numbers, the switches or the words of its rows are
others, all together; the expected output names the fields of facts that differ.
`pytest tests/facts/test_facts_varied.py --update` writes both anew.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from golden_text import same
from varied import Known, every, flat, names, ways
from whole_host import MOVING, STILL, facts

GOLDEN = Path(__file__).parents[1] / "golden/facts"


@cache
def base() -> Known:
    return every(facts({}))


@pytest.mark.parametrize("table", sorted({**STILL, **MOVING}))
def test_what_a_table_tells(table: str, update: bool) -> None:
    out = []
    found = {
        "not read": facts({}, table),
        **{way: facts(vary) for way, vary in ways(table).items()},
    }
    for way, varied in found.items():
        out += [way, *names(base(), every(varied))]
    same(GOLDEN / f"{table}.txt", "\n".join(out) + "\n", update)


def test_the_base(update: bool) -> None:
    """Every field of the base that is known."""
    plain = ("None", "", "()", "{}", "False", "0")
    fields = [
        field for name, fact in base().items() for field in flat(" ".join(name).strip(), fact)
    ]
    text = "".join(f"{name}: {value[:200]}\n" for name, value in fields if value not in plain)
    same(GOLDEN / "base/all.txt", text, update)


def test_each_table_has_its_file() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {*STILL, *MOVING}
