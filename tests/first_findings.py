"""What nettop says first of each host of tests/cases, as a person reads it.

    python tests/first_findings.py [WORD …]

Prints the cases whose family or name holds one of the words, or all: the host and its profile, the
first finding with its severity, and how many more there are.
"""

import sys
import tomllib
from collections.abc import Iterator

from advice.test_cases import families, findings, hosts, over, told


def lines(words: list[str]) -> Iterator[str]:
    """Two lines a case."""
    for path in families():
        for case in tomllib.loads(path.read_text())["case"]:
            if words and not any(word in f"{path.stem} {case['name']}" for word in words):
                continue
            table = over(hosts()[case["like"]] if "like" in case else {}, told(case))
            found = findings(table, case["profile"])
            yield f"{path.stem}: {case['name']} ({case['profile']})"
            if not found:
                yield "    nothing wrong found"
                continue
            more = f", and {len(found) - 1} more" if len(found) > 1 else ""
            yield f"    {found[0].severity}: {found[0].title} [{found[0].id}]{more}"


if __name__ == "__main__":
    print("\n".join(lines(sys.argv[1:])))
