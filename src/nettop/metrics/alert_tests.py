"""Unit tests of the alerting rules, in the format of `promtool test rules`.

The finding of each alert is there for its `hold` and half a minute more, and then gone: the alert
must fire after its `hold` with the labels and texts of the rule, not before, and end with the
finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..advice.rules.rule import Rule
from .alerts import FILE, INSTANCE, OWN, TARGET, Alert, alerts, scalar

STEP: Final = 15  # seconds between scrapes
THERE: Final = 2  # scrapes with the finding after its hold
HOST: Final = "host1:9469"


def text(rules: Iterable[Rule]) -> str:
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
