"""Make this process independent of the disk: what reverts a change must work when all else fails.

Every file and kind of socket that the revert needs is opened before (`files.descriptors`).
The folder of nettop may be replaced by an upgrade, or be on a disk behind the link that the change
cut. So every module that a revert may use is imported, and all memory is locked, also that of
mapped files, which the kernel would otherwise read again from the disk.
"""

import ctypes
import resource
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from typing import Final

from .. import settings
from ..files import descriptors
from . import status, target
from .entry import JournaledChange
from .journal import Journal
from .plan import read_side_effects
from .unguarded import NAME

# what functions of nettop and of the standard library import when they are called
_LATER: Final = (
    "nettop.changes.namespaces", "nettop.changes.undo", "nettop.collect.sysctl_files",
    "nettop.host.netlink.elsewhere", "nettop.host.netlink.ethtool", "nettop.host.netlink.kernel",
    "nettop.host.source", "difflib", "json", "pwd", "shlex", "shutil", "subprocess",
)  # fmt: skip
_NEEDED: Final = 16  # descriptors that a revert may open, with those of a tool that it runs
_LIMITS: Final = (
    resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE,
    resource.RLIMIT_MEMLOCK, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC,
)  # fmt: skip
_OOM: Final = "/proc/self/oom_score_adj"
_SET_NAME: Final = 15  # include/uapi/linux/prctl.h
_CURRENT, _FUTURE = 1, 2  # include/uapi/asm-generic/mman.h


def ready() -> None:
    """Import every kind of setting with what it imports later; nothing may end this process."""
    load()
    lift()
    _lock_memory()


def hold(journal: Journal, entries: Iterable[JournaledChange]) -> None:
    """Keep open what the revert of these entries needs; OSError if too few files can be opened."""
    from ..host.netlink.kernel import Kernel

    with descriptors.keeping():
        journal.ready()
        Kernel().ready()
    rehearse(entries)
    descriptors.must_be_left(_NEEDED)


def rehearse(entries: Iterable[JournaledChange]) -> None:
    """Read once what their revert will read, hold the devices, and keep open what is opened."""
    host = settings.Host.at()
    with descriptors.keeping():
        for entry in entries:
            with suppress(Exception):  # the revert tells it
                target.hold(entry, host)
                status.shown(entry, host)
                read_side_effects(host, tuple(entry.side_effects))


def tell(number: int) -> None:
    """Name this process for the newest change that it knows: `unguarded.known` reads that."""
    ctypes.CDLL(None).prctl(_SET_NAME, f"{NAME}{number}".encode())


def load() -> None:
    """Import every kind of setting with what it imports later."""
    for name in settings.kinds():
        settings.kind(name)
    for name in _LATER:
        import_module(name)


def _lock_memory() -> None:
    """Lock the memory where that is allowed (mlockall(2)); what is refused stays unlocked.

    Under a limit that cannot be lifted, memory that is needed later is left out: it could not be
    had at all.
    """
    limited = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1] != resource.RLIM_INFINITY
    ctypes.CDLL(None).mlockall(_CURRENT if limited else _CURRENT | _FUTURE)


def lift() -> None:
    """Lift the limits of the shell, such as one of CPU time, whose end is SIGKILL (setrlimit(2)).

    Where the host has no memory left, other processes end before this one (proc(5)).
    """
    for limit in _LIMITS:
        for highest in (resource.RLIM_INFINITY, resource.getrlimit(limit)[1]):
            with suppress(OSError, ValueError):
                resource.setrlimit(limit, (highest, highest))
                break
    with suppress(OSError), open(_OOM, "w") as file:
        file.write("-1000")
