"""Programs that wait, as files of /proc below a folder, and what `waits` reads of them."""

import os
from pathlib import Path
from typing import Any

from nettop.collect import socket_owners, threads, waits
from nettop.collect._table import Memory, recall
from nettop.host.source import Live

STACK = "0x7ffc00000000"
MOUNTS = "\nnot a mount\n24 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"


def process(
    root: Path, pid: int, name: str, call: str, *, state: str = "S", files: Any = (),
    read: int = 0, children: str = "", sleeps: str = "",
) -> None:  # fmt: skip
    """A process of one thread; `files`: number, target, flags of its descriptors."""
    folder = root / f"proc/{pid}"
    task = folder / f"task/{pid}"
    for one in (task, folder / "fd", folder / "fdinfo"):
        one.mkdir(parents=True)
    stat = f"{pid} ({name}) {state} 1 1 1 0 -1 0 0 0 0 0 5 5 0 0 20 0 1 0 777 0 0" + " 0" * 18
    (task / "stat").write_text(stat)
    (task / "syscall").write_text(call)
    (task / "children").write_text(children)
    (task / "wchan").write_text(sleeps)
    (folder / "io").write_text(f"rchar: 9\nread_bytes: {read}\nwrite_bytes: 7\n")
    (folder / "mountinfo").write_text(MOUNTS)
    for number, target, flags in files:
        os.symlink(target, folder / f"fd/{number}")
        (folder / f"fdinfo/{number}").write_text(f"pos:\t0\nflags:\t{flags}\nmnt_id:\t24\n")


def call(number: int, *arguments: int) -> str:
    six = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    return f"{number} {' '.join(hex(one) for one in six)} {STACK} 0x7f0000000000\n"


def memory_of(root: Path, *moving: int, arch: str = "x86_64") -> Memory:
    """After the other collectors: these processes move data."""
    (root / "proc/sys/kernel").mkdir(parents=True, exist_ok=True)
    (root / "proc/sys/kernel/arch").write_text(f"{arch}\n")
    memory: Memory = {}
    socket_owners.update(Live(str(root)), memory)
    recall(memory, threads.Moving).rounds = dict.fromkeys(moving, 5)
    return memory


def rows(root: Path, *moving: int) -> dict[int, waits.Row]:
    return {row.pid: row for row in waits.update(Live(str(root)), memory_of(root, *moving))}
