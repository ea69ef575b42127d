"""A capture of the user's own on the softirq's core: watched while it is moved off it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nettop.trials.far import capture as far_capture
from nettop.trials.run import TrialError
from nettop.trials.tools import _watched

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores"),
]
NAME = f"nt-ca{os.getpid()}"
HERE, THERE = f"{NAME}-a", f"{NAME}-b"
ADDRESS = "10.96.0.2"
RATE = "40M"
# Beside the capture, sockets that reject every packet: each costs the softirq's core a filter run,
# as a firewall would, and the sender's core nothing.
CAPTURE = """
import os, socket, sys
from nettop.trials.far.capture import attach
os.sched_setaffinity(0, {1})
burden = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) for _ in range(120)]
for sock in burden:
    attach(sock, [(0x06, 0, 0, 0)])
    sock.bind(("eth0", 3))
sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
sock.bind(("eth0", 0))
print("capturing", flush=True)
while True:
    sum(sock.recv(2048)[:200])
"""


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def capture() -> Iterator[int]:
    """Two namespaces, arriving packets taken by core 1, and a slow capture on that very core."""
    try:
        for place in (HERE, THERE):
            run("ip", "netns", "add", place)
        run("ip", "link", "add", "eth0", "netns", HERE, "type", "veth",
            "peer", "eth0", "netns", THERE)  # fmt: skip
        for place, address in ((HERE, "10.96.0.1"), (THERE, ADDRESS)):
            run("ip", "-n", place, "addr", "add", f"{address}/24", "dev", "eth0")
            run("ip", "-n", place, "link", "set", "eth0", "up")
        queue = "/sys/class/net/eth0/queues/rx-0/rps_cpus"
        run("ip", "netns", "exec", HERE, "sh", "-c", f"echo 2 > {queue}")
        words = ["ip", "netns", "exec", HERE, sys.executable, "-c", CAPTURE]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            running.stdout.readline()
            yield running.pid
            running.kill()
    finally:
        for place in (HERE, THERE):
            subprocess.run(["ip", "netns", "del", place], check=False, capture_output=True)


def nettop(tmp_path: Path, *words: str, code: int) -> dict[str, Any]:
    argv = ["ip", "netns", "exec", HERE, "env", f"NETTOP_STATE={tmp_path}",
            f"XDG_STATE_HOME={tmp_path}", sys.executable, "-m", "nettop", *words, "--to", ADDRESS,
            "--peer", f"ip netns exec {THERE}", "--sizes", "18", "--json"]  # fmt: skip
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert done.returncode == code, done.stderr + done.stdout
    found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {"said": done.stderr}
    return found


def test_what_a_running_capture_loses_is_counted(capture: int, tmp_path: Path) -> None:
    words = ("test", "capture", "--pid", str(capture), "--seconds", "1", "--warmup", "0")
    found = nettop(tmp_path, *words, "--rate", RATE, code=0)
    (point,) = found["details"]["points"]
    assert point["dropped"] > 0
    assert point["captured"] == point["sent"] - point["dropped"]
    assert found["loss"]["percent"] > 0


def test_processes_that_cannot_be_watched_are_named(capture: int, tmp_path: Path) -> None:
    words = ("test", "capture", "--pid", str(os.getpid()), "--seconds", "1")
    assert "no packet socket" in nettop(tmp_path, *words, code=3)["said"]
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as own,
        far_capture.ring(own, 1),
        pytest.raises(TrialError, match="into a ring"),
    ):
        _watched.drops(os.getpid())
    with pytest.raises(TrialError, match="cannot be read"):
        _watched.drops(2**22 + 1)


def test_a_capture_that_is_moved_is_the_one_whose_losses_count(
    capture: int, tmp_path: Path
) -> None:
    """Whether it is better there only a machine with nothing else to do can tell."""
    found = nettop(
        tmp_path, "prove", f"process.affinity@{capture}=0", "--tool", "capture", "--rate", RATE,
        "--cpu-there", "0", "--seconds", "0.5", "--warmup", "0", "--pairs", "1", "--most", "1",
        code=1,
    )  # fmt: skip
    assert found["metric"] == "delivered"
    assert found["verdict"] == "unstable"  # one pair is too few
    assert 0 < found["a"][0] < 100
    assert os.sched_getaffinity(capture) == {1}
