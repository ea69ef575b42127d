"""Too little memory, or too few open files: one sentence and exit code 3, wherever it runs out."""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hang import HANG

import nettop
from nettop import __main__ as program
from nettop import cli, commands, scarce

HOST = str(Path(__file__).parents[1] / "hosts/guest-idle.host")
KIB = 1024
MEMORY, FILES = (f"nettop: {why}\n".encode() for why in (nettop.MEMORY, nettop.FILES))
ERRORS = [
    MemoryError(),
    SystemError("error return without exception set"),
    ImportError("/x/unicodedata.so: failed to map segment from shared object"),
    OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), "/x"),
    RuntimeError("can't start new thread"),
    OSError(errno.EMFILE, os.strerror(errno.EMFILE), "/x"),
]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("place", ["start", "command", "cleanup"])
def test_an_error_of_memory_is_one_sentence(
    error: Exception, place: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def run(*_: object) -> int:
        if place != "cleanup":
            raise error
        try:
            raise error
        finally:
            raise ValueError("while cleaning up")

    owner, name = (cli, "main") if place == "start" else (commands, "run")
    monkeypatch.setattr(owner, name, run)
    monkeypatch.setattr("nettop.files.streams.adopt", lambda: None)
    monkeypatch.setattr(sys, "argv", ["nettop", "schema"])
    assert program.main() == 3
    said = FILES if error.args[:1] == (errno.EMFILE,) else MEMORY
    assert capfd.readouterr().err.encode() == said


def test_another_error_is_still_one() -> None:
    assert not scarce(ImportError("cannot import name 'x'"))
    assert not scarce(OSError(errno.EIO, "I/O error"))


@pytest.mark.parametrize("more", [4_000, 12_000, 20_000])
@pytest.mark.parametrize("words", [["advise", "--replay", HOST], ["journal"], ["schema"]])
def test_too_low_a_limit_of_the_shell_is_one_sentence(words: list[str], more: int) -> None:
    least = 10_000
    while _limited(least, "-c", "import runpy, resource").returncode:  # of this Python itself
        least += 1000
    done = _limited(least + more, "-m", "nettop", *words)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"", MEMORY)


@pytest.mark.parametrize("most", [8, 12, 16, 20])
def test_too_few_open_files_are_one_sentence(most: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nettop", "advise", "--seconds", "0.2", "--no-deep"],
        capture_output=True, timeout=HANG, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (3, FILES)


def _limited(kib: int, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *words], capture_output=True, timeout=HANG, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (kib * KIB, kib * KIB)),
    )  # fmt: skip
