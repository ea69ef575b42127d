"""A real Prometheus scrapes `nettop metrics --listen`: an alert fires, and every panel has data.

nettop runs in one namespace and Prometheus in the other. The fault is a sysctl of the namespace. A
second nettop serves a recording of a host with two NUMA nodes and an adapter that loses packets,
which a namespace has not.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")

from veth import NEAR, Pair, pair

from nettop.metrics import alerts, board
from nettop.metrics.families import FAMILIES

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="needs prometheus"),
]
HOSTS = Path(__file__).parents[1] / "hosts"
LIVE, RECORDED = f"{NEAR}:9469", f"{NEAR}:9470"
SERVER = "http://127.0.0.1:9090"
PATIENCE = 120.0  # only so that a failure ends
CONFIG = f"""
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{alerts.FILE}]
scrape_configs:
  - job_name: nettop
    static_configs: [{{targets: ["{LIVE}", "{RECORDED}"]}}]
"""


Found = list[dict[str, object]]


class Monitored:
    """Prometheus and what it scrapes."""

    def __init__(self, spaces: Pair) -> None:
        self.spaces = spaces

    def query(self, text: str) -> Found:
        """The series of an instant query; none before Prometheus answers."""
        words = [*self.spaces.far, "promtool", "query", "instant", "-o", "json", SERVER, text]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            assert "refused" in done.stderr or "503" in done.stderr, done.stderr
            return []
        found: Found = json.loads(done.stdout)
        return found

    def until(self, text: str, holds: Callable[[Found], bool]) -> Found:
        """Query until the answer holds; the answer."""
        end = time.monotonic() + PATIENCE
        while True:
            found = self.query(text)
            if holds(found):
                return found
            assert time.monotonic() < end, f"{text}: {found}"
            time.sleep(0.5)

    def sysctl(self, value: str) -> None:
        words = [*self.spaces.near, "sysctl", "-q", "-w", value]
        subprocess.run(words, check=True, capture_output=True)


@pytest.fixture(scope="module")
def monitored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    folder = tmp_path_factory.mktemp("prometheus")
    own = ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
    environment = {**os.environ, **dict.fromkeys(own, str(folder))}
    nettop = [sys.executable, "-P", "-m", "nettop", "metrics"]
    with pair("metrics") as spaces, ExitStack() as stack:

        def start(words: list[str]) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        recorded = str(HOSTS / "vm-vmxnet3-drops.host")
        for more in (["--listen", LIVE], ["--listen", RECORDED, "--replay", recorded]):
            process = start([*spaces.near, *nettop, *more])
            assert process.stdout is not None
            assert process.stdout.readline().startswith("http://")
        rules = subprocess.run([*nettop, "--alerts"], capture_output=True, text=True, check=True)
        (folder / alerts.FILE).write_text(rules.stdout)
        (folder / "prometheus.yml").write_text(CONFIG)
        start([
            *spaces.far, "prometheus", f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data", "--web.listen-address=127.0.0.1:9090",
        ])  # fmt: skip
        one = Monitored(spaces)
        one.until("up == 1", lambda found: len(found) == 2)
        yield one


def labels(series: dict[str, object]) -> dict[str, str]:
    metric = series["metric"]
    assert isinstance(metric, dict)
    return {str(name): str(value) for name, value in metric.items()}


def test_an_alert_fires_with_the_labels_of_the_finding_and_clears(monitored: Monitored) -> None:
    alert = f'ALERTS{{alertname="NettopLossRecoveryCrippled",instance="{LIVE}"}}'
    assert monitored.query(alert) == []
    monitored.sysctl("net.ipv4.tcp_sack=0")
    (firing,) = monitored.until(alert, bool)
    assert labels(firing) == {
        "__name__": "ALERTS", "alertname": "NettopLossRecoveryCrippled", "alertstate": "firing",
        "instance": LIVE, "job": "nettop", "rule": "loss-recovery-crippled", "severity": "warning",
        "target": "host",
    }  # fmt: skip
    monitored.sysctl("net.ipv4.tcp_sack=1")
    monitored.until(alert, lambda found: not found)


def test_every_panel_and_every_metric_has_data(monitored: Monitored) -> None:
    for panel in board.PANELS:
        query = panel.query.replace("$instance", ".*").replace("$__rate_interval", "30s")
        assert "$" not in query
        monitored.until(query, bool)
    for family in FAMILIES:
        monitored.until(family.name, bool)


def test_looks_follow_the_scrapes(monitored: Monitored) -> None:
    """Prometheus and this test ask together more often than once a second."""
    ask = [*monitored.spaces.near, sys.executable, "-c", ASK, f"http://{LIVE}/metrics"]
    done = subprocess.run(ask, capture_output=True, text=True, timeout=300, check=True)
    looks, seconds = map(float, done.stdout.split())
    assert 1 <= looks <= seconds + 1


ASK = """
import sys, time, urllib.request
def looks():
    body = urllib.request.urlopen(sys.argv[1], timeout=60).read().decode()
    (row,) = (row for row in body.splitlines() if row.startswith("nettop_looks_total"))
    return float(row.split()[1])
began, first = time.monotonic(), looks()
for _ in range(20):
    last = looks()
    time.sleep(0.1)
print(last - first, time.monotonic() - began)
"""
