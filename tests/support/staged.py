"""Limits made on purpose between two network namespaces; each is known by construction."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

WRITE = """
import socket, sys, time
options = dict(word.split("=") for word in sys.argv[3:])
door = socket.socket()
for name, option in (("sndbuf", socket.SO_SNDBUF), ("pace", 47)):
    if name in options:
        door.setsockopt(socket.SOL_SOCKET, option, int(options[name]))
door.connect((sys.argv[1], int(sys.argv[2])))
piece, pause = b"x" * int(options.get("size", 131072)), float(options.get("sleep", 0))
while True:
    door.sendall(piece)
    if pause:
        time.sleep(pause)
"""
READ = """
import socket, sys, time
options = dict(word.split("=") for word in sys.argv[2:])
listener = socket.socket(socket.AF_INET6)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if "rcvbuf" in options:
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(options["rcvbuf"]))
listener.bind(("::", int(sys.argv[1])))
listener.listen()
print("ready", flush=True)
door = listener.accept()[0]
piece, pause = bytearray(int(options.get("size", 131072))), float(options.get("sleep", 0))
while door.recv_into(piece):
    if pause:
        time.sleep(pause)
"""
# a link between two tun devices: each packet arrives `delay` seconds later, every `lose`th never
LINK = """
import collections, ctypes, fcntl, os, select, struct, sys, time
delay, lose = float(sys.argv[3]), int(sys.argv[4])
ends, libc = [], ctypes.CDLL(None)
for space in sys.argv[1:3]:
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{space}", os.O_RDONLY)
    assert libc.setns(there, 0) == 0
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x0001 | 0x1000))
    assert libc.setns(here, 0) == 0
    ends.append(end)
print("ready", flush=True)
waiting = collections.deque()
count = 0
while True:
    left = waiting[0][0] - time.monotonic() if waiting else 1.0
    for end in select.select(ends, [], [], max(0.0, left))[0]:
        for _ in range(64):
            try:
                packet = os.read(end, 65536)
            except BlockingIOError:
                break
            count += len(packet) > 1000
            if lose and len(packet) > 1000 and count % lose == 0:
                continue
            waiting.append((time.monotonic() + delay, ends[end == ends[0]], packet))
    while waiting and waiting[0][0] <= time.monotonic():
        _, end, packet = waiting.popleft()
        try:
            os.write(end, packet)
        except OSError:
            pass
"""


class Stage:
    """Two namespaces joined by a veth pair, and by a slow link where asked; processes in them."""

    def __init__(self, name: str) -> None:
        self.here, self.there = f"why{name}{os.getpid()}a", f"why{name}{os.getpid()}b"
        self.held = ExitStack()
        self.near: subprocess.Popen[str] | None = None
        self.far: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        for space in (self.here, self.there):
            _run("ip", "netns", "add", space)
            self.held.callback(_run, "ip", "netns", "del", space, ok=False)
        _run(*f"ip link add eth0 netns {self.here} type veth peer eth0 netns {self.there}".split())
        for space, address in ((self.here, "10.94.0.1"), (self.there, "10.94.0.2")):
            _run("ip", "-n", space, "addr", "add", f"{address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _run("ip", "-n", space, "link", "set", device, "up")
        return self

    def __exit__(self, *_: object) -> None:
        self.held.close()

    def inside(self, space: str, *words: str) -> list[str]:
        return ["nsenter", f"--net=/run/netns/{space}", *words]

    def tc(self, *words: str) -> None:
        _run("tc", "-n", self.here, *words)

    def link(self, delay: float, lose: int = 0) -> None:
        """A link with a delay (seconds, each way) that loses every so many full packets."""
        self._start(sys.executable, "-c", LINK, self.here, self.there, f"{delay}", f"{lose}",
                    ready=True)  # fmt: skip
        for space, address in ((self.here, "10.95.0.1"), (self.there, "10.95.0.2")):
            _run("ip", "-n", space, "addr", "add", f"{address}/24", "dev", "tun0")
            _run("ip", "-n", space, "link", "set", "tun0", "up", "txqueuelen", "5000")

    def reader(self, *options: str, space: str | None = None) -> subprocess.Popen[str]:
        self.far = self._start(
            *self.inside(space or self.there, sys.executable, "-c", READ, "7300", *options),
            ready=True,
        )
        return self.far

    def writer(self, *options: str, to: str = "10.94.0.2") -> subprocess.Popen[str]:
        self.near = self._start(
            *self.inside(self.here, sys.executable, "-c", WRITE, to, "7300", *options)
        )
        return self.near

    def duty(self, process: subprocess.Popen[str], run: float, stop: float) -> None:
        """Let a process run and stop in turns, for as long as the stage stands."""
        self._start(
            "sh", "-c",
            f"while kill -CONT {process.pid}; do sleep {run}; kill -STOP {process.pid}; "
            f"sleep {stop}; done",
        )  # fmt: skip

    def quota(self, process: subprocess.Popen[str], cpus: float) -> bool:
        """Give a process that part of a CPU by its cgroup; False where no cgroup can be made."""
        name = f"why{process.pid}"
        old, new = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
        folder = (old if old.is_dir() else new) / name
        try:
            folder.mkdir()
            self.held.callback(_remove, folder)
            if old.is_dir():
                (folder / "cpu.cfs_quota_us").write_text(f"{int(cpus * 100_000)}")
            else:
                (folder / "cpu.max").write_text(f"{int(cpus * 100_000)} 100000")
            (folder / "cgroup.procs").write_text(f"{process.pid}")
        except OSError:
            return False
        return True

    def why(self, space: str, *words: str, seconds: float = 3.0) -> dict[str, Any]:
        """What `nettop why --json` prints there."""
        done = subprocess.run(
            self.inside(space, sys.executable, "-m", "nettop", "why", *words, "--json",
                        "--seconds", f"{seconds}"),
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, (done.returncode, done.stderr)
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def settle(self, to: str) -> None:
        """Wait until the flow has moved data for a second or two."""
        for _ in range(40):
            time.sleep(0.5)
            found = self.why(self.here, seconds=0.5)["limits"]
            if any(one["target"].endswith(f"{to}:7300") and one["rate"] for one in found):
                return
        raise AssertionError(f"no flow to {to} moves data")

    def flow(self, *, sending: bool = True, to: str = "10.94.0.2", seconds: float = 3.0) -> Any:
        """The verdict on the one flow, seen from the end that writes or that reads."""
        space = self.here if sending else self.there
        target = f"{to}:7300" if "." in to else f"[{to}]:7300"
        found = self.why(space, target, seconds=seconds)["limits"]
        direction = "tx" if sending else "rx"
        return next(one for one in found if one["direction"] == direction and one["over"] == "flow")

    def _start(self, *words: str, ready: bool = False) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE if ready else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.held.callback(_end, process)
        if ready and process.stdout is not None:
            assert process.stdout.readline() == "ready\n", words
        return process


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _remove(folder: Path) -> None:
    for _ in range(50):
        try:
            folder.rmdir()
        except OSError:
            time.sleep(0.1)  # its process is being taken away
        else:
            return


def _run(*words: str, ok: bool = True) -> None:
    subprocess.run(words, check=ok, capture_output=True)
