"""Two namespaces joined by a veth pair, for a test or a benchmark; they are deleted afterwards."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import NamedTuple

NEAR, FAR = "10.93.0.1", "10.93.0.2"
_OWN = os.getpid()  # of the process that imports the tests, which name their namespaces then
NEAR6, FAR6 = "fd93::1", "fd93::2"


class Pair(NamedTuple):
    """The command prefixes of both namespaces, and the address of the far one."""

    near: list[str]
    far: list[str]
    to: str


def spaces(name: str) -> tuple[str, str]:
    """The names of its namespaces: the near one, the far one."""
    return f"nt-{name}{_OWN}-a", f"nt-{name}{_OWN}-b"


@contextmanager
def pair(name: str, queues: int = 1) -> Iterator[Pair]:
    """The pair: `eth0` in both namespaces, the near one with `queues`; SystemExit without root."""
    if os.geteuid() != 0:
        raise SystemExit("needs root: it makes network namespaces")
    here, there = spaces(name)
    try:
        for place in (here, there):
            _ip("netns", "add", place)
        near = f"link add eth0 netns {here} numrxqueues {queues} numtxqueues {queues} type veth"
        _ip(*near.split(), "peer", "eth0", "netns", there)
        for place, four, six in ((here, NEAR, NEAR6), (there, FAR, FAR6)):
            _no_kernel_packets(place)
            _ip("-n", place, "addr", "add", f"{four}/24", "dev", "eth0")
            _ip("-n", place, "addr", "add", f"{six}/64", "dev", "eth0", "nodad")
            for device in ("eth0", "lo"):
                _ip("-n", place, "link", "set", device, "up")
        yield Pair(["ip", "netns", "exec", here], ["ip", "netns", "exec", there], FAR)
    finally:
        for place in (here, there):
            subprocess.run(["ip", "netns", "del", place], check=False, capture_output=True)


def _no_kernel_packets(place: str) -> None:
    """Stop the packets that the kernel sends by itself, so that counts are the same in each run."""
    _ip("-n", place, "link", "set", "eth0", "addrgenmode", "none")
    sysctls = {"net.ipv6.conf.eth0.router_solicitations": 0,
            "net.ipv6.conf.eth0.mldv1_unsolicited_report_interval": 1,
            "net.ipv6.conf.eth0.mldv2_unsolicited_report_interval": 1}  # fmt: skip
    words = [f"{name}={value}" for name, value in sysctls.items()]
    _ip("netns", "exec", place, "sysctl", "-q", "-w", *words)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def spread(ratios: Sequence[float]) -> str:
    """The median, minimum and maximum of the ratios of the pairs."""
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}, {len(ratios)} pairs)"
