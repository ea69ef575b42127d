"""What the packet sockets of a running program lose: by packet_diag, and of rings by BPF.

The kernel tells the losses of a queue (sk_drops) to everybody, those of a ring only to its owner,
who resets them by asking. So they are read every `EACH` seconds: what a ring lost since then and
until its owner asks is missed.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Final

from ...collect import packet_sockets
from ...host.source import Live
from ...terms.dataclass import dataclass
from ...terms.errors import sentence
from ..run import TrialError

EACH: Final = 0.05  # seconds
OF_QUEUE: Final = "those of its sockets, by sock_diag"
OF_RING: Final = "those of its receive ring, by a BPF program"


@dataclass(frozen=True, slots=True)
class Sockets:
    """The packet sockets of a process."""

    queues: int  # packets that its queues have lost so far
    rings: Sequence[int]  # descriptors of its sockets that have a receive ring


@contextmanager
def losses(pid: int) -> Iterator[tuple[Callable[[], int], str]]:
    """Yields a function that tells what the process lost since then, and how it is known.

    TrialError if that cannot be known, also later.
    """
    with ExitStack() as stack:
        before = sockets(pid)
        of_rings = stack.enter_context(_ring_losses(pid, before.rings)) if before.rings else None

        def lost() -> int:
            queues = (sockets(pid).queues - before.queues) & 0xFFFFFFFF
            return queues + (of_rings() if of_rings else 0)

        yield lost, OF_RING if of_rings else OF_QUEUE


def sockets(pid: int) -> Sockets:
    """The packet sockets of the process; TrialError if it has none, or they are unknown."""
    try:
        own = descriptors(pid)
        rows = [row for row in packet_sockets.read(Live()) if row.inode in own]
    except (OSError, ValueError) as error:
        raise TrialError(
            f"cannot read the packet sockets of process {pid}: {sentence(error)}"
        ) from None
    if not rows:
        raise TrialError(f"process {pid} has no packet socket in this network namespace")
    queues = [row for row in rows if row.ring_version is None]
    if any(row.drops is None for row in queues):
        raise TrialError(f"this kernel does not report the losses of process {pid}")
    rings = [own[row.inode] for row in rows if row.ring_version is not None]
    return Sockets(sum(row.drops or 0 for row in queues), rings)


def descriptors(pid: int) -> Mapping[int, int]:
    """The open sockets of a process, by inode; OSError if it is gone or of another user."""
    folder = f"/proc/{pid}/fd"
    found = {}
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):  # closed meanwhile
            link = os.readlink(f"{folder}/{name}")
            if link.startswith("socket:["):
                found[int(link[8:-1])] = int(name)
    return found


@contextmanager
def _ring_losses(pid: int, rings: Sequence[int]) -> Iterator[Callable[[], int]]:
    """As `losses`, of these rings."""
    from ...host.bpf.rings import Rings

    try:
        kernel = Rings(pid)
    except (OSError, ValueError) as error:
        raise TrialError(
            f"process {pid} captures into a ring, whose losses only that process can read "
            f"({sentence(error)}): stop it and read its own summary"
        ) from None

    def counts() -> Sequence[int]:
        try:
            return [kernel.lost(one) for one in rings]
        except OSError as error:
            raise TrialError(f"process {pid} closed its ring: {sentence(error)}") from None

    with closing(kernel), followed(counts) as lost:
        yield lost


@contextmanager
def followed(read: Callable[[], Sequence[int]]) -> Iterator[Callable[[], int]]:
    """Yields the function; `read` are the counts now, each of which its owner may set to 0."""
    lost, last = 0, read()
    ended, reading = threading.Event(), threading.Lock()

    def step() -> int:
        nonlocal lost, last
        with reading:
            now = read()
            each = zip(last, now, strict=True)
            lost += sum(new - old if new >= old else new for old, new in each)
            last = now
            return lost

    def follow() -> None:
        with suppress(TrialError):  # who asks for the sum meets it as well
            while not ended.wait(EACH):
                step()

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield step
    finally:
        ended.set()
        thread.join()
