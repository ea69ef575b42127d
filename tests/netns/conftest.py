"""A namespace with a veth pair, and nettop in it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from changes_netns import Nettop, end_guards, run
from warm import Warm


@pytest.fixture(scope="module")
def netns() -> Iterator[str]:
    name = f"nt-changes-{os.getpid()}"
    run("ip", "netns", "add", name)
    try:
        pair = "ip link add va numrxqueues 4 numtxqueues 4 type veth peer name vb numrxqueues 4 "
        # vb has as many transmit queues as the least number of receive queues that a test sets on
        # va: a packet on a queue that va does not have causes a warning of the kernel.
        run("ip", "netns", "exec", name, *f"{pair}numtxqueues 2".split())
        for device in ("va", "vb", "lo"):
            run("ip", "-n", name, "link", "set", device, "up")
        yield name
    finally:
        run("ip", "netns", "del", name, ok=False)


@pytest.fixture
def nettop(netns: str, tmp_path: Path, warm: Warm) -> Iterator[Nettop]:
    yield Nettop(netns, tmp_path / "state", warm)
    end_guards(tmp_path / "state")
