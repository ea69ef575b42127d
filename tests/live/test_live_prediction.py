"""`nettop tune` over a slow link whose limits are known by construction.

A small send buffer, and a shaper that would limit next: it proves the fix, stores the prediction
beside what it measured, and learns from it. A fault at each end and one in neither: it keeps a fix
of each end, leaves the third alone, and its commands undo both.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hang import HANG
from live.limits.stage import Stage

pytestmark = [
    pytest.mark.netns,
    pytest.mark.live,
    pytest.mark.needs("root"),
    pytest.mark.needs("nsenter"),
]
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
SHAPER = 60e6  # bit/s
# what a small buffer at one end is told as
OF_BUFFERS = {"send-buffer-limits", "receive-cap-below-bdp", "buffer-caps-below-kernel",
              "peer-window-limits"}  # fmt: skip
SLOW = "10.95.0.2"  # over the link with a delay


def program(state: Path) -> list[str]:
    """nettop as a user whose state is kept there."""
    folders = ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
    return ["env", *(f"{name}={state}" for name in folders), f"PATH={PATH}", "nettop"]


def nettop(stage: Stage, state: Path, *words: str) -> dict[str, Any]:
    """What a command prints with --json, of a user whose state is kept there."""
    argv = [*program(state), *words, "--json"]
    done = subprocess.run(
        stage.inside(stage.here, *argv), capture_output=True, text=True, check=False, timeout=HANG
    )
    assert done.stdout, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_a_small_send_buffer_is_lifted_to_what_was_predicted(tmp_path: Path) -> None:
    with Stage("predict") as stage:
        stage.link(0.01)
        stage.tc(f"qdisc add dev tun0 root tbf rate {SHAPER:.0f} burst 64k latency 50ms")
        sysctl = ("sysctl", "-qw", "net.ipv4.tcp_wmem=4096 16384 65536")
        subprocess.run(stage.inside(stage.here, *sysctl), check=True)
        peer = f"nsenter --net=/run/netns/{stage.there}"
        tuned = nettop(
            stage, tmp_path, "tune", "--to", SLOW, "--peer", peer, "--seconds", "1.5",
            "--warmup", "1", "--budget", "50s", "--most", "5", "--look", "5",
        )  # fmt: skip
        steps = {one["finding"].partition("@")[0]: one for one in tuned["steps"]}
        step = steps["send-buffer-limits"]
        least, most = step["predicted"]["rate"]
        assert step["predicted"]["next"]["stage"] == "qdisc", step
        assert least < most <= SHAPER
        assert step["verdict"] == "better", step
        assert least < step["measured"] <= SHAPER
        assert step["inside"] is True, step
        rules = nettop(stage, tmp_path, "results", "learned")["rules"]
        assert [(one["rule"], one["count"], one["inside"]) for one in rules] == [
            ("send-buffer-limits", 1, 1)
        ]


def test_a_fault_of_each_end_is_fixed_and_the_one_between_them_is_left(tmp_path: Path) -> None:
    with Stage("story") as stage:
        stage.link(0.01, f"rate={SHAPER:.0f}")  # bytes/s: the network between both
        small = {stage.here: ("net.ipv4.tcp_wmem", "4096 16384 65536"),
                 stage.there: ("net.ipv4.tcp_rmem", "4096 65536 98304")}  # fmt: skip
        for space, (name, value) in small.items():
            stage.sysctl(space, name, value)
        peer = f"env PATH={PATH} nsenter --net=/run/netns/{stage.there}"
        tuned = nettop(
            stage, tmp_path, "tune", "--to", SLOW, "--peer", peer, "--seconds", "1.5",
            "--warmup", "1", "--budget", "4m", "--most", "6", "--look", "5",
        )  # fmt: skip

        def shown(space: str, name: str) -> str:
            words = stage.inside(space, "sysctl", "-n", name)
            text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            return " ".join(text.split())

        left = [
            one for one in tuned["steps"] if "no setting of a host cures it: " in one["because"]
        ]
        assert left, tuned["steps"]  # the network between both
        kept = [one["finding"] for one in tuned["steps"] if one["state"] == "kept"]
        there = [one for one in kept if "at nsenter" in one]
        assert there, tuned["steps"]
        assert len(kept) > len(there), tuned["steps"]
        assert {one.partition("@")[0] for one in kept} <= OF_BUFFERS
        assert not {shown(space, name) for space, (name, _) in small.items()} & {
            value for _, value in small.values()
        }
        for command in tuned["undo"].split("; "):
            number = command.rpartition(" ")[2]
            space = stage.there if command.startswith("at ") else stage.here
            subprocess.run(
                stage.inside(space, *program(tmp_path), "undo", number), check=True, timeout=HANG
            )
        for space, (name, value) in small.items():
            assert shown(space, name) == value
