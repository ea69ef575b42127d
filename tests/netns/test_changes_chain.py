"""Random sequences on one device of a real kernel, with real guards, against a simple model."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from changes_netns import python, run

pytestmark = pytest.mark.netns
NAME = f"nt-chain-{os.getpid()}"
MODEL = Path(__file__).parents[1] / "faults/chain_model.py"
PLAY = "import runpy, sys; sys.argv.pop(0); runpy.run_path(sys.argv[0], run_name='__main__')"
SETTINGS = "link.mtu=1400,1300,9000 link.txqueuelen=500,2000 napi.defer-hard-irqs=1,2".split()


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
    more = (str(MODEL), "va", *SETTINGS, "--seed", str(seed), "--steps", "16")
    moves = json.loads(python(netns, PLAY, *more))
    assert moves.get("set", 0) + moves.get("expire", 0) >= 4, moves
