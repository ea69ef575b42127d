"""Files for Prometheus and Grafana: alerting and recording rules, their tests, and a dashboard.

Each rule of severity critical or warning becomes an alert with the rule's severity, its `hold` and
its texts; advice and info are for the dashboard, whose panels have one query each and whose
variables choose a Prometheus and the hosts. The alerts in `OWN` are about nettop itself;
`grafana.toml` has them, the records and the panels.

`test_text` gives unit tests of them, in the format of `promtool test rules`. The finding of each
alert is there for its `hold` and half a minute more, and then gone: the alert must fire after its
`hold` with the labels and texts of the rule, not before, and end with the finding.
"""

import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from ..advice.rules.explain import plain
from ..advice.rules.rule import Rule
from ..advice.rules.severity import SERIOUS
from ..terms.dataclass import dataclass

FILE: Final = "nettop.rules.yml"
TARGET: Final = "{{ $labels.target }}"
INSTANCE: Final = "{{ $labels.instance }}"


@dataclass(frozen=True, slots=True)
class Alert:
    """One alerting rule. `hold` is in seconds; the texts may contain `TARGET` and `INSTANCE`."""

    name: str
    expr: str
    hold: int
    severity: str
    summary: str
    description: str
    labels: Mapping[str, str] = field(default_factory=dict)  # of the series that it is about


@dataclass(frozen=True, slots=True)
class Record:
    """One recording rule; its name says level, metric and operation."""

    name: str
    expr: str
    labels: Mapping[str, str] = field(default_factory=dict)


_TABLES: Final = tomllib.loads(Path(__file__).with_name("grafana.toml").read_text("utf-8"))
_NAMES: Final = {"TARGET": TARGET, "INSTANCE": INSTANCE,
                 "HERE": 'instance=~"$instance"', "RATE": "[$__rate_interval]"}  # fmt: skip


def _named(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry with the texts for which names in capital letters stand."""
    return {
        key: re.sub(r"\b[A-Z]{4,}\b", lambda found: _NAMES[found[0]], one)
        if isinstance(one, str) else one
        for key, one in entry.items()
    }  # fmt: skip


OWN: Final = tuple(Alert(**_named(entry)) for entry in _TABLES["alert"])
RECORDS: Final = tuple(Record(**entry) for entry in _TABLES["record"])


def alerts(rules: Iterable[Rule]) -> list[Alert]:
    """The alerts of the rules, by severity and name, then those about nettop itself."""
    chosen = [rule for rule in rules if rule.severity in SERIOUS]
    chosen.sort(key=lambda rule: (SERIOUS.index(rule.severity), rule.id))
    return [*map(_alert, chosen), *OWN]


def _alert(rule: Rule) -> Alert:
    title = _literal(plain(rule.words.title.general(rule.limits)))
    why = _literal(" ".join(rule.words.why.general(rule.limits).split()))
    target = "host" if rule.over == "host" else "eth0"
    return Alert(
        "Nettop" + "".join(word.capitalize() for word in re.split(r"[^A-Za-z0-9]+", rule.id)),
        f"nettop_finding{{rule={json.dumps(rule.id)}}} == 1",
        math.ceil(rule.hold),
        rule.severity,
        f"{title} ({TARGET} of {INSTANCE})",
        f"{why} On the host, nettop advise shows the figures and the change.",
        {"rule": rule.id, "target": target, "severity": rule.severity},
    )


def _literal(text: str) -> str:
    """A text without meaning for the templates of Prometheus."""
    return text.replace("{{", '{{ "{{" }}')


def records(rules: Iterable[Rule]) -> list[Record]:
    """The recording rules; one for each surface of the rules counts its findings."""
    surfaces: dict[str, list[str]] = {}
    for rule in sorted(rules, key=lambda one: (one.surface, one.id)):
        surfaces.setdefault(rule.surface, []).append(rule.id)
    return [
        *RECORDS,
        *(
            Record(
                "instance_surface:nettop_finding:count",
                f"count by (instance) (nettop_finding{{rule=~{json.dumps('|'.join(names))}}})",
                {"surface": surface},
            )
            for surface, names in surfaces.items()
        ),
    ]


def text(rules: Iterable[Rule]) -> str:
    """The file for `rule_files` of Prometheus, in YAML."""
    rules = list(rules)
    lines = [
        f"# Written by `nettop metrics --alerts`; name it {FILE} in rule_files of Prometheus.",
        "groups:",
        "  - name: nettop-records",
        "    rules:",
    ]
    for record in records(rules):
        lines += [f"      - record: {record.name}", f"        expr: {scalar(record.expr)}"]
        lines += _mapping("labels", record.labels, 8)
    lines += ["  - name: nettop-alerts", "    rules:"]
    for alert in alerts(rules):
        lines += [f"      - alert: {alert.name}", f"        expr: {scalar(alert.expr)}"]
        lines += [f"        for: {alert.hold}s"] if alert.hold else []
        lines += _mapping("labels", {"severity": alert.severity}, 8)
        words = {"summary": alert.summary, "description": alert.description}
        lines += _mapping("annotations", words, 8)
    return "\n".join(lines) + "\n"


def scalar(text: str) -> str:
    """A YAML scalar: a JSON string is a double-quoted scalar of YAML 1.2 (section 7.3.1)."""
    return json.dumps(text, ensure_ascii=False)


def _mapping(key: str, values: Mapping[str, str], indent: int) -> Iterator[str]:
    if values:
        yield f"{' ' * indent}{key}:"
    for name, value in values.items():
        yield f"{' ' * indent}  {name}: {scalar(value)}"


STEP: Final = 15  # seconds between scrapes
THERE: Final = 2  # scrapes with the finding after its hold
HOST: Final = "host1:9469"


def test_text(rules: Iterable[Rule]) -> str:
    """The file for `promtool test rules`, beside the file of `nettop metrics --alerts`."""
    found = [alert for alert in alerts(rules) if alert not in OWN]
    lines = [
        "# Written by `nettop metrics --alert-tests`. Run it with promtool test rules.",
        f"rule_files: [{FILE}]",
        "evaluation_interval: 1s",
        "tests:",
        f"  - interval: {STEP}s",
        "    input_series:",
    ]
    for alert in found:
        labels = {**alert.labels, "instance": HOST}
        inside = ",".join(f"{name}={scalar(value)}" for name, value in labels.items())
        series = f"nettop_finding{{{inside}}}"
        lines += [f"      - series: {scalar(series)}", f"        values: 1x{_scrapes(alert)} stale"]
    lines.append("    alert_rule_test:")
    for alert in found:
        if alert.hold:
            lines += _evaluation(alert, alert.hold - 1, fires=False)
        lines += _evaluation(alert, alert.hold, fires=True)
        lines += _evaluation(alert, STEP * (_scrapes(alert) + 2), fires=False)
    return "\n".join(lines) + "\n"


def _scrapes(alert: Alert) -> int:
    """The scrapes after the first that see the finding."""
    return alert.hold // STEP + THERE


def _evaluation(alert: Alert, at: int, *, fires: bool) -> Iterator[str]:
    """The alerts that must be there `at` seconds after the finding began."""
    yield f"      - eval_time: {at}s"
    yield f"        alertname: {alert.name}"
    if not fires:
        yield "        exp_alerts: []"
        return
    yield "        exp_alerts:"
    yield "          - exp_labels:"
    for name, value in {**alert.labels, "severity": alert.severity, "instance": HOST}.items():
        yield f"              {name}: {scalar(value)}"
    yield "            exp_annotations:"
    for name, words in (("summary", alert.summary), ("description", alert.description)):
        yield f"              {name}: {scalar(_expanded(words, alert))}"


def _expanded(words: str, alert: Alert) -> str:
    """The text as Prometheus expands it for the series of the test."""
    known = words.replace(TARGET, alert.labels["target"]).replace(INSTANCE, HOST)
    return known.replace('{{ "{{" }}', "{{")


_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH: Final = 24  # columns of a dashboard


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: title, query, unit of Grafana, legend, kind of panel, size in columns and rows."""

    title: str
    query: str
    unit: str = "short"
    legend: str = ""
    kind: str = "timeseries"
    width: int = 12
    height: int = 8


PANELS: Final = tuple(Panel(**_named(entry)) for entry in _TABLES["panel"])


def document() -> dict[str, object]:
    """The dashboard in the JSON model of Grafana 9 and newer."""
    panels: list[dict[str, object]] = []
    left = top = low = 0
    for number, panel in enumerate(PANELS, 1):
        if left + panel.width > _WIDTH:
            left, top = 0, low
        low = max(low, top + panel.height)
        place = {"x": left, "y": top, "w": panel.width, "h": panel.height}
        panels.append(_panel(panel, number, place))
        left += panel.width
    return {
        "uid": "nettop", "title": "nettop", "tags": ["network", "nettop"],
        "schemaVersion": 38, "version": 1, "editable": True, "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "source"},
            {
                "name": "instance", "type": "query", "label": "host", "datasource": _SOURCE,
                "query": {"query": "label_values(nettop_build_info, instance)", "refId": "hosts"},
                "includeAll": True, "multi": True, "allValue": ".*", "refresh": 2,
                "current": {"text": "All", "value": "$__all"},
            },
        ]},
        "panels": panels,
    }  # fmt: skip


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, object]:
    now = panel.kind in ("stat", "table")
    target: dict[str, object] = {
        "refId": "A", "expr": panel.query, "legendFormat": panel.legend, "datasource": _SOURCE,
        "instant": now, "range": not now, "format": "table" if panel.kind == "table" else
        "time_series",
    }  # fmt: skip
    return {
        "id": number, "type": panel.kind, "title": panel.title, "datasource": _SOURCE,
        "gridPos": place, "targets": [target],
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {},
    }  # fmt: skip


def dashboard() -> str:
    """The dashboard as a file."""
    return json.dumps(document(), indent=2) + "\n"
