"""Experiments between two namespaces: a harmful setting proven, a useless one refused, a crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from live.limits.stage import NEAR, SLOW, Stage

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]
RMEM = "sysctl.net.ipv4.tcp_rmem"
SMALL, NORMAL = "2048 2304 2304", "4096 131072 6291456"


def run(*words: str, check: bool = True) -> str:
    done = subprocess.run(words, check=check, capture_output=True, text=True)
    return done.stdout


@pytest.fixture(scope="module")
def pair() -> Iterator[Stage]:
    """A link whose delay decides what a window carries, whatever the CPUs do."""
    with Stage("prove") as stage:
        stage.link(0.005)
        yield stage


# NORMAL carries the paced rate over that link; SMALL, two kilobytes a round trip, a tenth of it
PACED = ("--to", SLOW, "--rate", "20M", "--reverse")


def words(pair: Stage, tmp_path: Path, *more: str, how: Sequence[str] = PACED) -> list[str]:
    return [
        "ip", "netns", "exec", pair.here, "env", f"NETTOP_STATE={tmp_path / 'state'}",
        f"XDG_STATE_HOME={tmp_path / 'xdg'}", sys.executable, "-m", "nettop", *more,
        "--peer", f"ip netns exec {pair.there}", "--seconds", "0.5", "--warmup", "0.5",
        *how, "--json",
    ]  # fmt: skip


def nettop(
    pair: Stage, tmp_path: Path, *more: str, code: int, how: Sequence[str] = PACED
) -> dict[str, Any]:
    argv = words(pair, tmp_path, *more, how=how)
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert done.returncode == code, done.stderr + done.stdout
    found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {"said": done.stderr}
    return found


def rmem(pair: Stage) -> str:
    return " ".join(
        run("ip", "netns", "exec", pair.here, "sysctl", "-n", "net.ipv4.tcp_rmem").split()
    )


def set_rmem(pair: Stage, value: str) -> None:
    run("ip", "netns", "exec", pair.here, "sysctl", "-w", f"net.ipv4.tcp_rmem={value}")


def test_a_harmful_setting_put_right_is_better_and_kept(pair: Stage, tmp_path: Path) -> None:
    set_rmem(pair, SMALL)
    found = nettop(pair, tmp_path, "prove", f"{RMEM}={NORMAL}", code=0)
    assert found["verdict"] == "better"
    assert found["kept"] is True
    assert len(found["a"]) == len(found["b"]) >= 5
    assert 0 < found["interval"][0] <= found["median_difference"] <= found["interval"][1]
    assert rmem(pair) == NORMAL
    undo = ["ip", "netns", "exec", pair.here, "env", f"NETTOP_STATE={tmp_path / 'state'}",
            sys.executable, "-m", "nettop", "undo", *map(str, found["ids"])]  # fmt: skip
    run(*undo)
    assert rmem(pair) == SMALL
    kept = list((tmp_path / "xdg/nettop/results").glob("*-prove*.json"))
    assert len(kept) == 1


def test_a_useless_change_is_no_difference_and_undone(pair: Stage, tmp_path: Path) -> None:
    set_rmem(pair, NORMAL)
    before = run(
        "ip", "netns", "exec", pair.here, "sysctl", "-n", "net.ipv4.tcp_orphan_retries"
    ).strip()
    found = nettop(pair, tmp_path, "prove", "sysctl.net.ipv4.tcp_orphan_retries=3", code=1)
    assert found["verdict"] == "no difference", found
    assert found["kept"] is False
    after = run(
        "ip", "netns", "exec", pair.here, "sysctl", "-n", "net.ipv4.tcp_orphan_retries"
    ).strip()
    assert after == before


@pytest.mark.alone
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_segmentation_by_the_device_is_better_than_by_the_sender(
    pair: Stage, tmp_path: Path
) -> None:
    """Not paced: what the sender's core can do is what is measured. Small windows lose nothing."""
    names = ("tx-tcp-segmentation", "tx-generic-segmentation")
    run("ip", "netns", "exec", pair.here, "ethtool", "-K", "eth0", "tso", "off", "gso", "off")
    how = f"--to {NEAR} --window 256K --congestion cubic --cpu-here 0 --cpu-there 1".split()
    found = nettop(pair, tmp_path, "prove", *(f"feature.{name}@eth0=on" for name in names),
                   "--most", "9", code=0, how=how)  # fmt: skip
    assert found["verdict"] == "better", found
    assert found["kept"] is True
    assert found["interval"][0] > 0.3
    told = run("ip", "netns", "exec", pair.here, "ethtool", "-k", "eth0")
    assert "tcp-segmentation-offload: on" in told
    assert "generic-segmentation-offload: on" in told


def test_a_sweep_finds_the_best_value_and_puts_the_host_back(pair: Stage, tmp_path: Path) -> None:
    set_rmem(pair, "4096 131072 1000000")
    found = nettop(pair, tmp_path, "sweep", RMEM, "--value", SMALL, "--value", NORMAL,
                   "--pairs", "5", "--most", "7", code=1)  # fmt: skip
    assert found["best"] != SMALL
    assert {row["value"]: row.get("verdict") for row in found["rows"]}[SMALL] == "worse"
    assert rmem(pair) == "4096 131072 1000000"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed_in_the_middle_the_host_is_as_before(
    pair: Stage, tmp_path: Path, number: int
) -> None:
    set_rmem(pair, SMALL)
    argv = words(pair, tmp_path, "prove", f"{RMEM}={NORMAL}", "--pairs", "50")
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        until(lambda: rmem(pair) == NORMAL)
        running.send_signal(number)
    until(lambda: rmem(pair) == SMALL)
    until(lambda: not run("ip", "netns", "pids", pair.there).split())


def test_what_cannot_be_tried_is_one_sentence(pair: Stage, tmp_path: Path) -> None:
    set_rmem(pair, NORMAL)
    found = nettop(pair, tmp_path, "prove", f"{RMEM}={NORMAL}", code=4)
    assert "already" in found["said"]
    found = nettop(pair, tmp_path, "prove", "sysctl.net.ipv4.no_such=1", code=4)
    assert "no_such" in found["said"]
    found = nettop(pair, tmp_path, "prove", "no-such-kind.x@eth0=1", code=2)
    assert "no-such-kind" in found["said"]


def until(done: Any) -> None:
    for _ in range(600):
        if done():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to pass")
