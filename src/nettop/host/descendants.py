"""The processes that this process has started, and theirs: /proc/PID/task/TID/children.

fs/proc/array.c, children_seq_show(); the kernel has it with CONFIG_PROC_CHILDREN.
"""

from __future__ import annotations

import os
from contextlib import suppress


def running() -> frozenset[int]:
    """The numbers of the processes and of their threads; none where the kernel does not say."""
    found: set[int] = set()
    left = _children(_threads(os.getpid()))
    while left:
        pid = left.pop()
        threads = _threads(pid)
        found |= {pid, *threads}
        left |= _children(threads) - found
    return frozenset(found)


def _threads(pid: int) -> set[int]:
    with suppress(OSError):  # it has ended
        return {int(name) for name in os.listdir(f"/proc/{pid}/task")}
    return set()


def _children(threads: set[int]) -> set[int]:
    found: set[int] = set()
    for thread in threads:
        with suppress(OSError), open(f"/proc/{thread}/task/{thread}/children", "rb") as file:
            found |= {int(word) for word in file.read().split()}
    return found
