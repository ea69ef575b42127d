"""Measure the losses of a capture that the user runs.

These are the drops of its packet sockets (sk_drops, packet_diag) and those of the interface: a full
backlog drops packets before they reach a socket.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...collect import packet_sockets
from ...host.source import Live
from ..far.sample import interfaces, read
from ..run import Trial, TrialError
from ._capturer import Captured, Counts

if TYPE_CHECKING:
    from ._capture_options import CaptureOptions


@contextmanager
def watched(trial: Trial, capture: CaptureOptions) -> Iterator[Counts]:
    """Yields a function that returns the packets lost since then; starts no process."""
    pid = trial.options.pid or 0
    before, early_before = drops(pid), dropped(capture.interface)

    def counts() -> Captured:
        early = max(0, dropped(capture.interface) - early_before)
        return {"dropped": early + ((drops(pid) - before) & 0xFFFFFFFF), "early": early}

    yield counts


def dropped(interface: str) -> int:
    """Packets that the interface dropped on receipt, missed ones included (/proc/net/dev)."""
    return interfaces(read("/proc/net/dev")).get(interface, [0] * 4)[3]


def drops(pid: int) -> int:
    """The drops of the packet sockets of the process; TrialError if they are unknown."""
    try:
        own = inodes(pid)
        rows = [row for row in packet_sockets.read(Live()) if row.inode in own]
    except (OSError, ValueError) as error:
        because = getattr(error, "strerror", None) or error
        raise TrialError(f"cannot read the packet sockets of process {pid}: {because}") from None
    if not rows:
        raise TrialError(f"process {pid} has no packet socket in this network namespace")
    if any(row.ring_version is not None for row in rows):
        raise TrialError(
            f"process {pid} captures into a ring; only that process can read its losses"
        )
    if any(row.drops is None for row in rows):
        raise TrialError(f"this kernel does not report the losses of process {pid}")
    return sum(row.drops or 0 for row in rows)


def inodes(pid: int) -> frozenset[int]:
    """The inodes of the open sockets of a process; OSError if it is gone or of another user."""
    folder = f"/proc/{pid}/fd"
    numbers = set()
    for name in os.listdir(folder):
        try:
            link = os.readlink(f"{folder}/{name}")
        except FileNotFoundError:
            continue  # closed meanwhile
        if link.startswith("socket:["):
            numbers.add(int(link[8:-1]))
    return frozenset(numbers)
