"""`--peer` of `why` and `advise` between two namespaces: the host and the stage."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from staged import NEAR, Stage
from staged_both import LIMITS, both

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
    pytest.mark.skipif(shutil.which("nsenter") is None, reason="needs nsenter (util-linux)"),
]
SETTLED = 2.0  # seconds in which buffers and windows grow
DEAD = ("false", "sh -c 'exit 7'", "/no/such/prefix")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


def flow_of(document: dict[str, Any]) -> dict[str, Any]:
    """The joined flow with the highest rate."""
    joined = document["peer"]["flows"]
    assert joined, document
    busiest: dict[str, Any] = max(joined, key=lambda one: one["limit"]["rate"] or 0.0)
    return busiest


@pytest.mark.parametrize("name", ["reader-sleeps", "writer-sleeps", "tbf-20mbit", "rcvbuf-32768"])
def test_the_host_and_the_stage_of_a_limit_are_named_from_both_ends(name: str) -> None:
    case = LIMITS[name]
    with Stage(f"both-{name}") as stage:
        case.case.make(stage)
        time.sleep(SETTLED)
        for sending in (True, False):
            limit = flow_of(both(stage, sending=sending))["limit"]["limit"]
            assert case.right(limit["stage"], limit["end"], sending=sending), limit


def test_a_test_stores_which_end_limits_and_at_which_stage() -> None:
    with Stage("both-test") as stage:
        stage.tc("qdisc add dev eth0 root tbf rate 50mbit burst 32k limit 30000")
        done = subprocess.run(
            stage.inside(stage.here, sys.executable, "-m", "nettop", "test", "bulk", "--to", NEAR,
                         "--peer", f"ip netns exec {stage.there}", "--seconds", "10", "--json"),
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ends = json.loads(done.stdout)["ends"]
    assert (ends["stage"], ends["end"]) == ("qdisc", "here")
    assert (ends["lost_stage"], ends["lost_end"]) == ("qdisc", "here")


@pytest.mark.parametrize("prefix", DEAD)
def test_an_end_that_cannot_be_read_is_one_sentence(prefix: str) -> None:
    for command in ("why", "advise"):
        done = subprocess.run(
            [sys.executable, "-m", "nettop", command, "--seconds", "1", "--peer", prefix],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == 3, (done.returncode, done.stdout, done.stderr)
        assert done.stderr.startswith("nettop: ")
        assert done.stderr.count("\n") == 1, done.stderr


def test_a_far_end_that_is_this_host_is_refused() -> None:
    with Stage("both-same") as stage:
        LIMITS["tbf-20mbit"].case.make(stage)
        time.sleep(SETTLED)
        done = subprocess.run(
            stage.inside(stage.here, sys.executable, "-m", "nettop", "why", "--seconds", "1",
                         "--peer", "env"),
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("nettop: ")
