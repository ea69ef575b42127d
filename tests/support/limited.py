"""Run nettop in a process with little memory: code that grows with hostile input fails there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

GIB = 1 << 30
PROGRAM = (
    "import resource, sys\n"
    "resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)\n"
    "from nettop.cli import main\n"
    "sys.exit(main(sys.argv[2:]))\n"
)


def limited(*words: str, home: Path, memory: int = GIB) -> subprocess.CompletedProcess[str]:
    """Run a command with `memory` bytes of address space and its own folders below `home`.

    The timeout is a hundred times the usual run time; it only ends a command that hangs.
    """
    folders = {name: str(home / name) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(memory), *words],
        env={**os.environ, **folders, "NETTOP_STATE": str(home / "NETTOP_STATE")},
        capture_output=True, text=True, errors="replace", timeout=120, check=False,
    )  # fmt: skip


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The one sentence with which it ended; its exit code must be 3."""
    assert done.returncode == 3, (done.returncode, done.stderr[-2000:])
    assert done.stderr.startswith("nettop: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    unclear = ("Traceback", "internal error", "MemoryError", "RecursionError")
    assert not any(word in done.stderr for word in unclear), done.stderr
    return done.stderr
