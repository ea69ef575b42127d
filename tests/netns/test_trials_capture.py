"""A capture of the user's own on the softirq's core: what it loses, and what cannot be watched."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
RATE = "20M"  # 39,000 frames of 64 bytes a second
SHARE = 80.0  # percent of its core that receiving takes at this rate
# Sockets that reject every packet: each costs the core that receives a filter run, as a firewall
# would. They are for IP alone, so that they are no captures.
FIREWALL = """
import signal, socket, sys
from nettop.trials.far.capture import attach
held = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) for _ in range(int(sys.argv[1]))]
for sock in held:
    attach(sock, [(0x06, 0, 0, 0)])
    sock.bind(("eth0", 0x0800))
print("filtering", flush=True)
signal.pause()
"""
# Looks at each packet for 12 µs, so that at this rate it needs half a core and has not got it on
# the core that receives. Its buffer outlasts what else runs here. SO_RCVBUFFORCE is 33.
CAPTURE = """
import os, socket, time, zlib
packet = bytes(64)
def look(times):
    for _ in range(times):
        zlib.crc32(packet)
def cost():
    begun = time.perf_counter()
    look(2000)
    return (time.perf_counter() - begun) / 2000
times = round(12e-6 / min(cost() for _ in range(50)))
os.sched_setaffinity(0, {1})
os.nice(-15)
sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
sock.setsockopt(socket.SOL_SOCKET, 33, 2 << 20)
sock.bind(("eth0", 3))
print("capturing", flush=True)
while True:
    sock.recv(2048)
    look(times)
"""


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@contextmanager
def program(text: str, *words: str) -> Iterator[tuple[int, str]]:
    """A Python program in the near namespace: its process and the line it said when ready."""
    argv = ["ip", "netns", "exec", HERE, sys.executable, "-c", text, *words]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            yield running.pid, running.stdout.readline().strip()
        finally:
            running.kill()


def rejecting(folder: Path) -> int:
    """How many rejecting sockets make receiving at the rate take its share of a core."""
    with program(FIREWALL, "60"):
        found = nettop(folder, "test", "capture", "--rate", RATE, "--seconds", "2", "--cpu-here",
                       "0", "--no-keep", code=0)  # fmt: skip
    (core,) = [core for core in found["cores"]["here"] if core["cpu"] == 1]
    share = max(1.0, float(core["softirq"]))
    return max(60, min(2000, round(60 * SHARE / share)))


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
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
        count = rejecting(tmp_path_factory.mktemp("burden"))
        with program(FIREWALL, str(count)), program(CAPTURE) as (pid, _):
            yield pid
    finally:
        for place in (HERE, THERE):
            subprocess.run(["ip", "netns", "del", place], check=False, capture_output=True)


def nettop(tmp_path: Path, *words: str, code: int) -> dict[str, Any]:
    argv = ["ip", "netns", "exec", HERE, "env", f"NETTOP_STATE={tmp_path}",
            f"XDG_STATE_HOME={tmp_path}", sys.executable, "-m", "nettop", *words, "--to", ADDRESS,
            "--peer", f"ip netns exec {THERE} nice -n -15", "--sizes", "18", "--cpu-there", "0",
            "--warmup", "0", "--json"]  # fmt: skip
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr + done.stdout
    found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {"said": done.stderr}
    return found


def test_what_a_running_capture_loses_is_counted(capture: int, tmp_path: Path) -> None:
    words = ("test", "capture", "--pid", str(capture), "--seconds", "1.5")
    found = nettop(tmp_path, *words, "--rate", RATE, code=0)
    (point,) = found["details"]["points"]
    assert point["dropped"] > 0
    assert 0 <= point["dropped_early"] <= point["dropped"]
    assert point["captured"] == point["sent"] - point["dropped"]
    assert found["loss"]["percent"] > 0


def test_what_the_interface_drops_no_socket_sees() -> None:
    """A backlog that is full loses packets before any socket: they count as lost too."""
    assert _watched.dropped("lo") >= 0
    assert _watched.dropped("no-such-device") == 0


def test_processes_that_cannot_be_watched_are_named(capture: int, tmp_path: Path) -> None:
    words = ("test", "capture", "--pid", str(os.getpid()), "--seconds", "1")
    assert "no packet socket" in nettop(tmp_path, *words, code=3)["said"]
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as own,
        far_capture.ring(own, 4096, 2),
        pytest.raises(TrialError, match="into a ring"),
    ):
        _watched.drops(os.getpid())
    with pytest.raises(TrialError, match="cannot be read"):
        _watched.drops(2**22 + 1)


def test_moved_to_where_it_is_already_there_is_nothing_to_try(capture: int, tmp_path: Path) -> None:
    words = ("prove", f"process.affinity@{capture}=1", "--tool", "capture", "--rate", RATE)
    assert "already" in nettop(tmp_path, *words, code=4)["said"]
