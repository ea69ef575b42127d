"""A process forked by the server of the tests behaves as one that Python started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import warm as warm_module
from warm import CAPTURED, CLOSED, Warm

HOST = str(Path(__file__).parents[1] / "hosts/guest-transfer.host")


@pytest.mark.parametrize(
    "words",
    [
        ["--version"], ["advise", "--replay", HOST], ["show", "nic", "--once", "--replay", HOST],
        ["rules", "list", "--json"], ["no-such-command"], ["advise", "--no-such-option"],
    ],
)  # fmt: skip
def test_it_prints_and_ends_as_a_process_of_python(
    words: list[str], warm: Warm, tmp_path: Path
) -> None:
    line = [sys.executable, "-m", "nettop", *words]
    cold = subprocess.run(line, capture_output=True, check=False, cwd=tmp_path)
    done = warm.run(words, folder=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (
        cold.returncode, cold.stdout, cold.stderr,
    )  # fmt: skip


def test_it_has_the_environment_and_the_streams_that_it_is_given(
    warm: Warm, tmp_path: Path
) -> None:
    state = {**os.environ, "NETTOP_STATE": str(tmp_path / "a file")}
    (tmp_path / "a file").touch()
    done = warm.run(["journal"], state)
    assert str(tmp_path / "a file") in done.stderr.decode()
    out = tmp_path / "out"
    out.touch()
    assert warm.run(["--version"], streams=(CLOSED, str(out), CAPTURED)).stdout == b""
    assert out.read_text().startswith("nettop ")


def test_a_signal_is_its_end(warm: Warm) -> None:
    with open(os.devnull, "r+b") as null:
        streams = dict.fromkeys((0, 1, 2), null.fileno())
        process = warm.start(["watch", "--json"], streams)
        assert process.poll() is None
        os.kill(process.pid, 9)
        assert process.wait() == -9


def test_what_hangs_is_killed(warm: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_module, "HANGS", 0.1)
    assert warm.run(["watch", "--json"]).returncode == -9


def test_what_python_reads_at_its_start_cannot_differ(warm: Warm) -> None:
    with pytest.raises(AssertionError, match="LC_ALL"):
        warm.run(["--version"], {**os.environ, "LC_ALL": "C"})
