"""Two namespaces joined by a veth pair, for a test or a benchmark; gone afterwards."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import NamedTuple

NEAR, FAR = "10.93.0.1", "10.93.0.2"
NEAR6, FAR6 = "fd93::1", "fd93::2"


class Pair(NamedTuple):
    """How to run a command at each end, and the far end's address."""

    near: list[str]
    far: list[str]
    to: str


def spaces(name: str) -> tuple[str, str]:
    """What this process calls its namespaces, the near one and the far one."""
    return f"nt-{name}{os.getpid()}-a", f"nt-{name}{os.getpid()}-b"


@contextmanager
def pair(name: str, queues: int = 1) -> Iterator[Pair]:
    """The pair, `eth0` at both ends, the near one with so many queues; SystemExit without root."""
    if os.geteuid() != 0:
        raise SystemExit("needs root: it makes network namespaces")
    here, there = spaces(name)
    try:
        for place in (here, there):
            _ip("netns", "add", place)
        near = f"link add eth0 netns {here} numrxqueues {queues} numtxqueues {queues} type veth"
        _ip(*near.split(), "peer", "eth0", "netns", there)
        for place, four, six in ((here, NEAR, NEAR6), (there, FAR, FAR6)):
            _silence(place)
            _ip("-n", place, "addr", "add", f"{four}/24", "dev", "eth0")
            _ip("-n", place, "addr", "add", f"{six}/64", "dev", "eth0", "nodad")
            for device in ("eth0", "lo"):
                _ip("-n", place, "link", "set", device, "up")
        yield Pair(["ip", "netns", "exec", here], ["ip", "netns", "exec", there], FAR)
    finally:
        for place in (here, there):
            subprocess.run(["ip", "netns", "del", place], check=False, capture_output=True)


def _silence(place: str) -> None:
    """Of itself the kernel sends nothing there: what is counted twice is the same."""
    _ip("-n", place, "link", "set", "eth0", "addrgenmode", "none")
    said = {"net.ipv6.conf.eth0.router_solicitations": 0,
            "net.ipv6.conf.eth0.mldv1_unsolicited_report_interval": 1,
            "net.ipv6.conf.eth0.mldv2_unsolicited_report_interval": 1}  # fmt: skip
    words = [f"{name}={value}" for name, value in said.items()]
    _ip("netns", "exec", place, "sysctl", "-q", "-w", *words)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def spread(ratios: Sequence[float]) -> str:
    """The median of the pairs' ratios, the least and the greatest."""
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}, {len(ratios)} pairs)"
