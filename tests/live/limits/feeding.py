"""Limits of what feeds a sender or drains a receiver, each known by construction.

A device is throttled for its program alone, by the block controller of cgroups. The programs and
files end with the stage. `{file}` is a file of random bytes that is in no cache, `{out}` one to be
written, `{send}` and `{receive}` the programs below, `{slow}` runs a command in the throttled
cgroup, `{small}` in one with little memory.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from live.limits.stage import Stage

RATE: Final = 20 << 20  # bytes/s of the device
SIZE: Final = 256 << 20  # of the file
MEMORY: Final = 24 << 20  # of the program without enough of it
PROGRAM: Final = r"""
import fcntl, mmap, os, random, socket, sys, threading, time
how, *words = sys.argv[1:]
options = dict(word.split("=") for word in words)
size = int(options.get("size", 262144))
piece = mmap.mmap(-1, size)
piece.write(b"x" * size)
direct = os.O_DIRECT if "direct" in options else 0
if how.startswith("to-"):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("", 7300))
    listener.listen()
    door = listener.accept()[0]
else:
    door = socket.create_connection(("10.94.0.2", 7300))
if "file" in options:
    file = os.open(options["file"], os.O_RDWR | os.O_CREAT | direct)
    whole = os.fstat(file).st_size // size * size
at, have, view = 0, 0, memoryview(piece)
if how == "mapped" or how == "again":
    pages = mmap.mmap(file, whole, prot=mmap.PROT_READ)
    pages.madvise(mmap.MADV_RANDOM if how == "again" else mmap.MADV_SEQUENTIAL)
while True:
    if how == "read":
        os.preadv(file, [piece], at)
        os.posix_fadvise(file, at, size, os.POSIX_FADV_DONTNEED)
        at = (at + size) % whole
        door.sendall(piece)
    elif how == "sendfile":
        os.sendfile(door.fileno(), file, at, size)
        os.posix_fadvise(file, max(0, at - size), size, os.POSIX_FADV_DONTNEED)
        at = (at + size) % whole
    elif how == "mapped":
        door.sendall(memoryview(pages)[at:at + size])
        pages.madvise(mmap.MADV_DONTNEED, at, size)
        os.posix_fadvise(file, at, size, os.POSIX_FADV_DONTNEED)
        at = (at + size) % whole
    elif how == "again":
        some = [random.randrange(9000) * 4096 for _ in range(20)]
        door.sendall(b"".join(pages[one:one + 4096] for one in some))
    elif how == "input":
        door.sendall(os.read(0, size))
    elif how == "memory":
        door.sendall(piece)
        time.sleep(float(options.get("sleep", 0)))
    elif how == "lock":
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.flock(file, fcntl.LOCK_UN)
        door.sendall(piece)
    elif how == "ask":
        door.sendall(piece)
        door.recv(100)
    elif how == "to-nothing":
        door.recv_into(piece)
    elif how == "to-answer":
        have += door.recv_into(piece)
        if have >= size:
            have -= size
            time.sleep(0.02)
            door.sendall(bytes(100))
    elif how == "to-output":
        count = door.recv_into(piece)
        done = 0
        while done < count:
            done += os.write(1, view[done:count])
    elif how == "to-file":
        have += door.recv_into(view[have:])
        if have == size:
            os.pwrite(file, piece, at)
            at, have = (at + size) % (64 << 20), 0
            if "sync" in options:
                os.fsync(file)
"""
HOLDER: Final = """
import fcntl, sys, time
file = open(sys.argv[1], "w")
for _ in range(2000):
    fcntl.flock(file, fcntl.LOCK_EX)
    time.sleep(0.05)
    fcntl.flock(file, fcntl.LOCK_UN)
    time.sleep(0.0005)
"""
WORK: Final = """
import hashlib, os
while True:
    for _ in range(1600):
        hashlib.sha256(bytes(4096))
    os.write(1, bytes(65536))
"""


@dataclass(frozen=True, slots=True)
class Fed:
    """One case: the pipelines of both ends, the stage, and the program that waits there."""

    name: str
    stage: str
    program: str
    here: str = "{send} memory"
    there: str = "{receive} to-nothing"
    beside: str = ""  # runs here too
    drains: bool = False  # the limit is at the receiver
    device: bool = False  # its capacity is `RATE`

    def make(self, stage: Stage) -> None:
        """Stage it; RuntimeError without the cgroups of v1."""
        folder = Path(stage.folder)
        for name in ("send", "receive"):
            (folder / name).write_text(PROGRAM)
        (folder / "holder").write_text(HOLDER)
        (folder / "work").write_text(WORK)
        words = {name: f"{folder}/{name}" for name in ("out", "lock", "file")}
        for name in ("send", "receive", "holder", "work"):
            words[name] = f"{sys.executable} {folder}/{name}"
        every = self.here + self.there + self.beside
        if "{file}" in every:
            uncached(folder / "file")
        if "{slow}" in every:
            number = _device(folder)
            group = stage.cgroup("blkio", "blkio.throttle.read_bps_device", f"{number} {RATE}")
            (group / "blkio.throttle.write_bps_device").write_text(f"{number} {RATE}")
            words["slow"] = _joined(folder, "slow", group)
        if "{small}" in every:
            group = stage.cgroup("memory", "memory.limit_in_bytes", f"{MEMORY}")
            words["small"] = _joined(folder, "small", group)
        stage.shell(stage.there, self.there.format(**words))
        stage.listens(stage.there, 7300)
        if self.beside:
            stage.shell(stage.here, self.beside.format(**words))
        stage.shell(stage.here, self.here.format(**words))


def uncached(path: Path) -> None:
    """Write the file, and leave it out of the page cache."""
    with path.open("wb") as file:
        for _ in range(SIZE >> 20):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _joined(folder: Path, name: str, group: Path) -> str:
    """A command that runs another one in that cgroup."""
    script = folder / name
    script.write_text(f'echo $$ > {group}/cgroup.procs\nexec "$@"\n')
    return f"sh {script}"


def _device(folder: Path) -> str:
    """MAJOR:MINOR of the whole disk of a folder."""
    number = folder.stat().st_dev
    entry = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not entry.exists():
        raise RuntimeError(f"{folder} is on no disk")
    whole = entry.resolve().parent if (entry / "partition").exists() else entry
    return (whole / "dev").read_text().strip()


DISK: Final = "dd if={file} iflag=direct bs=1M"
CASES: Final = {case.name: case for case in (
    Fed("read-direct", "disk-read", "python", "{slow} {send} read file={file} direct=1",
        device=True),
    Fed("read-buffered", "disk-read", "python", "{slow} {send} read file={file}", device=True),
    Fed("read-sendfile", "disk-read", "python", "{slow} {send} sendfile file={file}", device=True),
    Fed("read-mapped", "disk-read", "python", "{slow} {send} mapped file={file}", device=True),
    Fed("read-by-a-pipe", "disk-read", "dd", f"{{slow}} {DISK} | {{send}} input", device=True),
    Fed("read-by-two-pipes", "disk-read", "dd", f"{{slow}} {DISK} | cat | {{send}} input",
        device=True),
    Fed("write-direct", "disk-write", "python", drains=True, device=True,
        there="{slow} {receive} to-file file={out} direct=1 size=1048576"),
    Fed("write-synced", "disk-write", "python", drains=True, device=True,
        there="{slow} {receive} to-file file={out} sync=1 size=1048576"),
    Fed("write-by-a-pipe", "disk-write", "dd", drains=True, device=True,
        there="{receive} to-output | {slow} dd of={out} oflag=direct bs=1M iflag=fullblock"),
    Fed("pipe-from-a-shell", "timer", "sleep",
        "while :; do head -c 2097152 /dev/zero; sleep 0.1; done | {send} input"),
    Fed("pipe-from-work", "pipe-cpu", "python", "{work} | {send} input"),
    Fed("timer", "timer", "python", "{send} memory sleep=0.02"),
    Fed("lock", "lock", "python", "{send} lock file={lock}", beside="{holder} {lock}"),
    Fed("request", "request", "python", "{send} ask", "{receive} to-answer"),
    Fed("memory", "memory", "python", "{slow} {small} {send} again file={file}"),
    Fed("stopped", "stopped", "python",
        "{send} memory & while sleep 0.2; do kill -STOP $!; sleep 0.4; kill -CONT $!; done"),
)}  # fmt: skip
