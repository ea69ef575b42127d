"""The files that nettop writes for Prometheus and Grafana, whole: as they are expected."""

import json
from pathlib import Path

import pytest
from golden_text import same

from nettop import config
from nettop.advice.rules.load import load
from nettop.advice.rules.rule import Rule
from nettop.host import systemd
from nettop.metrics import alerts

GOLDEN = Path(__file__).parents[1] / "golden/metrics"


@pytest.fixture(scope="module")
def rules() -> list[Rule]:
    """One rule of each severity."""
    chosen: dict[str, Rule] = {}
    for rule in load(config.rule_folders()):
        chosen.setdefault(rule.severity, rule)
    return list(chosen.values())


def test_the_dashboard(update: bool) -> None:
    """A line for each panel, and one for each other part of the document."""
    document = json.loads(alerts.dashboard())
    panels = {f"panel {panel['id']}": panel for panel in document.pop("panels")}
    parts = {**document, **panels}
    text = "".join(f"{name}: {json.dumps(part)}\n" for name, part in parts.items())
    same(GOLDEN / "board.txt", text, update)


def test_alerts_of_a_rule(rules: list[Rule], update: bool) -> None:
    same(GOLDEN / "alerts.txt", alerts.text(rules), update)
    same(GOLDEN / "alert-tests.txt", alerts.test_text(rules), update)


def test_the_unit(update: bool) -> None:
    text = systemd.metrics_units(
        ["/usr/bin/python3", "-m", "nettop"], "/var/lib/node_exporter/nettop.prom"
    )
    same(GOLDEN / "unit.txt", text, update)
