"""The main job on a real kernel: a transfer between two namespaces, seen, judged, fixed, undone.

What is shown is compared with iperf3's own figure over the same seconds, and what is changed with
what `sysctl` and `ethtool` read.
"""

import itertools
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]
NAME = f"nt-mj{os.getpid()}"
HERE, THERE = f"{NAME}-a", f"{NAME}-b"
PEER = "10.96.0.2"

# Runs inside the namespace, four observations a second: what the flows pane would show of iperf3.
WATCH = """
import json, sys, time
from nettop.views.observer import Observer
from nettop.host.source import Live
observer = Observer(Live())
last = observer.step().frame.at
due, out = time.monotonic(), []
for _ in range(int(sys.argv[1])):
    due += 0.25
    time.sleep(max(0, due - time.monotonic()))
    seen = observer.step()
    flows = [f for f in seen.facts.flows if f.process == "iperf3" and f.tx_per_s]
    cores = {f.app_cpu for f in flows}
    busy = {c.cpu: 100 - (c.idle or 0) for c in seen.facts.cores if c.cpu in cores}
    rate, seconds, last = sum(f.tx_per_s for f in flows) * 8, seen.frame.at - last, seen.frame.at
    out.append([seen.frame.wall, seconds, rate, sorted(busy.values())])
print(json.dumps(out))
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def inside(space: str, *words: str) -> list[str]:
    return ["ip", "netns", "exec", space, *words]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = str(tmp_path_factory.mktemp("state"))
    try:
        for space in (HERE, THERE):
            ip("netns", "add", space)
        ip("link", "add", "eth0", "netns", HERE, "type", "veth", "peer", "eth0", "netns", THERE)
        for space, address in ((HERE, "10.96.0.1"), (THERE, PEER)):
            ip("-n", space, "addr", "add", f"{address}/24", "dev", "eth0")
            ip("-n", space, "link", "set", "eth0", "up")
            ip("-n", space, "link", "set", "lo", "up")
        yield {**os.environ, "NETTOP_STATE": folder, "XDG_STATE_HOME": folder}
    finally:
        for space in (HERE, THERE):
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)


def nettop(env: dict[str, str], *words: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        inside(HERE, sys.executable, "-m", "nettop", *words, "--json"),
        env=env, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout or "{}")


def _listen(client: "subprocess.Popen[str]", told: list[tuple[float, float]]) -> None:
    assert client.stdout is not None
    for line in client.stdout:
        found = re.search(r"([\d.]+) Kbits/sec", line)
        if found and "sender" not in line and "receiver" not in line:
            told.append((time.time(), float(found[1]) * 1000))
    client.stdout.close()
    client.wait()


@pytest.mark.alone
def test_the_payload_rate_is_iperf3s_own_within_one_and_a_half_percent(
    pair: dict[str, str],
) -> None:
    server = subprocess.Popen(inside(THERE, "iperf3", "-s", "-1"), stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    client = subprocess.Popen(
        inside(HERE, "iperf3", "-c", PEER, "-t", "20", "-i", "1", "-f", "k", "--forceflush"),
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    told: list[tuple[float, float]] = []  # when each of iperf3's seconds ended, and its bit/s
    reader = threading.Thread(target=_listen, args=(client, told))
    reader.start()
    time.sleep(1.5)
    watched = subprocess.run(
        inside(HERE, sys.executable, "-c", WATCH, "56"),
        capture_output=True, text=True, check=True, env=pair, timeout=60,
    )  # fmt: skip
    reader.join(timeout=60)
    server.wait(timeout=20)
    seen = json.loads(watched.stdout)
    # iperf3's own ten whole seconds that were watched; nettop's shares of them
    ends = [(end, rate) for end, rate in told if end > seen[0][0] + 0.3][:11]
    first, final = ends[0][0], ends[-1][0]
    theirs = sum(rate * (b - a) for (a, _), (b, rate) in itertools.pairwise(ends))
    ours = 0.0
    for end, dt, rate, _ in seen:
        ours += rate * max(0.0, min(end, final) - max(end - dt, first))
    seconds = final - first
    assert seconds > 9
    assert abs(ours / theirs - 1) < 0.015, (ours, theirs)
    loads = sorted(max(busy) for _, _, _, busy in seen if busy)
    assert loads[len(loads) // 2] > 20, "the core iperf3 loads is seen"


def test_a_finding_is_applied_and_undone_and_the_kernel_follows(pair: dict[str, str]) -> None:
    def sack() -> str:
        words = inside(HERE, "sysctl", "-n", "net.ipv4.tcp_sack")
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

    subprocess.run(inside(HERE, "sysctl", "-qw", "net.ipv4.tcp_sack=0"), check=True)
    code, advice = nettop(pair, "advise", "--seconds", "1", "--fail-on", "warning")
    assert code == 1
    found = {one["rule"]: one for one in advice["findings"]}["loss-recovery-crippled"]
    assert [change["setting"] for change in found["changes"]] == ["sysctl.net.ipv4.tcp_sack"]

    _, planned = nettop(pair, "apply", found["id"], "--dry-run")
    assert planned["changes"][0]["shell"] == "sysctl -w net.ipv4.tcp_sack=1"
    assert planned["changes"][0]["state"] == "planned"
    assert sack() == "0"
    code, done = nettop(pair, "apply", found["id"])
    assert (code, done["changes"][0]["state"], sack()) == (0, "applied", "1")
    code, undone = nettop(pair, "undo", "--all")
    assert (code, undone["changes"][0]["state"], sack()) == (0, "undone", "0")
    _, journal = nettop(pair, "journal")
    assert len(journal["changes"]) == 1
    subprocess.run(inside(HERE, "sysctl", "-qw", "net.ipv4.tcp_sack=1"), check=True)


def test_a_test_starts_and_ends_its_far_side(pair: dict[str, str], tmp_path: Path) -> None:
    code, result = nettop(
        pair, "test", "iperf3", "--to", PEER, "--peer", f"ip netns exec {THERE}", "--seconds", "2"
    )
    assert code == 0
    assert result["bits_per_second"] > 1e8
    assert len(result["intervals"]) >= 2
    assert result["cores"]["here"]
    assert result["cores"]["there"]
    assert result["settings"]
    left = subprocess.run(
        ["ip", "netns", "pids", THERE], capture_output=True, text=True, check=True
    )
    assert left.stdout == ""
