"""What listens at the far end during a test: on the test's address only, and gone afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import pytest
import veth

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]
HERE, THERE = veth.spaces("far")
OTHER = "10.93.7.2"  # an address of the far end that the test does not use
TRY = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 10).close()
except OSError as error:
    print(type(error).__name__)
"""


@pytest.fixture(scope="module", autouse=True)
def pair() -> Iterator[None]:
    with veth.pair("far"):
        subprocess.run(["ip", "-n", THERE, "addr", "add", f"{OTHER}/24", "dev", "eth0"], check=True)
        route = ["ip", "-n", HERE, "route", "add", f"{OTHER}/32", "dev", "eth0"]
        subprocess.run(route, check=True)
        yield


def listening() -> set[tuple[str, int]]:
    """The addresses and ports at the far end that wait for connections or datagrams."""
    said = subprocess.run(
        ["ip", "netns", "exec", THERE, "ss", "-Hltun"], capture_output=True, text=True, check=True
    ).stdout
    places = [line.split()[4].rpartition(":") for line in said.splitlines()]
    return {(address.strip("[]"), int(port)) for address, _, port in places}


def trial(tool: str, to: str, *words: str) -> subprocess.Popen[str]:
    folder = tempfile.gettempdir()
    return subprocess.Popen(
        ["ip", "netns", "exec", HERE, sys.executable, "-m", "nettop", "test", tool, "--to", to,
         "--peer", f"ip netns exec {THERE}", "--seconds", "3", "--warmup", "0", "--no-keep",
         *words],
        env={**os.environ, "NETTOP_STATE": folder}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def reached(address: str, port: int) -> str:
    """Why a connection from the near end fails; empty when it does not."""
    done = subprocess.run(
        ["ip", "netns", "exec", HERE, sys.executable, "-c", TRY, address, str(port)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


@pytest.mark.parametrize("to", [veth.FAR, veth.FAR6])
@pytest.mark.parametrize(
    ("tool", "words"),
    [("bulk", []), ("udp-latency", []), ("udp-sweep", ["--sizes", "200"]), ("iperf3", []),
     ("iperf", []), ("iperf", ["--udp", "--rate", "20M"]), ("sockperf", [])],
    ids=lambda one: " ".join(one) if isinstance(one, list) else one,
)  # fmt: skip
def test_servers_listen_on_the_address_of_the_test_only(
    tool: str, words: list[str], to: str
) -> None:
    if shutil.which(tool) is None and tool in ("iperf3", "iperf", "sockperf"):
        pytest.skip(f"{tool} is not installed")
    if tool == "sockperf" and ":" in to:
        pytest.skip("sockperf has no IPv6")
    seen: set[tuple[str, int]] = set()
    tried: dict[int, str] = {}
    with trial(tool, to, *words) as running:
        while running.poll() is None:
            now = listening()
            seen |= now
            for _, port in now - {(to, port) for port in tried}:
                tried.setdefault(port, reached(OTHER, port))
        _, said = running.communicate()
    assert running.returncode == 0, said
    assert {address for address, _ in seen} <= {to}
    assert set(tried.values()) <= {"ConnectionRefusedError"}
    if tool != "bulk":  # whose port closes within some milliseconds
        assert seen
    assert listening() == set()
