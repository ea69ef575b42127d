"""Files for Prometheus and Grafana: alerting and recording rules, their tests, and a dashboard.

Each rule of severity critical or warning becomes an alert with the rule's severity, its `hold` and
its texts; advice and info are for the dashboard, whose panels have one query each and whose
variables choose a Prometheus and the hosts. The alerts in `OWN` are about nettop itself.

`test_text` gives unit tests of them, in the format of `promtool test rules`. The finding of each
alert is there for its `hold` and half a minute more, and then gone: the alert must fire after its
`hold` with the labels and texts of the rule, not before, and end with the finding.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Final

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


OWN: Final = (
    Alert(
        "NettopHostNotJudged", "nettop_judged == 0", 300, "warning",
        f"nettop cannot judge {INSTANCE}",
        "Too little of the kernel's data can be read, so findings are not known. Run nettop advise "
        "on the host: it prints what cannot be read.",
    ),
    Alert(
        "NettopMetricsStale", "time() - nettop_last_run_timestamp_seconds > 600", 0, "warning",
        f"Metrics of nettop on {INSTANCE} are old",
        "nettop metrics --textfile has not run for ten minutes. Look at the systemd timer "
        "nettop-metrics on the host.",
    ),
    Alert(
        "NettopSettingsDrifted", "nettop_settings_drifted > 0", 60, "warning",
        f"Settings that nettop changed on {INSTANCE} have other values now",
        "Another program or a person changed them. Run nettop journal on the host: it prints the "
        "settings.",
    ),
    Alert(
        "NettopChangePending", 'nettop_changes{state="pending"} > 0', 600, "warning",
        f"A change on {INSTANCE} waits for a confirmation",
        "It reverts at its deadline. Run nettop journal on the host.",
    ),
)  # fmt: skip
_LOST: Final = "nettop_path_packets_lost"
RECORDS: Final = (
    Record("severity:nettop_findings:sum", "sum by (severity) (nettop_findings)"),
    Record("rule:nettop_finding:count", "count by (rule, severity) (nettop_finding)"),
    Record(
        f"instance_device_direction_stage:{_LOST}:rate5m",
        f"sum by (instance, device, direction, stage) (rate({_LOST}_total[5m]))",
    ),
    Record(
        f"instance_device_direction:{_LOST}:ratio_rate5m",
        f"sum by (instance, device, direction) (rate({_LOST}_total[5m])) / (sum by (instance, "
        f"device, direction) (rate({_LOST}_total[5m])) + sum by (instance, device, direction) "
        "(rate(nettop_device_packets_total[5m])))",
    ),
)


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
_LOW: Final = 4  # rows of a panel of single figures


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


_HERE: Final = 'instance=~"$instance"'
_RATE: Final = "[$__rate_interval]"
PANELS: Final = (
    Panel(
        "Findings by severity", f"sum by (severity) (nettop_findings{{{_HERE}}})",
        legend="{{severity}}", kind="stat", width=8, height=_LOW,
    ),
    Panel(
        "Hosts not judged", f"sum(1 - nettop_judged{{{_HERE}}})", kind="stat", width=4,
        height=_LOW,
    ),
    Panel(
        "Unconfirmed changes",
        f'sum(nettop_changes{{{_HERE},state="pending"}})', kind="stat", width=4,
        height=_LOW,
    ),
    Panel("Settings drifted", f"sum(nettop_settings_drifted{{{_HERE}}})", kind="stat", width=4,
          height=_LOW),
    Panel("Left out by bounds", f"sum(nettop_left_out{{{_HERE}}})", kind="stat", width=4,
          height=_LOW),
    Panel(
        "Findings now", f"nettop_finding{{{_HERE}}}",
        legend="{{severity}} {{rule}} {{target}} {{instance}}", kind="table", width=24,
    ),
    Panel(
        "Packets lost by stage",
        f"sum by (instance, device, direction, stage) "
        f"(rate(nettop_path_packets_lost_total{{{_HERE}}}{_RATE}))",
        "pps", "{{instance}} {{device}} {{direction}} {{stage}}",
    ),
    Panel(
        "Packets lost at backlog and sockets",
        f"sum by (instance, direction, stage) "
        f"(rate(nettop_host_packets_lost_total{{{_HERE}}}{_RATE}))",
        "pps", "{{instance}} {{direction}} {{stage}}",
    ),
    Panel(
        "Throughput", f"8 * rate(nettop_device_bytes_total{{{_HERE}}}{_RATE})",
        "bps", "{{instance}} {{device}} {{direction}}",
    ),
    Panel(
        "Packet rate", f"rate(nettop_device_packets_total{{{_HERE}}}{_RATE})",
        "pps", "{{instance}} {{device}} {{direction}}",
    ),
    Panel(
        "Flows by the stage that limits them",
        f"sum by (limit) (nettop_flows{{{_HERE}}})", legend="{{limit}}",
    ),
    Panel(
        "Cores that serve each device",
        "count by (instance, device) "
        f'(count_values by (instance, device) ("core", nettop_queue_core{{{_HERE}}}))',
        legend="{{instance}} {{device}}",
    ),
    Panel(
        "Queues by core",
        f'count_values by (instance, device) ("core", nettop_queue_core{{{_HERE}}})',
        legend="{{instance}} {{device}} CPU {{core}}",
    ),
    Panel(
        "Queue interrupts off the device's node", f"nettop_device_irqs_off_node{{{_HERE}}}",
        legend="{{instance}} {{device}}",
    ),
    Panel(
        "Changes in force", f"sum by (instance, state) (nettop_changes{{{_HERE}}})",
        legend="{{instance}} {{state}}",
    ),
    Panel(
        "Age of the metrics", f"time() - nettop_last_run_timestamp_seconds{{{_HERE}}}",
        "s", "{{instance}}",
    ),
    Panel(
        "Duration of a look", f"nettop_look_duration_seconds{{{_HERE}}}", "s", "{{instance}}",
    ),
    Panel(
        "Versions of nettop", f"count by (version) (nettop_build_info{{{_HERE}}})",
        legend="{{version}}",
    ),
)  # fmt: skip


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
