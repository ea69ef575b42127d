"""Where a case is played: this end and the other, and how to run commands at both."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from live.programs.run import RUN, kinds
from live.programs.shared import SERVERS

PROGRAM = f"{sys.executable} {RUN}"  # what `{run}` of a command is
PATIENCE = 15.0  # seconds: Python takes that long to start in a guest that is busy


@dataclass(frozen=True)
class Place:
    """Two ends. `here` and `there` are the words that lead to each; `names` fills `{nic}` …

    `middle` leads to the router between both, where there is one.
    """

    here: tuple[str, ...]
    there: tuple[str, ...]
    names: Mapping[str, str]
    middle: tuple[str, ...] = ()

    def words(self, command: str) -> list[str]:
        """`here ethtool -K {nic} tso off` as the words to start."""
        end, *rest = shlex.split(command.format(**self.names, run=PROGRAM))
        return [*self._end(end), *rest]

    def _end(self, end: str) -> tuple[str, ...]:
        return {"here": self.here, "there": self.there, "middle": self.middle}[end]

    def do(self, command: str) -> str:
        """Run to the end; what it printed. CalledProcessError when it fails."""
        return subprocess.run(
            self.words(command), check=True, capture_output=True, text=True, timeout=120
        ).stdout

    @contextlib.contextmanager
    def running(self, commands: list[str], settle: float) -> Iterator[None]:
        """Commands that run meanwhile, each with what it started; ended afterwards.

        RuntimeError: one has failed before the host is looked at.
        """
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
            for command, process in zip(commands, started, strict=True):
                if process.poll():
                    raise RuntimeError(f"{command}: exit code {process.returncode}")
            yield
        finally:
            for process in started:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _ready(self, command: str) -> None:
        """Wait until a server listens; what sends needs no waiting for, `settle` is its time."""
        end, *words = shlex.split(command.format(**self.names, run="{run}"))
        port = served(words)
        deadline = time.monotonic() + PATIENCE
        asked = [*self._end(end), "ss", "-Hlntu", f"sport = :{port}"]
        while port and time.monotonic() < deadline and not subprocess.check_output(asked):
            time.sleep(0.05)


def served(words: list[str]) -> str:
    """The port on which a command waits for others; "" for one that does not wait."""
    if "iperf3" in words:
        return "5201" if "-s" in words else ""
    if "{run}" not in words:
        return ""
    kind, *rest = words[-words[::-1].index("{run}") :]  # the last: one may start another
    kinds()
    return rest[0] if kind in SERVERS else ""


@contextlib.contextmanager
def namespaces(queues: int = 1, *, router: bool = False) -> Iterator[Place]:
    """Two namespaces of our own joined by a veth, thrown away afterwards.

    With `router`, `here` reaches `{behind}` of `there` by way of a third: `left` and `right` there.
    """
    name = f"nt-live-{threading.get_native_id()}"  # some threads have a host each
    spaces = (f"{name}-a", f"{name}-b", *([f"{name}-m"] if router else []))
    try:
        for space in spaces:
            _ip("netns", "add", space)
            _ip("-n", space, "link", "set", "lo", "up")
        of = ["numrxqueues", str(queues), "numtxqueues", str(queues)]
        _ip("link", "add", "eth0", "netns", spaces[0], *of, "type", "veth",
            "peer", "name", "eth0", "netns", spaces[1], *of)  # fmt: skip
        for space, number in zip(spaces, (1, 2), strict=False):
            _address(space, "eth0", f"10.94.0.{number}/24", f"fd94::{number}/64")
        if router:
            _route(spaces)
        here, there, *middle = (("ip", "netns", "exec", space) for space in spaces)
        names = {"nic": "eth0", "address": "10.94.0.1", "peer": "10.94.0.2", "behind": "10.97.0.2",
                 "address6": "fd94::1", "peer6": "fd94::2", "behind6": "fd97::2",
                 "spaces": " ".join(spaces[:2])}  # fmt: skip
        yield Place(here, there, names, *middle)
    finally:
        for space in spaces:
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)


def _route(spaces: tuple[str, ...]) -> None:
    """The third namespace forwards between `left` of the first and `right` of the second."""
    for name in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
        words = ["ip", "netns", "exec", spaces[2], "sysctl", "-qw", f"{name}=1"]
        subprocess.run(words, check=True, capture_output=True)
    for space, number, device, other in ((spaces[0], 96, "left", 97), (spaces[1], 97, "right", 96)):
        _ip("link", "add", device, "netns", spaces[2], "type", "veth",
            "peer", "name", device, "netns", space)  # fmt: skip
        for end, host in ((spaces[2], 1), (space, 2)):
            _address(end, device, f"10.{number}.0.{host}/24", f"fd{number}::{host}/64")
        _ip("-n", space, "route", "add", f"10.{other}.0.0/24", "via", f"10.{number}.0.1")
        _ip("-n", space, "-6", "route", "add", f"fd{other}::/64", "via", f"fd{number}::1")


def _address(space: str, device: str, four: str, six: str) -> None:
    _ip("-n", space, "addr", "add", four, "dev", device)
    _ip("-n", space, "addr", "add", six, "dev", device, "nodad")
    _ip("-n", space, "link", "set", device, "up")


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
