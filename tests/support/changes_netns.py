"""Run nettop, and other programs, inside a network namespace with a veth pair."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from warm import Warm

NAME = f"nt-changes-{os.getpid()}"


def run(*words: str, ok: bool = True) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert not ok or done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


class Nettop:
    """The command line inside the namespace, with its own journal."""

    def __init__(self, netns: str, state: Path, warm: Warm | None = None) -> None:
        """With `warm`, a command that is waited for starts without the imports."""
        self.netns = netns
        self.warm = warm
        self.environment = {**os.environ, "NETTOP_STATE": str(state)}
        self.environment.pop("SSH_CONNECTION", None)
        self.inside = ["ip", "netns", "exec", netns]

    def start(self, *words: str, **more: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.inside, sys.executable, "-m", "nettop", *words],
            env=self.environment, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more,
        )  # fmt: skip

    def __call__(self, *words: str, code: int = 0) -> list[dict[str, Any]]:
        words = (*words, "--json")
        if self.warm is None:
            process = self.start(*words)
            out, err = process.communicate(timeout=60)
            ended = process.returncode
        else:
            done = self.warm.run(words, self.environment, netns=self.netns)
            ended, out, err = done.returncode, done.stdout.decode(), done.stderr.decode()
        assert ended == code, (words, out, err)
        changes: list[dict[str, Any]] = json.loads(out).get("changes", [json.loads(out)])
        return changes

    def see(self, *words: str) -> str:
        return run(*self.inside, *words)


def end_guards(state: Path) -> None:
    """Stop the guards of a journal before its folder goes: they would take that for a loss."""
    guards = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"nettop.changes.guard" in words and os.fsencode(state) in words:
                os.kill(int(process.name), signal.SIGTERM)
                guards.append(process)
    until(lambda: not any(process.exists() for process in guards), 60)


def mtu(nettop: Nettop) -> int:
    """The current MTU of va."""
    return int(nettop.see("cat", "/sys/class/net/va/mtu"))


def until(true: Callable[[], bool], seconds: float) -> float:
    """Wait until it is true; returns the seconds that this took."""
    start = time.monotonic()
    while not true():
        assert time.monotonic() - start < seconds, "it took too long"
        time.sleep(0.02)
    return time.monotonic() - start
