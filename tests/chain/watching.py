"""A real Prometheus in the namespace of the controller: what it scrapes, and what it is asked."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from chain.sites import ADDRESS, at_controller, run

SERVER: Final = "http://127.0.0.1:9090"
PORT: Final = 9100  # of node_exporter
CONFIG: Final = """\
global: {scrape_interval: 5s, evaluation_interval: 1s}
rule_files: [nettop.rules.yml]
scrape_configs:
  - job_name: node
    params: {"collect[]": [textfile]}
    static_configs: [{targets: TARGETS}]
  - job_name: recorded
    static_configs: [{targets: ["RECORDED"]}]
"""
# a recording of a host with a card, which has the queues and losses that a veth pair has not
RECORDED: Final = "127.0.0.1:9469"
RECORDING: Final = Path(__file__).parents[1] / "hosts/vm-vmxnet3-drops.host"
Found = list[dict[str, object]]


def instance(host: str) -> str:
    """The label `instance` of a host."""
    return f"{ADDRESS[host]}:{PORT}"


def labels(series: dict[str, object]) -> dict[str, str]:
    """The labels of a series of an answer."""
    metric = series["metric"]
    assert isinstance(metric, dict)
    return {str(name): str(value) for name, value in metric.items()}


class Prometheus:
    """A Prometheus that runs."""

    def query(self, text: str) -> Found:
        """The series of an instant query; none before Prometheus answers."""
        done = self._ask("instant", SERVER, text)
        if done.returncode:
            assert "refused" in done.stderr or "503" in done.stderr, done.stderr
            return []
        return _series(done.stdout)

    def range(self, text: str, start: float, end: float, step: float) -> Found:
        """The series of a range query; times in seconds since 1970."""
        words = (f"--start={start:.0f}", f"--end={end:.0f}", f"--step={step:.0f}s", SERVER, text)
        done = self._ask("range", *words)
        assert done.returncode == 0, (text, done.stderr)
        return _series(done.stdout)

    def _ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        what = at_controller("promtool", "query", words[0], "-o", "json", *words[1:])
        return subprocess.run(what, capture_output=True, text=True, timeout=60, check=False)

    def until(self, text: str, holds: Callable[[Found], bool], seconds: float = 180) -> Found:
        """Query until the answer holds; AssertionError with the last answer after `seconds`."""
        end = time.monotonic() + seconds
        while True:
            found = self.query(text)
            if holds(found):
                return found
            assert time.monotonic() < end, f"{text}: {found}"
            time.sleep(1)

    def alerts(self, name: str) -> dict[str, str]:
        """The state of this alert by instance."""
        found = map(labels, self.query(f'ALERTS{{alertname="{name}"}}'))
        return {one["instance"]: one["alertstate"] for one in found}


def _series(text: str) -> Found:
    found: Found = json.loads(text)
    return found


@contextmanager
def prometheus(folder: Path, nettop: str) -> Iterator[Prometheus]:
    """Prometheus with the rules of nettop, once promtool has checked and tested them."""
    folder.mkdir()
    targets = json.dumps([instance(name) for name in ADDRESS])
    (folder / "prometheus.yml").write_text(
        CONFIG.replace("TARGETS", targets).replace("RECORDED", RECORDED)
    )
    (folder / "nettop.rules.yml").write_text(run(nettop, "metrics", "--alerts"))
    (folder / "tests.yml").write_text(run(nettop, "metrics", "--alert-tests"))
    run("promtool", "check", "config", str(folder / "prometheus.yml"))
    run("promtool", "test", "rules", str(folder / "tests.yml"))
    words = [
        "prometheus", f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data", "--web.listen-address=127.0.0.1:9090",
    ]  # fmt: skip
    recorded = [nettop, "metrics", "--listen", RECORDED, "--replay", str(RECORDING)]
    with open(folder / "log", "w") as log, ExitStack() as stack:
        for one in (words, recorded):
            process = subprocess.Popen(at_controller(*one), stdout=log, stderr=subprocess.STDOUT)
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield Prometheus()
