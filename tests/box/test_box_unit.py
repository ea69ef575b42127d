"""The systemd service of the box: what systemd says of it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hang import HANG

from nettop.cli import main
from nettop.host import systemd


@pytest.fixture
def service(tmp_path: Path) -> Path:
    program = shutil.which("true")
    assert program
    path = tmp_path / "nettop-box.service"
    path.write_text(systemd.box_unit([program], ["--size", "5e+07", "--on", "a '100%' $b"]))
    return path


@pytest.mark.needs("systemd-analyze")
def test_systemd_accepts_it(service: Path) -> None:
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", service], capture_output=True, text=True,
        timeout=HANG, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.needs("systemd-analyze")
def test_its_exposure_is_low(service: Path) -> None:
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", service],
        capture_output=True, text=True, timeout=HANG, check=False,
    )  # fmt: skip
    level = re.search(r"Overall exposure level .*: ([\d.]+)", done.stdout)
    assert level, done.stderr
    assert float(level[1]) <= 2.5


def test_it_runs_watch_with_the_options_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "--unit", "--size", "50M", "--before", "1m", "--on", "warning"]) == 0
    out = capsys.readouterr().out
    (line,) = (one for one in out.splitlines() if one.startswith("ExecStart="))
    assert re.fullmatch(
        r"ExecStart=/.+ watch --fail-on never --before 60 --size 52428800 --on warning "
        r"--box \$\{STATE_DIRECTORY\}", line,
    )  # fmt: skip


def test_a_place_that_the_service_cannot_reach_is_named() -> None:
    assert systemd.hidden(["/home/anna/bin/nettop"]) == "/home/anna/bin/nettop"
    assert systemd.hidden(["/usr/bin/nettop"]) in ("", os.path.realpath(sys.executable))


def test_a_condition_that_is_wrong_makes_no_service(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "--unit", "--on", "nonsense"]) == 2
    assert capsys.readouterr().out == ""
