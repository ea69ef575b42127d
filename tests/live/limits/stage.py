"""Limits made on purpose between two network namespaces; each is known by construction."""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from hang import until
from live.limits.looks import looks
from live.limits.programs import LINK, READ, WRITE

# addresses of `there` over the veth pair and over the slow link, and loopback
NEAR, SLOW, LOCAL = "10.94.0.2", "10.95.0.2", "127.0.0.1"
NEAR6 = "fd94::2"  # over the veth pair


class Stage:
    """Two namespaces joined by a veth pair, and by a slow link where asked; processes in them."""

    def __init__(self, name: str) -> None:
        self.here, self.there, self.middle = (
            f"nt-{name}-{secrets.token_hex(3)}{end}" for end in ("a", "b", "m")
        )
        self.held = ExitStack()
        self.near: subprocess.Popen[str] | None = None
        self.far: subprocess.Popen[str] | None = None
        self.lift: Callable[[], object] | None = None  # takes the limit away
        folder = self.folder = self.held.enter_context(tempfile.TemporaryDirectory(dir="/var/tmp"))
        self.lost = Path(folder) / "lost"  # by the link: the number of packets, eight bytes

    def __enter__(self) -> Self:
        for space in (self.here, self.there):
            _run("ip", "netns", "add", space)
            self.held.callback(_run, "ip", "netns", "del", space, ok=False)
        _run(*f"ip link add eth0 netns {self.here} type veth peer eth0 netns {self.there}".split())
        for space, address in ((self.here, "10.94.0.1"), (self.there, "10.94.0.2")):
            _run("ip", "-n", space, "addr", "add", f"{address}/24", "dev", "eth0")
            six = f"fd94::{address[-1]}/64"
            _run("ip", "-n", space, "addr", "add", six, "dev", "eth0", "nodad")
            for device in ("lo", "eth0"):
                _run("ip", "-n", space, "link", "set", device, "up")
        return self

    def __exit__(self, *_: object) -> None:
        self.held.close()

    def inside(self, space: str, *words: str) -> list[str]:
        return ["nsenter", f"--net=/run/netns/{space}", *words]

    def tc(self, words: str, space: str = "") -> None:
        _run("tc", "-n", space or self.here, *words.split())

    def sysctl(self, space: str, name: str, value: str) -> None:
        _run(*self.inside(space, "sysctl", "-w", f"{name}={value}"))

    def run(self, space: str, command: str) -> None:
        """A command of the shell, in a namespace with its own /sys."""
        _run("ip", "netns", "exec", space, "sh", "-c", command)

    def link(self, delay: float, *options: str) -> None:
        """A link with a delay (seconds, each way) and the options of `LINK`."""
        self.lost.write_bytes(bytes(8))
        self._start(sys.executable, "-c", LINK, self.here, self.there, f"{self.lost}",
                    f"delay={delay}", *options, ready=True)  # fmt: skip
        for space, address in ((self.here, "10.95.0.1"), (self.there, "10.95.0.2")):
            _run("ip", "-n", space, "addr", "add", f"{address}/24", "dev", "tun0")
            _run("ip", "-n", space, "link", "set", "tun0", "up", "txqueuelen", "5000")

    def chain(self) -> None:
        """A router between both: `here` reaches 10.97.0.2 of `there` by way of `middle`."""
        _run("ip", "netns", "add", self.middle)
        self.held.callback(_run, "ip", "netns", "del", self.middle, ok=False)
        self.sysctl(self.middle, "net.ipv4.ip_forward", "1")
        for space, number, device in ((self.here, 96, "left"), (self.there, 97, "right")):
            _run(*f"ip link add {device} netns {self.middle} type veth peer {device} "
                 f"netns {space}".split())  # fmt: skip
            for end, host in ((self.middle, 1), (space, 2)):
                _run("ip", "-n", end, "addr", "add", f"10.{number}.0.{host}/24", "dev", device)
                _run("ip", "-n", end, "link", "set", device, "up")
            _run("ip", "-n", space, "route", "add", "10.96.0.0/15", "via", f"10.{number}.0.1")

    def reader(
        self, *options: str, space: str = "", cpu: int | None = None
    ) -> subprocess.Popen[str]:
        words = (*_pinned(cpu), sys.executable, "-c", READ, "7300", *options)
        self.far = self._start(*self.inside(space or self.there, *words), ready=True)
        return self.far

    def writer(
        self, *options: str, to: str = NEAR, cpu: int | None = None
    ) -> subprocess.Popen[str]:
        words = (*_pinned(cpu), sys.executable, "-c", WRITE, to, "7300", *options)
        self.near = self._start(*self.inside(self.here, *words))
        return self.near

    def flood(self, port: str, *options: str) -> None:
        """Datagrams to a port of `there` at which nobody listens."""
        self._start(*self.inside(self.here, sys.executable, "-c", WRITE, NEAR, port, *options))

    def measured(self, seconds: float = 2.0) -> float:
        """The rate that leaves `here`, in bit/s, after a moment in which windows grow."""
        time.sleep(1.5)
        sent, began = self._sent(), time.monotonic()
        time.sleep(seconds)
        return 8 * (self._sent() - sent) / (time.monotonic() - began)

    def _sent(self) -> int:
        words = ("ip", "-s", "-j", "-n", self.here, "link", "show", "eth0")
        done = subprocess.run(words, check=True, capture_output=True)
        return int(json.loads(done.stdout)[0]["stats64"]["tx"]["bytes"])

    def again(self, *options: str) -> None:
        """A reader and a writer in place of those that run."""
        for process in (self.near, self.far):
            if process is not None:
                process.kill()
                process.wait()
        self.reader()
        self.writer(*options)

    def listens(self, space: str, port: int) -> None:
        """Wait until a program of a namespace listens at that port."""
        words = self.inside(space, "ss", "-Htln", f"sport = {port}")
        until(lambda: subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)

    def shell(self, space: str, command: str) -> subprocess.Popen[str]:
        """A pipeline of the shell in a namespace, which ends as a whole."""
        process = subprocess.Popen(
            self.inside(space, "sh", "-c", command), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip
        self.held.callback(_end_all, process)
        return process

    def cgroup(self, controller: str, name: str, value: str) -> Path:
        """A cgroup of v1 with that value, which is removed; RuntimeError where it cannot be made.

        A process joins it by writing to its `cgroup.procs`.
        """
        folder = Path(f"/sys/fs/cgroup/{controller}/feed{secrets.token_hex(3)}")
        try:
            folder.mkdir()
            self.held.callback(_remove, folder)
            (folder / name).write_text(value)
        except OSError as error:
            raise RuntimeError(f"no cgroup: {error}") from error
        return folder

    def neighbour(self, cpu: int) -> None:
        """A program that keeps a CPU busy."""
        self._start("taskset", "-c", f"{cpu}", sys.executable, "-c", "while True: pass")

    def duty(self, process: subprocess.Popen[str], run: float, stop: float) -> None:
        """Let a process run and stop in turns, until this is lifted."""
        turns = self._start(
            "sh", "-c",
            f"while kill -CONT {process.pid}; do sleep {run}; kill -STOP {process.pid}; "
            f"sleep {stop}; done",
        )  # fmt: skip

        def lift() -> None:
            _end(turns)
            process.send_signal(signal.SIGCONT)

        self.lift = lift

    def quota(self, process: subprocess.Popen[str], cpus: float) -> bool:
        """Give a process that part of a CPU by its cgroup; False where no cgroup can be made."""
        name = f"why{process.pid}"
        old, new = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
        folder = (old if old.is_dir() else new) / name
        try:
            folder.mkdir()
            self.held.callback(_remove, folder)
            file = folder / ("cpu.cfs_quota_us" if old.is_dir() else "cpu.max")
            file.write_text(f"{int(cpus * 100_000)}")
            (folder / "cgroup.procs").write_text(f"{process.pid}")
        except OSError:
            return False
        self.lift = lambda: file.write_text("-1" if old.is_dir() else "max")
        return True

    def lifted(self, process: subprocess.Popen[str]) -> None:
        """Let SIGUSR1 remove what slows this writer or reader: see programs.py."""
        self.lift = lambda: process.send_signal(signal.SIGUSR1)

    def looks(
        self, count: int, to: str, *, sending: bool = True, seconds: float = 2.0
    ) -> list[dict[str, Any] | None]:
        """The verdicts of so many looks by one process; None where nothing limits."""
        space = self.here if sending or to == LOCAL else self.there
        address = f"{to}:7300" if "." in to else f"[{to}]:7300"
        direction = "tx" if sending else "rx"
        return [
            next((one for one in found if one["direction"] == direction), None)
            for found in looks(space, count, seconds, address)
        ]

    def _start(self, *words: str, ready: bool = False) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE if ready else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.held.callback(_end, process)
        if ready and process.stdout is not None:
            assert process.stdout.readline() == "ready\n", words
        return process


def _pinned(cpu: int | None) -> tuple[str, ...]:
    return () if cpu is None else ("taskset", "-c", f"{cpu}")


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _end_all(process: subprocess.Popen[str]) -> None:
    """End it with what it started; a process that leaves a throttled device takes a moment."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _remove(folder: Path) -> None:
    """Remove a cgroup; the processes in it go back to the one above."""
    for pid in (folder / "cgroup.procs").read_text().split():
        (folder.parent / "cgroup.procs").write_text(pid)
    until(lambda: not (folder / "cgroup.procs").read_text())
    folder.rmdir()


def _run(*words: str, ok: bool = True) -> None:
    subprocess.run(words, check=ok, capture_output=True)
