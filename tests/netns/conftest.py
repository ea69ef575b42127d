"""A namespace with a veth pair, and nettop in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from changes_netns import NAME, Nettop, end_guards, run
from warm import Warm


@pytest.fixture(scope="module")
def netns() -> Iterator[str]:
    run("ip", "netns", "add", NAME)
    try:
        pair = "ip link add va numrxqueues 4 numtxqueues 4 type veth peer name vb numrxqueues 4 "
        # vb has as many transmit queues as the least number of receive queues that a test sets on
        # va: a packet on a queue that va does not have causes a warning of the kernel.
        run("ip", "netns", "exec", NAME, *f"{pair}numtxqueues 2".split())
        for name in ("va", "vb", "lo"):
            run("ip", "-n", NAME, "link", "set", name, "up")
        yield NAME
    finally:
        run("ip", "netns", "del", NAME, ok=False)


@pytest.fixture
def nettop(netns: str, tmp_path: Path, warm: Warm) -> Iterator[Nettop]:
    yield Nettop(netns, tmp_path / "state", warm)
    end_guards(tmp_path / "state")
