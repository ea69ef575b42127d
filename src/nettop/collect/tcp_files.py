"""Open files of processes that listen on TCP, and their limit: /proc/PID/limits (fs/proc/base.c).

At the limit (RLIMIT_NOFILE) accept() fails with EMFILE. `socket_owners` stores the descriptors and
`sockets_tcp` the listening sockets in the shared memory. Collectors are read in the order of their
names, so both are read before this one.
"""

from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs, socket_owners, sockets_tcp
from ._table import Memory, Table, recall

TABLE: Final = Table(every=5.0, optional=True, memory="sockets")  # as `socket_owners`

PROCESSES: Final = 64  # processes that are read, those with most descriptors first
_LINE: Final = "Max open files"


@dataclass(frozen=True, slots=True)
class Row:
    """One process that listens."""

    pid: int = label("process")
    files: int = gauge("open files", "files")
    limit: int | None = maybe("limit of open files (RLIMIT_NOFILE)", "files")


def update(source: Source, memory: Memory) -> list[Row]:
    """One row for each process with a listening TCP socket; OSError when there is no /proc."""
    held = recall(memory, socket_owners.Known).held
    if not held:
        source.listing("/proc")
    listening = recall(memory, sockets_tcp.Known).listening
    found = [
        (len(process.names), pid)
        for pid, process in held.items()
        if not listening.isdisjoint(process.inodes.values())
    ]
    return [
        Row(int(pid), files, soft(_sysfs.word(source, f"/proc/{pid}/limits") or ""))
        for files, pid in sorted(found, reverse=True)[:PROCESSES]
    ]


def soft(limits: str) -> int | None:
    """The soft limit of open files; None where it cannot be read or there is none."""
    for line in limits.splitlines():
        if line.startswith(_LINE):
            return _sysfs.whole(next(iter(line.removeprefix(_LINE).split()), None))
    return None
