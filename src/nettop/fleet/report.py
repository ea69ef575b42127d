"""The document of a fleet, what `nettop fleet --json` prints; the text and page that show it."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, TypeAlias

from ..advice.rules.severity import MARKS, SEVERITIES
from ..reports.figure import Figure, Report, Table
from ..reports.html import page
from ..terms.text import cells, crop
from ..terms.units import many
from .differing import Fleet, History, HostState, differing, group_of, grouped, same

Document: TypeAlias = dict[str, Any]
"""What the command prints, and its parts, as schema.json describes them."""


def changed(host: str, history: History) -> Document | None:
    """What changed on one host between two times; None if nothing did, or with one state only.

    null: a value that was unknown or absent.

    Where the inventory of one state is unknown only the findings are compared, and where one of
    them could not be judged only the settings.
    """
    first, last = history.first, history.last
    if first is last:
        return None
    before, after = _values(first), _values(last)
    settings = [
        {"setting": name, "before": before.get(name), "after": after.get(name)}
        for name in sorted({*before, *after} if before and after else ())
        if not same(name, after.get(name, ""), before.get(name, ""))
    ]
    began: list[str] = []  # ids of findings
    ended: list[str] = []
    if not (first.shortfall or last.shortfall):
        earlier, later = ({finding.id: None for finding in one.findings} for one in (first, last))
        began = [name for name in later if name not in earlier]
        ended = [name for name in earlier if name not in later]
    if not (settings or began or ended):
        return None
    return {
        "host": host, "from": first.at, "to": last.at, "settings": settings, "began": began,
        "ended": ended,
    }  # fmt: skip


def _values(state: HostState) -> dict[str, str]:
    values = {"kernel": state.kernel} if state.kernel else {}
    for one in state.interfaces:
        values[f"driver@{one.name}"] = one.driver
        values[f"firmware@{one.name}"] = one.firmware
    return {name: value for name, value in {**values, **state.settings}.items() if value}


def document(fleet: Fleet, left_out: Sequence[Document]) -> Document:
    """The document of these hosts."""
    states = fleet.states
    groups = grouped(states)
    names = {host: group.name for host, group in group_of(groups).items()}
    changes = (changed(host, history) for host, history in fleet.hosts.items())
    return {
        "hosts": [
            {"host": one.host, "file": one.file, "at": one.at, "group": names[one.host],
             "shortfall": one.shortfall, "findings": len(one.findings)}
            for one in states
        ],
        "groups": [
            {"group": one.name, "interfaces": [
                {"driver": driver, "firmware": firmware, "count": count}
                for driver, firmware, count in one.interfaces
             ], "kernel": one.kernel, "hosts": list(one.hosts)}
            for one in groups
        ],
        "rules": _rules(states),
        "settings": [
            {"host": one.host, "group": names[one.host], "setting": one.setting, "value": one.value,
             "usual": one.usual, "same": one.same, "of": one.of, "explains": list(one.explains)}
            for one in differing(states, groups)
        ],
        "changed": [one for one in changes if one is not None],
        "incidents": [
            {"host": one.host, "file": one.file, "at": one.at, "id": f"{one.rule}@{one.target}",
             "severity": one.severity, "title": one.title}
            for one in fleet.beginnings
        ],
        "left_out": list(left_out),
    }  # fmt: skip


def _rules(states: Sequence[HostState]) -> list[Document]:
    """The rules that hold somewhere: the most severe first, then those of the most hosts."""
    hosts: dict[str, dict[str, list[str]]] = {}
    titles: dict[str, Counter[str]] = {}
    worst: dict[str, str] = {}
    for state in states:
        for one in state.findings:
            hosts.setdefault(one.rule, {}).setdefault(state.host, []).append(one.target)
            titles.setdefault(one.rule, Counter())[one.title] += 1
            worst[one.rule] = min(worst.get(one.rule, one.severity), one.severity,
                                  key=SEVERITIES.index)  # fmt: skip
    order = sorted(hosts, key=lambda rule: (SEVERITIES.index(worst[rule]), -len(hosts[rule]), rule))
    return [
        {"rule": rule, "severity": worst[rule], "title": _title(titles[rule]), "hosts": hosts[rule]}
        for rule in order
    ]


def _title(titles: Mapping[str, int]) -> str:
    """The title of most hosts; some titles name values of a host."""
    return max(titles, key=lambda text: (titles[text], text))


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

    for (name, value, usual), alike in groupby(sorted(document["settings"], key=key), key=key):
        rows = list(alike)
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
    yield _rules_part(document)
    yield Table(
        "Settings that differ from their group",
        ("host", "group", "setting", "value", "usual", "have the usual", "explains"),
        tuple((one["host"], one["group"], one["setting"], one["value"], one["usual"],
               f"{one['same']} of {one['of']}", ", ".join(one["explains"]))
              for one in document["settings"]),
    )  # fmt: skip
    yield _matrix_part(document)
    yield Table(
        "Changed between the first and the last file of a host",
        ("host", "from", "to", "what", "before", "after"), tuple(_changed_part(document)),
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


def _rules_part(document: Document) -> Table:
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


def _matrix_part(document: Document) -> Table:
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


def _changed_part(document: Document) -> Iterator[tuple[str, ...]]:
    for row in document["changed"]:
        times = (row["host"], when(row["from"]), when(row["to"]))
        for one in row["settings"]:
            yield (*times, one["setting"], one["before"] or "–", one["after"] or "–")
        yield from ((*times, name, "", "finding") for name in row["began"])
        yield from ((*times, name, "finding", "") for name in row["ended"])
