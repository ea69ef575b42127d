"""What plays came to: one JSON file, and the page docs/records/live.md made of it.

A row is one play: `group` (the file of cases, or the kind), `verdict`, what was `said`, what
`disturbed` it (empty: nothing), how often `in_a_row` it was not right and undisturbed, and what
nettop's fixes did (`fix`), where that was tried.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from live.play import LATER, RIGHT, SILENT, WRONG

ROOT: Final = Path(__file__).parents[2]
SCORES: Final = Path(__file__).with_name("scores.json")
PAGE: Final = ROOT / "docs" / "records" / "live.md"
DISTURBED, LEFT_OUT = "disturbed", "left out"
COLUMNS: Final = (RIGHT, LATER, WRONG, SILENT, DISTURBED, LEFT_OUT)
MOST: Final = 0.2  # of the plays disturbed: more is no measurement
FAULT: Final = 3  # plays in a row, not right and undisturbed
Row = Mapping[str, Any]


def load(path: Path = SCORES) -> dict[str, Row]:
    """The rows by name; none where there is no file."""
    return {one["name"]: one for one in json.loads(path.read_text())} if path.exists() else {}


def save(rows: Iterable[Row], path: Path = SCORES) -> None:
    """Write the rows, one a line, in the order of their names."""
    lines = [json.dumps(one, ensure_ascii=False) for one in sorted(rows, key=lambda r: r["name"])]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def column(row: Row) -> str:
    """The column where it counts: what was right is right, disturbed or not."""
    if row["verdict"] in (RIGHT, LEFT_OUT):
        return str(row["verdict"])
    return DISTURBED if row["disturbed"] else str(row["verdict"])


def table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """A line for each group, and the sum."""
    groups = sorted({str(row["group"]) for row in rows})
    chosen = [(name, [row for row in rows if row["group"] == name]) for name in groups]
    return [
        ("group", "plays", *COLUMNS),
        *(
            (name, str(len(some)), *(str(sum(column(r) == c for r in some)) for c in COLUMNS))
            for name, some in [*chosen, ("all", [*rows])]
        ),
    ]


def measured(rows: Sequence[Row]) -> bool:
    """Whether few enough plays were disturbed."""
    played = [row for row in rows if row["verdict"] != LEFT_OUT]
    return sum(column(row) == DISTURBED for row in played) <= MOST * len(played)


def faults(rows: Iterable[Row]) -> list[Row]:
    """Plays that were not right so often that it is no accident."""
    return [row for row in rows if row.get("in_a_row", 0) >= FAULT]


def changed(rows: Iterable[Row], last: Mapping[str, Row]) -> list[str]:
    """A line for each play that came to something else than the last time."""
    return [
        f"{row['name']}: {column(last[row['name']])} → {column(row)} ({row['said'][:200]})"
        for row in rows
        if row["name"] in last and column(last[row["name"]]) != column(row)
    ]


def aligned(lines: Sequence[tuple[str, ...]]) -> str:
    """Columns of text; the first at the left, the others at the right."""
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def page(rows: Sequence[Row]) -> str:
    """docs/records/live.md."""
    fixes = [row for row in rows if row.get("fix")]
    cured = sum(not row["fix"]["remains"] for row in fixes)
    parts = [Path(__file__).with_name("about.md").read_text(), _markdown(table(rows))]
    if not measured(rows):
        parts.append("More than a fifth of the plays was disturbed: not measured.\n")
    parts.append(
        f"## Fixes\n\n{cured} of {len(fixes)} fixes that nettop applied end their finding.\n"
    )
    parts.append(_markdown([
        ("play", "fixed", "still found", "begins", "before", "after"),
        *((row["name"], *(str(row["fix"][key] or "–") for key in
                          ("fixed", "remains", "begins", "before", "after"))) for row in fixes),
    ]))  # fmt: skip
    parts.append("## Every play\n")
    parts.append(_markdown([
        ("group", "play", "verdict", "said"),
        *((row["group"], row["name"], column(row), str(row["said"]))
          for row in sorted(rows, key=lambda row: (row["group"], row["name"]))),
    ]))  # fmt: skip
    return "\n".join(parts)


def _markdown(lines: Sequence[tuple[str, ...]]) -> str:
    head, *rest = lines
    marked = [head, ("---",) * len(head), *rest]
    return "".join(f"| {' | '.join(c.replace('|', '/') for c in line)} |\n" for line in marked)
