"""The SSH client whose session runs nettop, and the processes that nettop has started.

sshd sets SSH_CONNECTION in the login shell (sshd(8)); sudo, su and doas remove it. The initial
environment of a parent process still has it: proc_pid_environ(5).

/proc/PID/task/TID/children has the processes of a process (fs/proc/array.c, children_seq_show()),
with CONFIG_PROC_CHILDREN.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from ..files import bounds

_VARIABLES: Final = ("SSH_CONNECTION", "SSH_CLIENT")
_NO_SOCKET: Final = "UNKNOWN"  # the value if sshd has no IP connection


def ssh_peer() -> str | None:
    """The client address of this SSH session; None if there is none."""
    for environment in _environments():
        for name in _VARIABLES:
            words = environment.get(name, "").split()
            if words and words[0] != _NO_SOCKET:
                return words[0]
    return None


def _environments() -> Iterator[Mapping[str, str]]:
    """The environment of this process, then the readable initial ones of its parents in order.

    Process 1 is left out: it belongs to no session.
    """
    yield os.environ
    try:
        pid = os.getppid()
        while pid > 1:
            words = os.fsdecode(bounds.read(f"/proc/{pid}/environ", "host-file")).split("\0")
            yield {name: value for name, _, value in (word.partition("=") for word in words)}
            # "PID (NAME) STATE PARENT …"; a name may have spaces and brackets: proc_pid_stat(5)
            state = bounds.read(f"/proc/{pid}/stat", "host-file").rpartition(b")")[2]
            pid = int(state.split()[1])
    except (OSError, ValueError, IndexError):  # it has ended, or is not ours: nothing depends on it
        return


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
