"""Random sequences on one device of a real kernel, with real guards, against a simple model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
]
NAME = f"nt-chain-{os.getpid()}"
MODEL = Path(__file__).parents[1] / "faults/chain_model.py"
SETTINGS = "link.mtu=1400,1300,9000 link.txqueuelen=500,2000 napi.defer-hard-irqs=1,2".split()


def run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def netns() -> Iterator[str]:
    run("ip", "netns", "add", NAME)
    try:
        run("ip", "-n", NAME, *"link add va type veth peer name vb".split())
        for name in ("va", "vb"):
            run("ip", "-n", NAME, "link", "set", name, "up")
        yield NAME
    finally:
        run("ip", "netns", "del", NAME)


@pytest.mark.parametrize("seed", range(101, 105))
def test_whatever_is_done_the_device_is_as_the_model_says(netns: str, seed: int) -> None:
    words = ["ip", "netns", "exec", netns, sys.executable, str(MODEL), "va", *SETTINGS]
    done = subprocess.run(
        [*words, "--seed", str(seed), "--steps", "16"], capture_output=True, text=True,
        check=False, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    moves = json.loads(done.stdout)
    assert moves.get("set", 0) + moves.get("expire", 0) >= 4, moves
