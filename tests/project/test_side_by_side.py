"""`pytest -n`: each test is played once, and its report is that of one process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
CONFTEST = f"""
import os, sys
sys.path.append({str(SUPPORT)!r})
import side_by_side
pytest_addoption = side_by_side.option
def pytest_runtestloop(session):
    settle = lambda number: os.environ.update(OWN=str(number))
    return side_by_side.play(session, lambda: os.environ.update(ALL="here"), settle)
"""
FILES = {
    "one": "import os\ndef test_own(): assert (os.environ['ALL'], os.environ['OWN'] in '01')",
    "two": "def test_wrong(): print('was said'); assert 1 == 2\ndef test_then(tmp_path): pass",
    "three": "import pytest\ndef test_left_out(): pytest.skip('why')",
}


def played(folder: Path, **files: str) -> str:
    (folder / "conftest.py").write_text(CONFTEST)
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    words = ["-p", "no:xdist", "-p", "no:hypothesispytest", "-p", "no:asyncio", "-c", "/dev/null"]
    words += ["--rootdir", str(folder), "-rs", "-n", "2", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    return done.stdout


def test_every_report_comes_back(tmp_path: Path) -> None:
    told = played(tmp_path, **FILES)
    assert "1 failed, 2 passed, 1 skipped" in told
    for part in ("assert 1 == 2", "was said", "why"):
        assert part in told


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_a_test_that_ends_its_process_is_named(end: str, tmp_path: Path) -> None:
    told = played(tmp_path, **FILES | {"two": f"import os\ndef test_ends(): {end}"})
    assert "test_two.py::test_ends: its process has ended" in told
