"""Limits made on purpose between two namespaces: `nettop why` names the stage, three times each.

Each limit is known by construction, and seen from the end that writes and, where it is this end's,
from the end that reads. What the flow achieves is not asserted: other work runs on this machine.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from staged import Stage

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
    pytest.mark.skipif(shutil.which("nsenter") is None, reason="needs nsenter (util-linux)"),
]
LOOKS = 3
SLOW = "10.95.0.2"  # over the link with a delay
LOCAL = "127.0.0.1"


def shaper(stage: Stage) -> None:
    stage.tc(*"qdisc add dev eth0 root tbf rate 50mbit burst 64k latency 50ms".split())
    stage.reader()
    stage.writer()


def shaper_of_a_class(stage: Stage) -> None:
    stage.tc(*"qdisc add dev eth0 root handle 1: htb default 10".split())
    stage.tc(*"class add dev eth0 parent 1: classid 1:10 htb rate 50mbit".split())
    stage.reader()
    stage.writer()


def pacing(stage: Stage) -> None:
    stage.reader()
    stage.writer("pace=6250000")


def stopped_writer(stage: Stage) -> None:
    stage.reader()
    stage.duty(stage.writer(), 0.05, 0.3)


def quota(stage: Stage) -> None:
    stage.reader()
    if not stage.quota(stage.writer(), 0.03):
        pytest.skip("no cgroup with a CPU quota can be made here")


def small_send_buffer(stage: Stage) -> None:
    stage.link(0.02)
    stage.reader()
    stage.writer("sndbuf=32768", to=SLOW)


def small_receive_buffer(stage: Stage) -> None:
    stage.link(0.02)
    stage.reader("rcvbuf=32768")
    stage.writer(to=SLOW)


def loss(stage: Stage) -> None:
    stage.link(0.01, lose=100)
    stage.reader()
    stage.writer(to=SLOW)


def slow_reader(stage: Stage) -> None:
    stage.reader("sleep=0.01", "size=20000")
    stage.writer()


def sleeping_writer(stage: Stage) -> None:
    stage.reader()
    stage.writer("sleep=0.01", "size=20000")


def saturated(stage: Stage) -> None:
    stage.reader(space=stage.here)
    stage.writer(to=LOCAL)


Staged = tuple[Callable[[Stage], None], str, bool, set[tuple[str, str]]]
CASES: dict[str, Staged] = {
    "shaper": (shaper, "10.94.0.2", True, {("qdisc", "here")}),
    "class": (shaper_of_a_class, "10.94.0.2", True, {("qdisc", "here")}),
    "pacing": (pacing, "10.94.0.2", True, {("pacing", "here")}),
    "stopped": (stopped_writer, "10.94.0.2", True, {("thread", "here")}),
    "quota": (quota, "10.94.0.2", True, {("thread", "here")}),
    "sndbuf": (small_send_buffer, SLOW, True, {("sndbuf", "here")}),
    "rcvbuf": (small_receive_buffer, SLOW, False, {("rcvbuf", "here")}),
    "rwnd": (small_receive_buffer, SLOW, True, {("rwnd", "there")}),
    "loss": (loss, SLOW, True, {("path", "there"), ("cwnd", "here")}),
    "slow": (slow_reader, "10.94.0.2", False, {("application", "here")}),
    "peer": (slow_reader, "10.94.0.2", True, {("peer", "there")}),
    "sleeps": (sleeping_writer, "10.94.0.2", True, {("application", "here")}),
    "core": (saturated, LOCAL, True, {("thread", "here")}),
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


@pytest.mark.parametrize("name", CASES)
def test_a_staged_limit_is_named(name: str) -> None:
    make, to, sending, right = CASES[name]
    with Stage(name) as stage:
        make(stage)
        stage.settle(to)
        looks = [stage.flow(sending=sending, to=to) for _ in range(LOOKS)]
    for look in looks:
        assert (look["limit"]["stage"], look["limit"]["end"]) in right, _lines(look)
        assert look["limit"]["because"]


def test_the_interface_says_what_its_flow_says() -> None:
    with Stage("nic") as stage:
        pacing(stage)
        stage.settle("10.94.0.2")
        found = stage.why(stage.here, "eth0")["limits"]
    by_target = {(one["over"], one["direction"]): one for one in found}
    assert by_target["nic", "tx"]["limit"]["stage"] == "pacing"
    assert by_target["flow", "tx"]["limit"]["stage"] == "pacing"


def _lines(look: dict[str, Any]) -> str:
    steps = (f"{step['stage']} {step['utilisation']} {step['because']}" for step in look["ladder"])
    return "\n".join((f"{look['rate'] / 1e6:.1f} Mb/s", *steps))
