"""Behind a prefix without Python, the helpers of a test run in the Python of the one file there."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from nettop.host import prefix
from nettop.trials import run as runner
from nettop.trials.peer import Absent
from nettop.trials.result import Options

FILE = f'#!/bin/sh\nshift; exec {sys.executable} -I -S -u -c "$@"\n'


def bare(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Options:
    """A test between this host and one whose programs are in the folder."""
    monkeypatch.setattr(prefix, "FILES", set())
    monkeypatch.setattr(prefix, "_FILE", prefix._FILE.replace(prefix.ROOTS, f"{folder}/none"))
    for name in ("sh", "id"):
        (folder / name).symlink_to(str(shutil.which(name)))
    to = "127.0.0.1"
    return Options(to, f"env PATH={folder}", seconds=0.2, warmup=0.0, rate=1e7, no_ends=True)


def test_the_file_there_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = bare(tmp_path, monkeypatch)
    (tmp_path / "nettop").write_text(FILE)
    (tmp_path / "nettop").chmod(0o755)
    assert runner.run("bulk", options).bits_per_second
    assert {("env", f"PATH={tmp_path}")} == prefix.FILES


def test_without_it_python_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Absent, match="python3 is not installed at env"):
        runner.run("bulk", bare(tmp_path, monkeypatch))
