"""The document of a fleet: what `nettop fleet --json` prints, and text and page show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypedDict

from ..advice.rules.severity import SEVERITIES
from .dates import changed
from .differing import differing
from .groups import Group, group_of, grouped
from .model import Fleet, HostState


class HostRow(TypedDict):
    """A host by its last file. `shortfall` is why it is not judged; empty: it is."""

    host: str
    file: str
    at: float
    group: str
    shortfall: str
    findings: int


class InterfaceRow(TypedDict):
    """So many interfaces of a driver and a firmware; empty: none, or not reported."""

    driver: str
    firmware: str
    count: int


class GroupRow(TypedDict):
    """Hosts of the same interfaces and kernel."""

    group: str
    interfaces: list[InterfaceRow]
    kernel: str
    hosts: list[str]


class RuleRow(TypedDict):
    """A rule and the targets of its findings on each host that has one."""

    rule: str
    severity: str
    title: str
    hosts: dict[str, list[str]]


class SettingRow(TypedDict):
    """A setting of a host that differs: see `differing.Differing`."""

    host: str
    group: str
    setting: str
    value: str
    usual: str
    same: int
    of: int
    explains: list[str]


class ValueChange(TypedDict):
    """A value at two times; null: unknown or absent."""

    setting: str
    before: str | None
    after: str | None


# `from` is a keyword
ChangedRow = TypedDict("ChangedRow", {
    "host": str, "from": float, "to": float, "settings": list[ValueChange],
    "began": list[str], "ended": list[str],
})  # fmt: skip


class IncidentRow(TypedDict):
    """What began in an incident."""

    host: str
    file: str
    at: float
    id: str
    severity: str
    title: str


class LeftOut(TypedDict):
    """A file that could not be used."""

    file: str
    because: str


class Document(TypedDict):
    """The --json document of a fleet."""

    hosts: list[HostRow]
    groups: list[GroupRow]
    rules: list[RuleRow]
    settings: list[SettingRow]
    changed: list[ChangedRow]
    incidents: list[IncidentRow]
    left_out: list[LeftOut]


def document(fleet: Fleet, left_out: Sequence[LeftOut]) -> Document:
    """The document of these hosts."""
    states = fleet.states
    groups = grouped(states)
    names = {host: group.name for host, group in group_of(groups).items()}
    changes = (changed(host, history) for host, history in fleet.hosts.items())
    return Document(
        hosts=[
            HostRow(host=one.host, file=one.file, at=one.at, group=names[one.host],
                    shortfall=one.shortfall, findings=len(one.findings))
            for one in states
        ],
        groups=[_group(one) for one in groups],
        rules=_rules(states),
        settings=[
            SettingRow(host=one.host, group=names[one.host], setting=one.setting, value=one.value,
                       usual=one.usual, same=one.same, of=one.of, explains=list(one.explains))
            for one in differing(states, groups)
        ],
        changed=[
            {"host": one.host, "from": one.begin, "to": one.end,
             "settings": [ValueChange(setting=name, before=before or None, after=after or None)
                          for name, before, after in one.settings],
             "began": list(one.began), "ended": list(one.ended)}
            for one in changes
            if one is not None
        ],
        incidents=[
            IncidentRow(host=one.host, file=one.file, at=one.at, id=f"{one.rule}@{one.target}",
                        severity=one.severity, title=one.title)
            for one in fleet.beginnings
        ],
        left_out=list(left_out),
    )  # fmt: skip


def _group(group: Group) -> GroupRow:
    return GroupRow(
        group=group.name,
        interfaces=[
            InterfaceRow(driver=driver, firmware=firmware, count=count)
            for driver, firmware, count in group.interfaces
        ],
        kernel=group.kernel,
        hosts=list(group.hosts),
    )


def _rules(states: Sequence[HostState]) -> list[RuleRow]:
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
        RuleRow(rule=rule, severity=worst[rule], title=_title(titles[rule]), hosts=hosts[rule])
        for rule in order
    ]


def _title(titles: Mapping[str, int]) -> str:
    """The title of most hosts; some titles name values of a host."""
    return max(titles, key=lambda text: (titles[text], text))
