"""Where this session comes from: the far end of the SSH connection that nettop is used over.

sshd tells it to the login shell (SSH_CONNECTION, sshd(8)); sudo, su and doas take it out of the
environment. What our parents were started with still has it: proc_pid_environ(5).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final

_TELLS: Final = ("SSH_CONNECTION", "SSH_CLIENT")
_NO_SOCKET: Final = "UNKNOWN"  # what sshd tells where it was not reached over IP


def ssh_peer() -> str | None:
    """The address at the other end of this SSH session; None outside one."""
    for environment in _environments():
        for name in _TELLS:
            words = environment.get(name, "").split()
            if words and words[0] != _NO_SOCKET:
                return words[0]
    return None


def _environments() -> Iterator[Mapping[str, str]]:
    """Ours, then what our parents were started with, the nearest first, as far as we may read it.

    The first process is left out: it is nobody's session.
    """
    yield os.environ
    import psutil  # it takes 30 ms to load: only where our own environment tells nothing

    try:
        for parent in psutil.Process().parents():
            if parent.pid > 1:
                yield parent.environ()
    except (psutil.Error, OSError):
        return
