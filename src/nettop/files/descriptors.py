"""File descriptors of a process that must go on when it can open none any more.

Its limit of open files may be lowered while it runs (prlimit(2)), and the host may have none left.
What is opened while the process is `keeping` stays open beside; where nothing can be opened later,
the same file or kind of socket is used again. `lift` sets the limit to what it was.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from typing import Final

NONE_LEFT: Final = (errno.EMFILE, errno.ENFILE)
_WRITE: Final = os.O_WRONLY | os.O_CLOEXEC | os.O_TRUNC
_VALUES: Final = ("/proc/sys/", "/proc/irq/", "/sys/")  # where files of settings are
_kept: Final[dict[tuple[object, ...], int]] = {}
_limits: Final[list[tuple[int, int]]] = []  # of open files, while and after keeping
_keeping: Final[list[bool]] = []  # not empty: the process keeps what it opens


@contextlib.contextmanager
def keeping() -> Iterator[None]:
    """Keep open what is opened meanwhile."""
    from resource import RLIMIT_NOFILE, getrlimit

    _limits[:] = _limits or [getrlimit(RLIMIT_NOFILE)]
    _keeping.append(True)
    try:
        yield
    finally:
        _keeping.clear()


def lift() -> None:
    """Set the limit of open files as it was, or else as high as this process may."""
    from resource import RLIMIT_NOFILE, getrlimit, setrlimit

    highest = getrlimit(RLIMIT_NOFILE)[1]
    for limits in (*_limits, (highest, highest)):
        with contextlib.suppress(OSError, ValueError):
            setrlimit(RLIMIT_NOFILE, limits)
            return


def must_be_left(number: int) -> None:
    """OSError if the process cannot open so many more; of those that are on no disk."""
    handles: list[int] = []
    try:
        while len(handles) < number:
            handles.append(os.eventfd(0, os.EFD_CLOEXEC))
    finally:
        for handle in handles:
            os.close(handle)


def opened(path: str, flags: int, *mode: int) -> int:
    """As os.open; the kept descriptor of the same file, at its start, if none is left."""
    try:
        handle = os.open(path, flags, *mode)
    except OSError as error:
        handle = instead(error, path, flags)
        if not os.path.samestat(os.fstat(handle), os.stat(path)):
            raise
        os.lseek(handle, 0, os.SEEK_SET)
    if _keeping:
        keep(handle, path, flags)
        if flags & os.O_ACCMODE == os.O_RDONLY and path.startswith(_VALUES):
            _keep_writable(path)
    return handle


def writable(path: str) -> int:
    """`opened`, to write the value of a kernel file."""
    return opened(path, _WRITE)


def _keep_writable(path: str) -> None:
    """Keep a kernel file open to write it, if that is possible."""
    try:
        close(writable(path))
    except OSError as error:
        if error.errno in NONE_LEFT:
            raise


def close(handle: int) -> None:
    """As os.close, unless the descriptor is used again."""
    if handle not in _kept.values():
        os.close(handle)


@contextlib.contextmanager
def closing(handle: int) -> Iterator[int]:
    """Close a descriptor afterwards."""
    try:
        yield handle
    finally:
        close(handle)


def keep(handle: int, *what: object) -> None:
    """While keeping, keep a descriptor open under `what` it is."""
    if _keeping and what not in _kept:
        _kept[what] = os.dup(handle)


def forget() -> None:
    """Use none of the kept descriptors, as in another network namespace."""
    _kept.clear()


def instead(error: OSError, *what: object) -> int:
    """The descriptor that was kept, if the error says that none is left; else the error."""
    if error.errno not in NONE_LEFT or what not in _kept:
        try:
            raise error
        finally:
            del error  # else its traceback holds this frame, and so itself and each caller's source
    return _kept[what]
