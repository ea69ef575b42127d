"""The entry of a recording with the age of each table that was not read at its moment.

Where a host is sampled more often than a table is read, an answer that is not in a moment may be
unchanged, or was not asked for. The entry has a line `SECONDS TABLE…` for each age. A table that is
not in it was read at this moment, or never.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ENTRY: Final = "nettop/ages"
NONE: Final[Mapping[str, float]] = MappingProxyType({})
SAME: Final = 0.005  # seconds: times of one reading differ by less, because they are rounded
_LINE: Final = re.compile(r"(\d{1,9}\.\d{3})((?: \w{1,64})+)", re.ASCII)


def written(ages: Mapping[str, float]) -> str:
    """The body of the entry; empty if all tables were read now."""
    lines: dict[str, list[str]] = {}
    for table, age in ages.items():
        if age >= SAME:
            lines.setdefault(f"{age:.3f}", []).append(table)
    return "".join(f"{age} {' '.join(lines[age])}\n" for age in lines)


def parse(body: str) -> dict[str, float]:
    """Seconds by table; other lines are ignored."""
    found = filter(None, map(_LINE.fullmatch, body.splitlines()))
    return {table: float(line[1]) for line in found for table in line[2].split()}
