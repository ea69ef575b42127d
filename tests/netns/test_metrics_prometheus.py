"""A real Prometheus scrapes `nettop metrics --listen`: an alert fires, and every panel has data.

nettop runs in one namespace and Prometheus in the other. The fault is a sysctl of the namespace. A
second nettop serves a recording of a host with two NUMA nodes and an adapter that loses packets,
which a namespace has not.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")

import veth
from changes_netns import python, run
from hang import until
from veth import NEAR, Pair, pair
from warm import shared

from nettop.metrics import alerts
from nettop.metrics.families import FAMILIES

pytestmark = [
    pytest.mark.netns,
    pytest.mark.needs("prometheus"),
]
HOSTS = Path(__file__).parents[1] / "hosts"
LIVE, RECORDED = f"{NEAR}:9469", f"{NEAR}:9470"
SERVER = "http://127.0.0.1:9090"
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

    def query(self, *texts: str) -> list[Found]:
        """The series of each instant query; none before Prometheus answers."""
        found: list[Found] = json.loads(python(veth.spaces("metrics")[1], ASK, SERVER, *texts))
        return found

    def until(self, text: str, holds: Callable[[Found], bool]) -> Found:
        """Query until the answer holds; the answer."""
        found: Found = []

        def answer() -> bool:
            nonlocal found
            (found,) = self.query(text)
            return holds(found)

        until(answer, lambda: f"{text}: {found}")
        return found

    def sysctl(self, value: str) -> None:
        run(*self.spaces.near, "sysctl", "-q", "-w", value)


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
        (folder / alerts.FILE).write_bytes(shared().run(("metrics", "--alerts")).stdout)
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
    assert monitored.query(alert) == [[]]
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
    panels = [
        panel.query.replace("$instance", ".*").replace("$__rate_interval", "30s")
        for panel in alerts.PANELS
    ]
    assert not any("$" in query for query in panels)
    asked = [*panels, *(family.name for family in FAMILIES)]
    until(lambda: all(monitored.query(*asked)), lambda: monitored.query(*asked))


def test_looks_follow_the_scrapes(monitored: Monitored) -> None:
    """Prometheus and this test ask together more often than once a second."""
    near, _ = veth.spaces("metrics")
    looks, seconds = map(float, python(near, COUNT, f"http://{LIVE}/metrics").split())
    assert 1 <= looks <= seconds + 1


# the answers of Prometheus to queries
ASK = """
import json, sys, urllib.error, urllib.parse, urllib.request
def answer(query):
    url = f"{sys.argv[1]}/api/v1/query?" + urllib.parse.urlencode({"query": query})
    try:
        return json.load(urllib.request.urlopen(url))["data"]["result"]
    except urllib.error.HTTPError as error:
        if error.code != 503:  # it starts
            raise
    except urllib.error.URLError as error:
        if not isinstance(error.reason, ConnectionRefusedError):
            raise
    return []
print(json.dumps([answer(query) for query in sys.argv[2:]]))
"""
# scrapes for as long as it takes to see a new look: how many there were, and in how many seconds
COUNT = """
import sys, time, urllib.request
def looks():
    body = urllib.request.urlopen(sys.argv[1]).read().decode()
    (row,) = (row for row in body.splitlines() if row.startswith("nettop_looks_total"))
    return float(row.split()[1])
began, first = time.monotonic(), looks()
while (last := looks()) < first + 2:
    time.sleep(0.05)
print(last - first, time.monotonic() - began)
"""
