"""The tests of the lab can be collected in every topology, without its virtual machine."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.package
TESTS = Path(__file__).parents[1]
TOPOLOGIES = sorted(  # those of tests/lab/by_hand are of no test
    path.stem for path in (TESTS / "lab/topology").glob("*.toml")
    if not tomllib.loads(path.read_text()).get("by_hand")
)  # fmt: skip


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_every_topology_has_tests_and_no_test_is_without_a_case(topology: str) -> None:
    """A virtual machine needs minutes to show what a collection shows in seconds."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only",
         "tests/lab/inside"],
        cwd=TESTS.parent, env={**os.environ, "NETTOP_LAB": topology, "NETTOP_LAB_FULL": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_lab_" in done.stdout
