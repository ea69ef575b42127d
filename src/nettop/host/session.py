"""The address of the SSH client whose session runs nettop.

sshd sets SSH_CONNECTION in the login shell (sshd(8)); sudo, su and doas remove it. The initial
environment of a parent process still has it: proc_pid_environ(5).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final

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
    import psutil  # it takes 30 ms to load: only if our own environment does not have it

    try:
        for parent in psutil.Process().parents():
            if parent.pid > 1:
                yield parent.environ()
    except Exception:  # RuntimeError, where /proc/stat has no boot time: nothing depends on it
        return
