"""A death by SIGKILL at each step, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hang import HANG


@pytest.mark.parametrize(
    ("seed", "steps"),
    [(7, 30), *(pytest.param(seed, 300, marks=pytest.mark.nightly) for seed in range(1, 4))],
)
def test_nothing_is_lost_and_nothing_invented(seed: int, steps: int) -> None:
    model = Path(__file__).with_name("model.py")
    done = subprocess.run(
        [sys.executable, str(model), "--steps", str(steps), "--seed", str(seed)],
        capture_output=True, text=True, check=False, timeout=HANG,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    sums = json.loads(done.stdout)
    assert sums["open"] > sums["cut"] > 0, "no death fell between a write and its record"
    assert sums["torn"] > 0, "no death fell into a line of the journal"
