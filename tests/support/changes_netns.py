"""Run nettop, and other programs, inside a network namespace with a veth pair."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hang import HANG, until
from warm import Warm, shared

from nettop.changes.journal import Journal, since_boot


def run(*words: str, ok: bool = True, env: Mapping[str, str] | None = None) -> str:
    """What a command prints."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=HANG, env=env)
    assert not ok or done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def python(netns: str, code: str, *words: str) -> str:
    """What Python code prints inside a namespace; nettop is imported already."""
    done = shared().run(["-c", code, *words], netns=netns)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


_TABLES = """
import json, sys
from nettop.frame.fields import values
from nettop.sampling.sampler import Sampler
from nettop.host.source import Live
frame = Sampler(Live()).take(sys.argv[1:])
assert not frame.missing, frame.missing
print(json.dumps({name: [values(row) for row in frame.rows(name)] for name in frame.tables}))
"""


def tables(netns: str, *names: str) -> dict[str, list[dict[str, Any]]]:
    """The tables of a frame inside a namespace."""
    found: dict[str, list[dict[str, Any]]] = json.loads(python(netns, _TABLES, *names))
    return found


class Nettop:
    """The command line inside the namespace, with its own journal; outside for an empty name."""

    def __init__(self, netns: str, state: Path, warm: Warm) -> None:
        self.netns, self.state, self.warm = netns, str(state), warm
        self.environment = {**os.environ, "NETTOP_STATE": self.state}
        self.environment.pop("SSH_CONNECTION", None)
        self.inside = ["ip", "netns", "exec", netns] if netns else []

    def start(self, *words: str, **more: Any) -> subprocess.Popen[str]:
        """Start Python with these words."""
        return subprocess.Popen(
            [*self.inside, sys.executable, *words],
            env=self.environment, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more,
        )  # fmt: skip

    def plain(self, *words: str) -> tuple[int, str, str]:
        """The exit code and what was printed on both streams."""
        done = self.warm.run(words, self.environment, netns=self.netns)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def __call__(self, *words: str, code: int = 0) -> list[dict[str, Any]]:
        ended, out, err = self.plain(*words, "--json")
        assert ended == code, (words, out, err)
        found = json.loads(out)
        changes: list[dict[str, Any]] = found.get("changes", [found])
        return changes

    def see(self, *words: str, ok: bool = True) -> str:
        return run(*self.inside, *words, ok=ok, env=self.environment)

    def expires(self) -> None:
        """The time to confirm ends now; return when all guards have ended."""
        expire(self.state)
        no_guard(self.state)


def end_guards(state: Path) -> None:
    """Stop the guards of a journal before its folder goes: they would take that for a loss."""
    guards = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"nettop.changes.guard" in words and os.fsencode(state) in words:
                os.kill(int(process.name), signal.SIGTERM)
                guards.append(process)
    until(lambda: not any(process.exists() for process in guards))


def mtu(nettop: Nettop) -> int:
    """The current MTU of va."""
    return int(nettop.see("cat", "/sys/class/net/va/mtu"))


def expire(folder: str | Path) -> None:
    """Set the deadline of the newest change to now: a guard reads it from the journal."""
    journal = Journal(str(folder))
    with journal.lock(HANG):
        newest = journal.entries()[-1]
        journal.note(newest.id, "armed", due=since_boot(), deadline=time.time())


def guards(folder: str | Path) -> list[int]:
    """The processes that guard changes of this journal."""
    found = []
    for one in Path("/proc").iterdir():
        try:
            words = (one / "cmdline").read_bytes().split(b"\0")
        except OSError:  # no process, or it has ended
            continue
        if b"nettop.changes.guard" in words and str(folder).encode() in words:
            found.append(int(one.name))
    return found


def no_guard(folder: str | Path) -> None:
    """Wait until nothing is left that could revert a change."""
    until(lambda: not guards(folder), "a guard outlives its work")
