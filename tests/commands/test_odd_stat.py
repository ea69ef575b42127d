"""A /proc/stat without an end, or without its rows: one sentence, and no command hangs in it."""

import os
import subprocess
import sys

import pytest
from hang import HANG

pytestmark = pytest.mark.needs("root")
TEST = ["test", "bulk", "--to", "127.0.0.1", "--seconds", "1"]
ADVISE = ["advise", "--seconds", "0.2", "--no-deep"]


@pytest.mark.parametrize(
    ("instead", "words", "told"),
    [
        ("/dev/full", ADVISE, "cpu: not a regular file: /proc/stat"),
        ("/dev/full", TEST, "not a regular file: /proc/stat"),
        ("/dev/null", ADVISE, "the load of the CPUs could not be read"),
        ("/dev/null", TEST, "the time of the boot is not there: /proc/stat"),
        ("huge", TEST, "more than 16 MiB, the bound of other files of the host"),
    ],
)
def test_it_is_said(tmp_path_factory: pytest.TempPathFactory, instead: str, words: list[str],
                    told: str) -> None:  # fmt: skip
    if instead == "huge":
        path = tmp_path_factory.mktemp("stat") / "stat"
        path.touch()
        os.truncate(path, 1 << 40)
        instead = str(path)
    # psutil is imported where the environment does not have the SSH session
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SSH_C")}
    mounts = f'mount --bind {instead} /proc/stat && exec "$@"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", mounts, "sh", sys.executable, "-m", "nettop", *words],
        env=environment, capture_output=True, text=True, check=False, timeout=HANG,
    )  # fmt: skip
    assert (done.returncode, "Traceback" in done.stderr) == (3, False), done.stderr
    assert told in done.stdout + done.stderr
