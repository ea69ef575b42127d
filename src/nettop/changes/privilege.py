"""Becoming root for a change: the same command again, explicit in every word, through sudo.

Nothing is judged again as root and no file of the user's is read there: setting, before and after
are words of the command line.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence

from ..settings import Address
from .journal import Journal

_OWN = frozenset({"process", "thread", "nice"})


def needed(address: Address) -> bool:
    """Whether we lack the right to write it: everything but a process of our own is root's."""
    user = os.geteuid()
    if user == 0:
        return False
    if address.kind in _OWN:
        try:
            return os.stat(f"/proc/{address.nic}").st_uid != user
        except OSError:
            return False
    return True


def rooted(journal: Journal) -> bool:
    """Whether the changes of this host may stand in root's journal rather than in ours."""
    return os.geteuid() != 0 and "NETTOP_STATE" not in os.environ and bool(journal.folder)


def again(words: Sequence[str]) -> list[str]:
    """The argument list that runs `nettop WORDS…` as root without asking for a password."""
    return ["sudo", "-n", sys.executable, "-I", "-m", "nettop", *words]


def line(words: Sequence[str]) -> str:
    """What the user may type instead."""
    return shlex.join(["sudo", sys.executable, "-I", "-m", "nettop", *words])


def may() -> bool:
    """Whether sudo would do it without a password."""
    import subprocess

    try:
        done = subprocess.run(
            ["sudo", "-n", "true"],
            check=False, timeout=10, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def become(words: Sequence[str]) -> str:
    """Run `nettop WORDS…` as root in our place; returns only the sentence why that cannot be."""
    if not may():
        return f"this needs root: {line(words)}"
    sys.stdout.flush()
    sys.stderr.flush()
    command = again(words)
    os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
    return ""  # pragma: no cover
