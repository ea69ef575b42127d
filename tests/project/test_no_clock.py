"""No test of `make test` has a bound of time of its own: they wait for conditions (hang.py)."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
# played for a scoreboard, by hand, or inside the virtual machine; programs that tests start
OTHERS = ("live", "lab", "chain", "benchmarks", "hosts")
BOUND = re.compile(
    r"(?<!\w)timeout\s*=\s*\d|\.(?:join|communicate)\([1-9]|monotonic\(\) [+<>] \d"
    r"|monotonic\(\) - \w+ < (?!HANG\b)|reruns"
)


def test_hang_is_the_only_bound_of_time() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{number}: {line.strip()}"
        for path in sorted(TESTS.rglob("test_*.py"))
        if path.relative_to(TESTS).parts[0] not in OTHERS and path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if BOUND.search(line)
    ]
    assert not found, "\n".join(found)
