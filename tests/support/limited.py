"""Run nettop in a process with little memory: code that grows with hostile input fails there."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from warm import Warm

GIB = 1 << 30
Limited: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]


def limits(warm: Warm, home: Path) -> Limited:
    """Runs a command with `memory` bytes of address space and its own folders below `folders`."""
    names = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "NETTOP_STATE")

    def run(
        *words: str, memory: int = GIB, folders: Path = home
    ) -> subprocess.CompletedProcess[str]:
        own = {name: str(folders / name) for name in names}
        done = warm.run(words, {**os.environ, **own}, memory=memory)
        out, err = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
        return subprocess.CompletedProcess(words, done.returncode, out, err)

    return run


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The one sentence with which it ended; its exit code must be 3."""
    assert done.returncode == 3, (done.returncode, done.stderr[-2000:])
    assert done.stderr.startswith("nettop: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    unclear = ("Traceback", "internal error", "MemoryError", "RecursionError")
    assert not any(word in done.stderr for word in unclear), done.stderr
    return done.stderr
