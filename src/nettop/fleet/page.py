"""The fleet as one HTML page: the report of `reports`, without figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..advice.rules.severity import MARKS
from ..reports.figure import Figure, Report, Table
from ..reports.html import page
from ..terms.units import many
from .report import Document
from .text import system, when


def html(document: Document) -> str:
    """The page."""
    return page(report(document), _no_figure)


def _no_figure(figure: Figure, prefix: str) -> str:
    raise NotImplementedError(f"{prefix}: {figure.title}")


def report(document: Document) -> Report:
    """The report: tables of groups, rules, settings, changes, incidents and left-out files."""
    hosts, rules = document["hosts"], document["rules"]
    troubled = sum(bool(one["findings"]) for one in hosts)
    answer = (
        f"{many(len(hosts), 'hosts')} in {many(len(document['groups']), 'groups')}: "
        f"{many(len(rules), 'rules')} with a finding on {many(troubled, 'hosts')}, "
        f"{many(len(document['settings']), 'settings')} different from the group"
    )
    times = [one["at"] for one in hosts]
    return Report(
        title="Fleet",
        answer=answer,
        good=not troubled,
        facts=(("first file", f"{when(min(times))} UTC"), ("last file", f"{when(max(times))} UTC")),
        tables=tuple(table for table in _tables(document) if table.rows),
        commands=("nettop fleet DIR --format html > fleet.html",),
    )


def _tables(document: Document) -> Iterator[Table]:
    yield Table(
        "Groups", ("group", "hosts", "interfaces and kernel"),
        tuple((one["group"], str(len(one["hosts"])), system(one)) for one in document["groups"]),
        _SECOND,
    )  # fmt: skip
    yield _rules(document)
    yield Table(
        "Settings that differ from their group",
        ("host", "group", "setting", "value", "usual", "have the usual", "explains"),
        tuple((one["host"], one["group"], one["setting"], one["value"], one["usual"],
               f"{one['same']} of {one['of']}", ", ".join(one["explains"]))
              for one in document["settings"]),
    )  # fmt: skip
    yield _matrix(document)
    yield Table(
        "Changed between the first and the last file of a host",
        ("host", "from", "to", "what", "before", "after"), tuple(_changed(document)),
    )  # fmt: skip
    yield Table(
        "Incidents", ("time", "host", "finding", "severity", "title", "file"),
        tuple((when(one["at"]), one["host"], one["id"], one["severity"], one["title"], one["file"])
              for one in document["incidents"]),
    )  # fmt: skip
    yield Table(
        "Not judged", ("host", "because"),
        tuple((one["host"], one["shortfall"]) for one in document["hosts"] if one["shortfall"]),
    )  # fmt: skip
    yield Table(
        "Hosts of each group", ("group", "hosts"),
        tuple((one["group"], ", ".join(one["hosts"])) for one in document["groups"]),
    )  # fmt: skip
    yield Table(
        "Files left out", ("file", "because"),
        tuple((one["file"], one["because"]) for one in document["left_out"]),
    )  # fmt: skip


_SECOND: Final = frozenset({1})


def _rules(document: Document) -> Table:
    groups = document["groups"]
    rows = []
    for number, row in enumerate(document["rules"], 1):
        counts = (sum(host in row["hosts"] for host in one["hosts"]) for one in groups)
        rows.append((
            str(number), row["severity"], row["rule"], row["title"], str(len(row["hosts"])),
            " ".join(f"{one['group']}:{count}" for one, count in zip(groups, counts, strict=True)
                     if count),
        ))  # fmt: skip
    head = ("", "severity", "rule", "title", "hosts", "by group")
    return Table("Rules that hold", head, tuple(rows), frozenset({0, 4}))


def _matrix(document: Document) -> Table:
    """A row for each host with a finding; the columns have the numbers of the rules."""
    rules = document["rules"]
    rows = tuple(
        (one["host"], one["group"], *(
            MARKS[rule["severity"]] if one["host"] in rule["hosts"] else "" for rule in rules
        ))
        for one in document["hosts"]
        if one["findings"]
    )  # fmt: skip
    numbers = tuple(str(number) for number in range(1, len(rules) + 1))
    return Table("Hosts and rules, by the number of the rule", ("host", "group", *numbers), rows)


def _changed(document: Document) -> Iterator[tuple[str, ...]]:
    for row in document["changed"]:
        times = (row["host"], when(row["from"]), when(row["to"]))
        for one in row["settings"]:
            yield (*times, one["setting"], one["before"] or "–", one["after"] or "–")
        yield from ((*times, name, "", "finding") for name in row["began"])
        yield from ((*times, name, "finding", "") for name in row["ended"])
