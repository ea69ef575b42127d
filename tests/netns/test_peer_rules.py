"""Rules across ends between two namespaces: the finding is of the host where its fix belongs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from staged import Stage
from staged_case import FAR
from staged_limits import CASES

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
    pytest.mark.skipif(shutil.which("nsenter") is None, reason="needs nsenter (util-linux)"),
]
CLOCK = Path(__file__).parents[1] / "support/other_clock.py"
SWITCHES = ("tcp_timestamps", "tcp_sack", "tcp_window_scaling", "tcp_ecn")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


def findings(stage: Stage, *, sending: bool, clock: float = 0.0) -> set[tuple[str, bool]]:
    """Each rule that finds something about a joined flow, and whether it does so at the peer.

    The clock of the peer is ahead by so many seconds.
    """
    near, far = (stage.here, stage.there) if sending else (stage.there, stage.here)
    prefix = f"ip netns exec {far} {sys.executable} {CLOCK} {clock:g}"
    done = subprocess.run(
        stage.inside(near, sys.executable, "-m", "nettop", "advise", "--json", "--fail-on", "never",
                     "--seconds", "4", "--peer", prefix),
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stderr)
    document = json.loads(done.stdout)
    return {
        (one["rule"], one["host"] != document["host"])
        for one in document["findings"]
        if ">" in one["target"]
    }


def test_what_one_host_refuses_is_a_finding_of_that_host() -> None:
    with Stage("rules-ends") as stage:
        for name in SWITCHES:
            stage.sysctl(stage.there, f"net.ipv4.{name}", "0")
        stage.sysctl(stage.here, "net.ipv4.tcp_ecn", "1")
        stage.run(stage.here, "ip link set eth0 mtu 9000")
        stage.reader()
        stage.writer()
        time.sleep(1)
        rules = {
            "timestamps-refused-by-this-end", "sack-refused-by-this-end",
            "window-scaling-refused-by-this-end", "ecn-refused-by-this-end",
            "mtu-differs-between-ends",
        }  # fmt: skip
        assert findings(stage, sending=True) == {(rule, True) for rule in rules}
        assert findings(stage, sending=False) == {(rule, False) for rule in rules}


def test_path_mtu_and_congestion_control_are_findings_of_the_sender() -> None:
    with Stage("rules-path") as stage:
        stage.chain()
        stage.run(stage.middle, "ip link set right mtu 1400")
        stage.reader("congestion=reno")
        stage.writer(to=FAR)
        time.sleep(1)
        assert findings(stage, sending=True) == {
            ("path-mtu-below-both-ends", False),
            ("congestion-controls-differ", False),
        }


def test_a_window_too_small_for_the_path_is_a_finding_of_the_receiver() -> None:
    with Stage("rules-window") as stage:
        CASES["rmem-65536"].make(stage)
        time.sleep(1)
        assert ("window-held-down-by-this-end", True) in findings(stage, sending=True)


def test_clocks_and_distance_are_findings_across_ends() -> None:
    with Stage("rules-clocks") as stage:
        CASES["pace-delay"].make(stage)
        time.sleep(1)
        rules = {"clocks-differ-between-ends", "far-apart-in-one-network"}
        here = {(rule, False) for rule in rules}
        assert findings(stage, sending=True, clock=300.0) & here == here
        behind = findings(stage, sending=True, clock=-300.0)
        assert {one for one in behind if one[0] in rules} == {
            ("clocks-differ-between-ends", True), ("far-apart-in-one-network", False),
        }  # fmt: skip
