"""Where this session comes from: the far end of the SSH connection that nettop is used over.

sshd tells it to the login shell (SSH_CONNECTION, sshd(8)); sudo, su and doas take it out of the
environment. What our parents were started with still has it: proc_pid_environ(5).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final

from ..files import bounds

_TELLS: Final = ("SSH_CONNECTION", "SSH_CLIENT")
_NO_SOCKET: Final = "UNKNOWN"  # what sshd tells where it was not reached over IP
_DEEP: Final = 32  # shells in shells; a loop there cannot be


def ssh_peer(proc: str = "/proc") -> str | None:
    """The address at the other end of this SSH session; None outside one."""
    for environment in (os.environ, *_parents(proc)):
        for name in _TELLS:
            words = environment.get(name, "").split()
            if words and words[0] != _NO_SOCKET:
                return words[0]
    return None


def _parents(proc: str) -> Iterator[Mapping[str, str]]:
    """What our parents were started with, the nearest first, as far as we may read it."""
    number = os.getppid()
    for _ in range(_DEEP):
        if number <= 1:
            return
        try:
            said = bounds.read(f"{proc}/{number}/environ", "host-file")
            words = said.decode(errors="surrogateescape").split("\0")
            stat = bounds.read(f"{proc}/{number}/stat", "host-file")
            number = bounds.count(stat.rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return
        yield dict(word.partition("=")[::2] for word in words)
