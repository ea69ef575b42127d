"""The document of a fleet: what `nettop fleet --json` prints, and text and page show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ..advice.rules.severity import SEVERITIES
from .differing import differing, group_of, grouped, same
from .model import Fleet, History, HostState

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
