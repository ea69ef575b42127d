"""Run nettop in a process with little memory: code that grows with hostile input fails there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

GIB = 1 << 30
PROGRAM = (
    "import resource, sys\n"
    "resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)\n"
    "from nettop.cli import main\n"
    "sys.exit(main(sys.argv[2:]))\n"
)

SEVERAL = """
import contextlib, io, json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
from nettop.cli import main
done = []
for words in json.loads(sys.argv[2]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        with contextlib.redirect_stderr(io.StringIO()) as err:
            code = main(words)
    done.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(done))
"""


def limited(*words: str, home: Path, memory: int = GIB) -> subprocess.CompletedProcess[str]:
    """Run a command with `memory` bytes of address space and its own folders below `home`.

    The timeout is a hundred times the usual run time; it only ends a command that hangs.
    """
    return _run(PROGRAM, words, home, memory)


def _run(
    program: str, words: Sequence[str], home: Path, memory: int
) -> subprocess.CompletedProcess[str]:
    folders = {name: str(home / name) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    return subprocess.run(
        [sys.executable, "-c", program, str(memory), *words],
        env={**os.environ, **folders, "NETTOP_STATE": str(home / "NETTOP_STATE")},
        capture_output=True, text=True, errors="replace", timeout=120, check=False,
    )  # fmt: skip


def several(
    commands: Sequence[Sequence[str]], *, home: Path, memory: int = GIB
) -> list[tuple[int, str, str]]:
    """Run commands one after the other in one such process: exit code, stdout, stderr of each."""
    done = _run(SEVERAL, [json.dumps(commands)], home, memory)
    assert done.returncode == 0, done.stderr[-2000:]
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The one sentence with which it ended; its exit code must be 3."""
    assert done.returncode == 3, (done.returncode, done.stderr[-2000:])
    assert done.stderr.startswith("nettop: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    unclear = ("Traceback", "internal error", "MemoryError", "RecursionError")
    assert not any(word in done.stderr for word in unclear), done.stderr
    return done.stderr
