"""The file systems that programs which move network data write to, and what is free there.

Each file that such a program (`threads`) has open for writing leads to its file system by its
descriptor, also in another mount namespace (statvfs(3)). A full one ends each transfer that is
stored there. Only file systems of this host are asked: one that a server has may never answer.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Final

from ..files.bounds import count
from ..frame.fields import gauge, label
from ..host.source import STATVFS, Source
from ..terms.dataclass import dataclass
from . import socket_owners, threads
from ._descriptors import Host, Known
from ._table import Memory, Table, recall

TABLE: Final = Table(every=2.0, optional=True, memory=threads.TABLE.memory)

PROCESSES: Final = 8  # that are looked at, those that move data first
FILES: Final = 16  # of a process
LOCAL: Final = (
    "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "zfs", "bcachefs", "tmpfs", "overlay",
    "vfat", "exfat", "ntfs3",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One file system."""

    device: str = label("its device, MAJOR:MINOR")
    path: str = gauge("a file there that a program has open for writing")
    filesystem: str = gauge("type of file system", default="")
    size: int = gauge("its size", "bytes", default=0)
    free: int = gauge("free, with what only root may use", "bytes", default=0)
    available: int = gauge("free for every user", "bytes", default=0)
    inodes: int = gauge("inodes; 0: made as they are needed", "files", default=0)
    inodes_free: int = gauge("free inodes", "files", default=0)
    writers: tuple[int, ...] = gauge("processes with such a file", default=())


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """One row for each file system; none through a far reader, which asks for no descriptor.

    OSError when there is no /proc: then it is not known who writes.
    """
    if source.batches is not None:
        return []
    if threads.Moving not in memory:
        source.listing("/proc")
    owners, moving = recall(memory, socket_owners.Known), recall(memory, threads.Moving)
    host = Host(source, recall(memory, Known), owners, [])
    found: dict[str, tuple[str, str, str]] = {}
    writers: dict[str, list[int]] = {}
    for pid in islice(moving.rounds, PROCESSES):
        process = owners.held.get(str(pid))
        names = process.names if process is not None else ()
        for number in islice((one for one in names if process is None
                              or one not in {*process.pipes, *process.inodes}), FILES):  # fmt: skip
            file = host.file(str(pid), number)
            if file is not None and file.writes and file.filesystem in LOCAL:
                found.setdefault(
                    file.device, (file.target, file.filesystem, f"/proc/{pid}/fd/{number}")
                )
                writers.setdefault(file.device, []).append(pid)
    rows = []
    for device, (path, filesystem, descriptor) in found.items():
        try:
            numbers = map(count, source.text(STATVFS + descriptor).split())
            block, size, free, available, inodes, inodes_free = numbers
        except (OSError, ValueError):
            continue  # it was closed meanwhile
        rows.append(
            Row(device, path, filesystem, block * size, block * free, block * available, inodes,
                inodes_free, tuple(dict.fromkeys(writers[device])))
        )  # fmt: skip
    return rows
