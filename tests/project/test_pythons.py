"""The wheel with its dependencies from the index, once on each supported Python that is here."""

import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hang import HANG

pytestmark = pytest.mark.package
OLDEST = (3, 11)
RULES = ("rules", "test")
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
HOME = Path(pwd.getpwuid(os.getuid()).pw_dir)  # not that of the tests


def pythons() -> Iterator[tuple[str, str]]:
    """Version and program of each Python that is new enough: of the system, by name, of pyenv."""
    named = [f"python3.{minor}" for minor in range(OLDEST[1], 20)]
    found = [shutil.which(name) for name in ("/usr/bin/python3", *named)]
    found += sorted(map(str, HOME.glob(".pyenv/versions/3.*/bin/python")))
    known = set()
    for path in (sys.executable, *filter(None, found)):
        words = [path, "-c", "import sys, venv; print(*sys.version_info[:3], sep='.')"]
        version = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
        minor = tuple(map(int, version.split(".")[:2])) if version else ()
        if minor >= OLDEST and minor not in known:
            known.add(minor)
            yield version, path


def test_the_wheel_works(wheel: Path, tmp_path: Path) -> None:
    for version, python in pythons():
        where = tmp_path / version
        for words in (
            [python, "-m", "venv", "--without-pip", str(where)],
            [*PIP, "--python", str(where), "install", "--quiet", str(wheel)],
            [str(where / "bin/nettop"), *RULES],
            [str(where / "bin/nettop"), "advise", "--seconds", "1", "--fail-on", "never"],
        ):
            done = subprocess.run(
                words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=HANG
            )
            assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])
            if words[-2:] == [*RULES]:
                assert re.match(r"\d+ rules, 0 wrong, \d{3,} tests, 0 failed", done.stdout)
