"""A hundred deaths by SIGKILL, in a process of their own; `model.py --runs 1000` does more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from hang import HANG


def test_nothing_is_lost_and_nothing_invented() -> None:
    model = Path(__file__).with_name("model.py")
    done = subprocess.run(
        [sys.executable, str(model), "--runs", "100", "--seed", "7"],
        capture_output=True, text=True, check=False, timeout=HANG,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    sums = json.loads(done.stdout)
    assert sums["runs"] == 100
    assert sums["open"] > 100, "the deaths came too early to prove anything"
    assert sums["cut"] >= 5, "no death fell between a write and its record"
