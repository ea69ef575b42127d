"""What listens at the far end during a test: on the test's address only, and gone afterwards."""

import os
import subprocess
import time
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest
import veth
from changes_netns import python, run
from hang import until
from trial_ends import Ends, ends, installed
from warm import shared

pytestmark = pytest.mark.netns
OTHER = "10.93.7.2"  # an address of the far end that the test does not use
TRY = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2]))).close()
except OSError as error:
    print(type(error).__name__)
"""


@pytest.fixture(scope="module")
def pair() -> Iterator[Ends]:
    with ends("far") as both:
        run("ip", "-n", both.there, "addr", "add", f"{OTHER}/24", "dev", "eth0")
        run("ip", "-n", both.here, "route", "add", f"{OTHER}/32", "dev", "eth0")
        yield both


@pytest.fixture(scope="module")
def there(pair: Ends) -> Iterator[Path]:
    """/proc/net of the far end, of a process that waits there."""
    with subprocess.Popen([*pair.pair.far, "cat"], stdin=subprocess.PIPE) as waits:
        net = Path(f"/proc/{waits.pid}/net")
        until(lambda: OTHER in (net / "fib_trie").read_text())
        yield net


def listening(there: Path) -> set[tuple[str, int]]:
    """The addresses and ports at the far end that wait for connections or take datagrams."""
    found = set()
    for name in ("tcp", "tcp6", "udp", "udp6"):
        for row in (there / name).read_text().splitlines()[1:]:
            _, local, _, state, *_ = row.split()
            if name.startswith("udp") or state == "0A":  # TCP_LISTEN
                address, _, port = local.partition(":")
                words = [
                    bytes.fromhex(address[at : at + 8])[::-1] for at in range(0, len(address), 8)
                ]
                found.add((str(ip_address(b"".join(words))), int(port, 16)))
    return found


def seen(pair: Ends, there: Path, tool: str, *words: str) -> set[tuple[str, int]]:
    """Where something listened while a test ran; no other address may be reached there."""
    common = ("test", tool, *pair.peer, "--warmup", "0", "--no-keep", *words)
    with open(os.devnull, "r+b") as null:
        streams = dict.fromkeys((0, 1, 2), null.fileno())
        running = shared().start(common, streams, pair.environment, netns=pair.here)
    found: set[tuple[str, int]] = set()
    while (code := running.poll()) is None:
        for place in listening(there) - found:
            found.add(place)
            # or it has ended meanwhile: nobody listens there either
            assert python(pair.here, TRY, OTHER, str(place[1])) == "ConnectionRefusedError\n"
        time.sleep(0.05)  # between two looks
    assert code == 0
    return found


@pytest.mark.parametrize("to", [veth.FAR, veth.FAR6])
@pytest.mark.parametrize(
    "line",
    ["bulk --rate 20M", "udp-latency --sizes 64", "udp-sweep --sizes 200", "iperf3 --rate 20M",
     "iperf --rate 20M", "iperf --udp --rate 20M", "sockperf"],
)  # fmt: skip
def test_servers_listen_on_the_address_of_the_test_only(
    pair: Ends, there: Path, line: str, to: str
) -> None:
    tool, *words = line.split()
    installed(tool)
    if tool == "sockperf" and ":" in to:
        pytest.skip("sockperf has no IPv6")
    for seconds in ("1", "3", "10", "60"):  # as long as it takes to see it listen
        found = seen(pair, there, tool, *words, "--to", to, "--seconds", seconds)
        assert {address for address, _ in found} <= {to}
        if found or tool == "bulk":  # whose port closes within some milliseconds
            break
    assert found or tool == "bulk"
    assert listening(there) == set()
