"""Collectors inside a network namespace: its own interfaces, sockets and parameters, no others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
]
NAME = f"nt-procsys-{os.getpid()}"
SCRIPT = """
import json
from nettop.sampling.sampler import Sampler
from nettop.host.source import Live
wanted = ["netdev", "netclass", "queues", "kernel", "sysctls", "irqs", "sockets_udp"]
frame = Sampler(Live()).take(wanted)
print(json.dumps({
    "netdev": {row.name: row.rx_packets for row in frame.rows("netdev")},
    "netclass": {row.name: row.carrier for row in frame.rows("netclass")},
    "queues": [row.nic + "/" + row.name for row in frame.rows("queues")],
    "container": [row.container for row in frame.rows("kernel")],
    "sysctls": [row.name for row in frame.rows("sysctls")],
    "irqs": len(frame.rows("irqs")),
    "udp": len(frame.rows("sockets_udp")),
    "missing": dict(frame.missing),
}))
"""


def run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def seen() -> Iterator[dict[str, Any]]:
    run("ip", "netns", "add", NAME)
    try:
        pair = "link add va numrxqueues 2 numtxqueues 2 type veth peer name vb"
        run("ip", "-n", NAME, *pair.split())
        run("ip", "-n", NAME, "link", "set", "va", "up")
        yield json.loads(run("ip", "netns", "exec", NAME, sys.executable, "-c", SCRIPT))
    finally:
        run("ip", "netns", "del", NAME)


def test_only_its_own_interfaces(seen: dict[str, Any]) -> None:
    assert set(seen["netdev"]) == {"lo", "va", "vb"}
    assert set(seen["netclass"]) == {"lo", "va", "vb"}
    assert seen["netclass"]["vb"] is None  # down: unknown, not without carrier
    assert {"va/rx-0", "va/rx-1", "va/tx-0", "va/tx-1", "vb/rx-0"} <= set(seen["queues"])
    assert seen["irqs"] == 0
    assert seen["udp"] == 0


def test_it_is_known_to_be_a_namespace_of_its_own(seen: dict[str, Any]) -> None:
    assert seen["container"] == [True]
    assert "net.core.netdev_max_backlog" not in seen["sysctls"]
    assert "net.ipv4.tcp_rmem" in seen["sysctls"]
    assert seen["missing"] == {}
