"""Where a scenario happens: this end and the other, and how to run commands at both."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

LOADS = Path(__file__).parent / "loads.py"
SERVERS = frozenset(
    ("deaf", "drain", "slow-reader", "not-accepting", "out-of-files", "echo", "streams")
)
PATIENCE = 15.0  # seconds: Python takes that long to start in a guest that is busy


@dataclass(frozen=True)
class Place:
    """Two ends. `here` and `there` are the words that lead to each; `names` fills `{nic}` …"""

    here: tuple[str, ...]
    there: tuple[str, ...]
    names: Mapping[str, str]

    def words(self, command: str) -> list[str]:
        """`here ethtool -K {nic} tso off` as the words to start."""
        end, *rest = shlex.split(command.format(**self.names, loads=f"{sys.executable} {LOADS}"))
        return [*{"here": self.here, "there": self.there}[end], *rest]

    def do(self, command: str) -> str:
        """Run to the end; what it printed. CalledProcessError when it fails."""
        return subprocess.run(
            self.words(command), check=True, capture_output=True, text=True, timeout=120
        ).stdout

    @contextlib.contextmanager
    def running(self, commands: list[str], settle: float) -> Iterator[None]:
        """Commands that run meanwhile, each with what it started; ended afterwards."""
        started = []
        try:
            for command in commands:
                started.append(
                    subprocess.Popen(
                        self.words(command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL, start_new_session=True,
                    )
                )  # fmt: skip
                self._ready(command)
            time.sleep(settle)
            yield
        finally:
            for process in started:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _ready(self, command: str) -> None:
        """Wait until a server listens; what sends needs no waiting for, `settle` is its time."""
        end, *words = shlex.split(command.format(**self.names, loads="loads"))
        port = served(words)
        deadline = time.monotonic() + PATIENCE
        asked = [*{"here": self.here, "there": self.there}[end], "ss", "-Hlntu", f"sport = :{port}"]
        while port and time.monotonic() < deadline and not subprocess.check_output(asked):
            time.sleep(0.05)


def served(words: list[str]) -> str:
    """The port on which a command waits for others; "" for one that does not wait."""
    if "iperf3" in words:
        return "5201" if "-s" in words else ""
    kind, *rest = words[words.index("loads") + 1 :] if "loads" in words else [""]
    return rest[0] if kind in SERVERS else ""


@contextlib.contextmanager
def namespaces(queues: int = 1) -> Iterator[Place]:
    """Two namespaces of our own joined by a veth, thrown away afterwards."""
    name = f"nt-clinic-{os.getpid()}"
    ends = (f"{name}-a", f"{name}-b")
    try:
        for space in ends:
            _ip("netns", "add", space)
        of = ["numrxqueues", str(queues), "numtxqueues", str(queues)]
        _ip("link", "add", "eth0", "netns", ends[0], *of, "type", "veth",
            "peer", "name", "eth0", "netns", ends[1], *of)  # fmt: skip
        for space, number in zip(ends, (1, 2), strict=True):
            _ip("-n", space, "addr", "add", f"10.94.0.{number}/24", "dev", "eth0")
            _ip("-n", space, "link", "set", "eth0", "up")
            _ip("-n", space, "link", "set", "lo", "up")
        here, there = (("ip", "netns", "exec", space) for space in ends)
        yield Place(here, there, {"nic": "eth0", "address": "10.94.0.1", "peer": "10.94.0.2"})
    finally:
        for space in ends:
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)


def guest(driver: str) -> Place:
    """The lab's virtual machine, one of its pairs; the other end is the namespace `peer`."""
    told = {
        word: os.environ[f"LAB_{driver.upper()}{ending}"]
        for word, ending in (("nic", ""), ("far", "_PEER"), ("peer", "_TO"), ("address", "_HERE"))
    }
    told["mac"] = Path(f"/sys/class/net/{told['nic']}/address").read_text().strip()
    return Place((), ("ip", "netns", "exec", "peer"), told)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
