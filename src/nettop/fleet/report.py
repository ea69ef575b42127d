"""The document of a fleet: what `nettop fleet --json` prints, and text and page show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypedDict

from ..advice.rules.severity import SEVERITIES
from ..terms.dataclass import dataclass
from .differing import Group, differing, group_of, grouped, same
from .model import Fleet, History, HostState


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed on one host between two times, in seconds since 1970.

    `settings` are (name, before, after); an empty text is a value that was unknown or absent.
    """

    host: str
    begin: float
    end: float
    settings: tuple[tuple[str, str, str], ...]
    began: tuple[str, ...]  # ids of findings
    ended: tuple[str, ...]


def changed(host: str, history: History) -> Changed | None:
    """What changed; None if nothing did, or if there is only one state.

    Where the inventory of one state is unknown only the findings are compared, and where one of
    them could not be judged only the settings.
    """
    first, last = history.first, history.last
    if first is last:
        return None
    before, after = _values(first), _values(last)
    settings = tuple(
        (name, before.get(name, ""), after.get(name, ""))
        for name in sorted({*before, *after} if before and after else ())
        if not same(name, after.get(name, ""), before.get(name, ""))
    )
    began: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    if not (first.shortfall or last.shortfall):
        earlier, later = ({finding.id: None for finding in one.findings} for one in (first, last))
        began = tuple(name for name in later if name not in earlier)
        ended = tuple(name for name in earlier if name not in later)
    if not (settings or began or ended):
        return None
    return Changed(host, first.at, last.at, settings, began, ended)


def _values(state: HostState) -> dict[str, str]:
    values = {"kernel": state.kernel} if state.kernel else {}
    for one in state.interfaces:
        values[f"driver@{one.name}"] = one.driver
        values[f"firmware@{one.name}"] = one.firmware
    return {name: value for name, value in {**values, **state.settings}.items() if value}


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
