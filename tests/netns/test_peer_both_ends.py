"""`--peer` of `why` and `advise` between two namespaces: the host and the stage."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from live.limits.both import LIMITS, both
from live.limits.case import FAR
from live.limits.stage import NEAR, Stage
from live.programs.run import RUN
from warm import shared

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


@pytest.mark.parametrize(
    "name", ["reader-sleeps", "writer-sleeps", "tbf-20mbit", "rcvbuf-32768", "acks-tbf"]
)
def test_the_host_and_the_stage_of_a_limit_are_named_from_both_ends(name: str) -> None:
    case = LIMITS[name]
    with Stage(f"both-{name}") as stage:
        case.case.make(stage)
        time.sleep(SETTLED)
        for sending in (True, False):
            limit = flow_of(both(stage, sending=sending))["limit"]["limit"]
            assert case.right(limit["stage"], limit["end"], sending=sending), limit


def test_a_flow_behind_translated_addresses_is_named_and_not_joined() -> None:
    with Stage("both-nat") as stage:
        stage.chain()
        stage.run(stage.middle, f"{sys.executable} {RUN} masquerade")
        stage.reader()
        stage.writer("pace=2500000", to=FAR)
        time.sleep(SETTLED)
        for sending in (True, False):
            document = both(stage, sending=sending)["peer"]
            assert document["flows"] == []
            (flow,) = document["unmatched"]
            ours, theirs = ("10.96.0.2", "10.97.0.1") if sending else ("10.97.0.1", "10.96.0.2")
            assert ours in flow["target"]
            (candidate,) = flow["candidates"]
            assert theirs in candidate
        text = said(stage)
    assert "its addresses are translated on the way (NAT)" in text
    assert "same port and about the same rate there, not joined: " in text


def said(stage: Stage, seconds: float = 4.0) -> str:
    """What `nettop why --peer` prints, with spaces for line ends."""
    words = ("why", "--seconds", f"{seconds}", "--peer", f"ip netns exec {stage.there}")
    done = shared().run(words, netns=stage.here, sysfs=False)  # as Stage.inside: nsenter --net
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.decode().split())


def watched(stage: Stage) -> bool:
    """Whether a reader runs at the other end."""
    words = ("ip", "netns", "pids", stage.there)
    found = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    lines = (Path(f"/proc/{pid}/cmdline") for pid in found)
    return any(b"-I\0-S\0-u\0" in one.read_bytes() for one in lines if one.exists())


def test_a_flow_that_ends_while_it_is_watched_is_said() -> None:
    with Stage("both-ended") as stage:
        stage.reader()
        writer = stage.writer("pace=2500000")

        def end() -> None:
            while not watched(stage):
                time.sleep(0.2)
            time.sleep(4)  # some frames
            writer.kill()

        thread = threading.Thread(target=end, daemon=True)
        thread.start()
        text = said(stage, 9.0)
        thread.join()
    assert "10.94.0.2:7300 ended while it was watched" in text


def test_a_test_stores_which_end_limits_and_at_which_stage() -> None:
    with Stage("both-test") as stage:
        # a burst of 100 ms: a smaller one loses its tokens while the core is taken away
        # and four streams: the queue of one stops growing before the limit drops again
        stage.tc("qdisc add dev eth0 root tbf rate 20mbit burst 256k limit 60000")
        done = subprocess.run(
            stage.inside(stage.here, sys.executable, "-m", "nettop", "test", "bulk", "--to", NEAR,
                         "--peer", f"ip netns exec {stage.there}", "--seconds", "10", "--json",
                         "--congestion", "cubic", "--streams", "4"),
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
