"""The fleet as text of 80 columns: a line for a group, a rule or a value, not one for a host."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from ..advice.rules.severity import MARKS
from ..terms.text import cells, crop
from ..terms.units import many
from .report import Document

WIDTH: Final = 80
LINES: Final = 3  # of names below a line
NAMED: Final = 12  # hosts; a rule that holds on more is not listed with the names of its hosts
GROUPS: Final = 16  # lines of groups
FEW: Final = 3  # hosts of a group that are named
COLUMNS: Final = 5  # groups that have a column in the matrix
ROWS: Final = 40  # lines of a section
_LATEST: Final = 253402300799  # the last second of the year 9999


def text(document: Document) -> Iterator[str]:
    """The lines of the report."""
    yield from _head(document)
    yield from _section("Groups", [
        row for one in document["groups"] for row in _group(one)
    ], GROUPS)  # fmt: skip
    yield from _section("Findings", list(_matrix(document)), ROWS)
    yield from _section("Settings that differ from their group", list(_settings(document)), ROWS)
    yield from _section("Changed between the first and the last file of a host", [
        row for one in document["changed"] for row in _changed(one)
    ], ROWS)  # fmt: skip
    yield from _section("Incidents", [
        f"  {when(one['at'])}  {one['host']}  {one['id']}" for one in document["incidents"]
    ], ROWS)  # fmt: skip


def when(at: float) -> str:
    """A time in UTC, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(min(max(at, 0.0), _LATEST)))


def system(group: Document) -> str:
    """The interfaces and the kernel of a group."""
    parts = [
        f"{one['count']} × {one['driver'] or 'no driver'}"
        + (f" (firmware {one['firmware']})" if one["firmware"] else "")
        for one in group["interfaces"]
    ]
    kernel = f"Linux {group['kernel']}" if group["kernel"] else "kernel unknown"
    return " · ".join([*parts, kernel])


def _head(document: Document) -> Iterator[str]:
    hosts = document["hosts"]
    times = [one["at"] for one in hosts]
    yield crop(
        f"{many(len(hosts), 'hosts')} in {many(len(document['groups']), 'groups')}, "
        f"{when(min(times))} to {when(max(times))} UTC", WIDTH
    )  # fmt: skip
    unjudged = [one["host"] for one in hosts if one["shortfall"]]
    if unjudged:
        yield from _names(f"not judged: {len(unjudged)}:", unjudged, "")
    left = len(document["left_out"])
    if left:
        yield f"{many(left, 'files')} left out"


def _section(title: str, rows: Sequence[str], most: int) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield title
    yield from (crop(row, WIDTH) for row in rows[:most])
    if len(rows) > most:
        yield f"  … and {many(len(rows) - most, 'lines')} more; --json and --format html have all"


def _group(group: Document) -> Iterator[str]:
    yield f"  {group['group']:<3}{many(len(group['hosts']), 'hosts'):>10}  {system(group)}"
    if len(group["hosts"]) <= FEW:
        yield from _names(" " * 15, group["hosts"], "")


def _matrix(document: Document) -> Iterator[str]:
    """The number of hosts of each group that a rule holds on."""
    groups = document["groups"][:COLUMNS]
    if not document["rules"]:
        yield "  no finding on any host"
        return
    heads = "".join(f"{one['group']:>5}" for one in groups)
    yield f"  hosts{heads}   rule"
    for row in document["rules"]:
        hosts = row["hosts"]
        counts = (sum(host in hosts for host in group["hosts"]) for group in groups)
        cols = "".join(f"{count or '·':>5}" for count in counts)
        yield f"{MARKS[row['severity']]} {len(hosts):>5}{cols}   {row['rule']}"
        if len(hosts) <= NAMED:
            yield from _names(" " * 7, sorted(hosts), "")
    rest = len(document["groups"]) - len(groups)
    if rest:
        yield f"  {many(rest, 'smaller groups')} without a column"


def _settings(document: Document) -> Iterator[str]:
    """A block for each setting and value, of all interfaces; the hosts that have it by name."""

    def key(row: Document) -> tuple[str, str, str]:
        return row["setting"].partition("@")[0], row["value"], row["usual"]

    for (name, value, usual), same in groupby(sorted(document["settings"], key=key), key=key):
        rows = list(same)
        groups = sorted({row["group"] for row in rows})
        share = f"{rows[0]['same']} of {rows[0]['of']}"
        end = f" ({groups[0]}: {share})" if len(groups) == 1 else ""
        yield f"  {crop(name, 44)}: {crop(value, 24)} instead of {crop(usual, 40)}"
        places = [" ".join((row["host"], row["setting"].partition("@")[2])).strip() for row in rows]
        yield from _names("    ", places, end)
        rules = sorted({one.partition("@")[0] for row in rows for one in row["explains"]})
        if rules:
            count = len({row["host"] for row in rows if row["explains"]})
            yield from _names("     explains", rules, f" on {many(count, 'hosts')}")


def _changed(row: Document) -> Iterator[str]:
    yield f"  {row['host']}  {when(row['from'])} to {when(row['to'])}"
    for one in row["settings"]:
        yield f"     {one['setting']}: {one['before'] or '–'} → {one['after'] or '–'}"
    for label, ids in (("began:", row["began"]), ("ended:", row["ended"])):
        if ids:
            yield from _names(f"     {label}", ids, "")


def _names(label: str, names: Sequence[str], end: str) -> Iterator[str]:
    """The names in at most LINES lines, and how many more there are."""
    indent = " " * (cells(label) + 1)
    row, shown, lines = label, 0, 1
    for name in names:
        word = crop(name, 40) + ("," if shown + 1 < len(names) else "")
        if cells(row) + 1 + cells(word) > WIDTH - (cells(end) + 14) * (lines == LINES) and shown:
            if lines == LINES:
                break
            yield row
            row, lines = indent[1:], lines + 1
        row, shown = f"{row} {word}", shown + 1
    more = len(names) - shown
    row = row.rstrip(",") + (f" and {more:,} more" if more else "")
    if cells(row) + cells(end) <= WIDTH:
        yield row + end
    else:
        yield row
        yield indent[1:] + end
