"""What each table tells: the facts that differ when its rows are unknown or others.

The base is one host with every table (tests/support/whole_host.py), whose facts are expected output
of their own. Of each table the unknown, the numbers, the switches or the words of its rows are
others, all together; the expected output names each field with the tables that change it.
`pytest tests/facts/test_facts_varied.py --update` writes both anew.
"""

import re
from pathlib import Path

from golden_text import same
from varied import by_field, every, flat, names, ways
from whole_host import MOVING, STILL, facts

GOLDEN = Path(__file__).parents[1] / "golden/facts"
PLAIN = ("None", "", "()", "{}", "False", "0")


def test_what_each_table_tells(update: bool) -> None:
    base = every(facts({}))

    def found(table: str) -> dict[str, set[str]]:
        varied = {way: facts(vary) for way, vary in ways(table).items()}
        return {way: names(base, every(one)) for way, one in varied.items()} | {
            "absent": names(base, every(facts({}, table)))
        }

    same(GOLDEN / "told-by.txt", by_field(sorted({**STILL, **MOVING}), found), update)


def test_the_base(update: bool) -> None:
    """Every value that is known; one that another fact of the kind has in the same field, once."""
    out: dict[tuple[str, str, str], str] = {}
    for name, fact in every(facts({})).items():
        for field, value in flat("", fact):
            if value not in PLAIN and not field.startswith(".ladder"):  # golden/limits has ladders
                once = (name.partition(" ")[0], re.sub(r"\[\d+\]", "", field), value)
                out.setdefault(once, f"{name}{field}: {value[:200]}\n")
    same(GOLDEN / "base.txt", "".join(out.values()), update)
