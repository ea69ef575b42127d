"""Files for Prometheus, Grafana and systemd: their contents, and whether programs accept them."""

import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hang import HANG

from nettop import config
from nettop.advice.rules.load import load
from nettop.cli import main
from nettop.host import systemd
from nettop.metrics import alerts
from nettop.metrics.families import FAMILIES

RULES = load(config.rule_folders())
HOST = str(Path(__file__).parents[1] / "hosts/guest-udp-loss.host")
needs_promtool = pytest.mark.needs("promtool")
NAMES = {family.name for family in FAMILIES}


def printed(option: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["metrics", option]) == 0
    return capsys.readouterr().out


def test_every_rule_that_costs_something_is_an_alert_with_its_own_values() -> None:
    found = {alert.labels["rule"]: alert for alert in alerts.alerts(RULES) if alert.labels}
    wanted = {rule.id: rule for rule in RULES if rule.severity in ("critical", "warning")}
    assert found.keys() == wanted.keys()
    assert len({alert.name for alert in found.values()}) == len(found)
    for name, rule in wanted.items():
        alert = found[name]
        assert alert.severity == rule.severity
        assert alert.hold == math.ceil(rule.hold)
        assert alert.expr == f'nettop_finding{{rule="{name}"}} == 1'
        assert re.fullmatch(r"Nettop[A-Za-z0-9]+", alert.name)
        assert rule.words.why.general(rule.limits).split()[0] in alert.description


def test_queries_name_metrics_that_exist() -> None:
    queries = [panel.query for panel in alerts.PANELS]
    queries += [alert.expr for alert in alerts.alerts(RULES)]
    queries += [record.expr for record in alerts.records(RULES)]
    for query in queries:
        used = set(re.findall(r"\bnettop_[a-z_]+", query))
        assert used, query
        assert used <= NAMES, query
    everything = " ".join(queries)
    unused = {name for name in NAMES if name not in everything}
    assert unused == {"nettop_looks_total", "nettop_tables_unread"}


def test_braces_in_a_text_are_no_template() -> None:
    assert alerts._literal("a {{ $x }} b") == 'a {{ "{{" }} $x }} b'


def test_the_board_is_a_dashboard_with_a_query_for_each_panel() -> None:
    document = json.loads(alerts.dashboard())
    panels = document["panels"]
    assert [panel["title"] for panel in panels] == [panel.title for panel in alerts.PANELS]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        assert panel["targets"][0]["expr"]
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken
        taken |= cells


@needs_promtool
def test_promtool_accepts_the_rules_and_their_tests_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / alerts.FILE).write_text(printed("--alerts", capsys))
    (tmp_path / "nettop.test.yml").write_text(printed("--alert-tests", capsys))
    for words in (
        ["check", "rules", "--lint-fatal", alerts.FILE],
        ["test", "rules", "nettop.test.yml"],
    ):
        done = subprocess.run(
            ["promtool", *words], cwd=tmp_path, capture_output=True, text=True, timeout=HANG,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    assert "SUCCESS" in done.stdout


@needs_promtool
def test_promtool_fails_where_an_alert_has_another_severity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = [rule for rule in RULES if rule.id == "rx-ring-overrun"]
    wrong = alerts.text(one).replace('severity: "critical"', 'severity: "warning"', 1)
    (tmp_path / alerts.FILE).write_text(wrong)
    (tmp_path / "nettop.test.yml").write_text(alerts.test_text(one))
    done = subprocess.run(
        ["promtool", "test", "rules", "nettop.test.yml"], cwd=tmp_path, capture_output=True,
        text=True, timeout=HANG, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "NettopRxRingOverrun" in done.stdout + done.stderr


@needs_promtool
def test_promtool_finds_nothing_to_improve_in_the_metrics(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")
    assert main(["metrics", "--replay", HOST]) == 0
    page = capsys.readouterr().out
    assert "nettop_finding{" in page
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=page, capture_output=True, text=True, timeout=HANG,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def units(text: str, folder: Path) -> list[str]:
    """Write the files of `--unit` to a folder; their paths."""
    paths = []
    for part in re.split(r"^# (?=/etc)", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        path = folder / Path(head).name
        path.write_text(body)
        paths.append(str(path))
    return paths


@pytest.mark.needs("systemd-analyze")
def test_systemd_accepts_the_service_and_the_timer(tmp_path: Path) -> None:
    program = shutil.which("true")
    assert program
    paths = units(
        systemd.metrics_units([program], str(tmp_path / "a 100% $odd name/nettop.prom")), tmp_path
    )
    assert [Path(path).name for path in paths] == [
        "nettop-metrics.service",
        "nettop-metrics.timer",
    ]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *paths], capture_output=True, text=True,
        timeout=HANG, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_writes_the_file_that_was_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", "--unit", "--textfile", "/srv/text/nettop.prom"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^ExecStart=/.+ metrics --textfile /srv/text/nettop.prom$", out, re.MULTILINE)
    assert "\nReadWritePaths=/srv/text\n" in out


def test_a_path_that_would_begin_another_line_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["metrics", "--unit", "--textfile", "/srv/a\nExecStart=/bin/sh/x.prom"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
