"""Who holds the lock of a file for which a process waits: /proc/locks.

fs/locks.c, lock_get_status(). Each lock has a number, and those that wait for it follow with the
same number and an arrow:

    2: FLOCK  ADVISORY  WRITE 812 fe:00:1311 0 EOF
    2: -> FLOCK  ADVISORY  WRITE 640 fe:00:1311 0 EOF

The number of a process is 0 where its namespace does not show it, and -1 for locks of open files.
"""

from __future__ import annotations

from ..host.source import Source
from . import _sysfs


def holders(source: Source, pid: int) -> tuple[int, ...]:
    """The processes with the lock that `pid` waits for; none where the kernel does not say."""
    lines = (_sysfs.word(source, "/proc/locks") or "").splitlines()
    parts = [(line.split() + [""] * 6)[:6] for line in lines]
    waited = {one[0] for one in parts if one[1] == "->" and one[5] == str(pid)}
    found = (_sysfs.whole(one[4]) for one in parts if one[1] != "->" and one[0] in waited)
    return tuple(dict.fromkeys(one for one in found if one is not None and one > 0))
