"""Two namespaces joined by a veth pair, for a benchmark; gone afterwards."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import NamedTuple


class Pair(NamedTuple):
    """How to run a command at each end, and the far end's address."""

    near: list[str]
    far: list[str]
    to: str


@contextmanager
def pair(name: str) -> Iterator[Pair]:
    """The pair; SystemExit without root."""
    if os.geteuid() != 0:
        raise SystemExit("needs root: it makes network namespaces")
    here, there = (f"nt-{name}{os.getpid()}-{end}" for end in "ab")
    try:
        for place in (here, there):
            _ip("netns", "add", place)
        _ip("link", "add", "eth0", "netns", here, "type", "veth", "peer", "eth0", "netns", there)
        for place, address in ((here, "10.93.0.1"), (there, "10.93.0.2")):
            _ip("-n", place, "addr", "add", f"{address}/24", "dev", "eth0")
            _ip("-n", place, "link", "set", "eth0", "up")
        yield Pair(["ip", "netns", "exec", here], ["ip", "netns", "exec", there], "10.93.0.2")
    finally:
        for place in (here, there):
            subprocess.run(["ip", "netns", "del", place], check=False, capture_output=True)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def spread(ratios: Sequence[float]) -> str:
    """The median of the pairs' ratios, the least and the greatest."""
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}, {len(ratios)} pairs)"
