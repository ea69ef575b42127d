"""A /sys of the network namespace of this process.

A mounted sysfs shows, and changes, the interfaces of the namespace in which it was mounted, not of
the process that opens a file (kobj_ns_grab_current() in lib/kobject.c). `nsenter --net` changes the
namespace only: /sys then has interfaces of the same names, and often of the same indexes, which are
other ones.
"""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Final

from ..terms.errors import Refused

# asm-generic/unistd.h, since Linux 5.2: numbers of the calls, and arguments
_FSOPEN, _FSCONFIG, _FSMOUNT = 430, 431, 432
_CLOEXEC, _CREATE = 1, 6
_NEWNS: Final = 0x20000  # sched.h
_SLAVE: Final = 0x80000 | 0x4000  # linux/mount.h: MS_SLAVE | MS_REC; later mounts are still seen
FOREIGN: Final = "/sys shows another network namespace: use nettop --netns NAME, or nsenter --mount"


def ensure() -> None:
    """Where /sys is of another namespace, mount the right one, for this process and its children.

    As ip-netns(8) does; in one thread. Refused if it cannot be mounted. Nothing is done, and what
    /sys shows is not known, without CAP_SYS_ADMIN, and before Linux 5.2. A /sys that is hidden
    stays hidden.
    """
    if os.geteuid() != 0 or not os.path.isdir("/sys/class/net") or not _foreign():
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if (
        libc.unshare(_NEWNS)
        or libc.mount(b"none", b"/", None, _SLAVE, None)
        or libc.mount(b"sysfs", b"/sys", b"sysfs", 0, None)
    ):
        raise Refused(f"{FOREIGN} ({os.strerror(ctypes.get_errno())})", 3)


def _foreign() -> bool:
    """Whether /sys is another sysfs than this process would mount: the kernel has one for each."""
    handles: list[int] = []
    try:
        handles.append(_call(_FSOPEN, b"sysfs", _CLOEXEC))
        _call(_FSCONFIG, handles[0], _CREATE, None, None, 0)
        handles.append(_call(_FSMOUNT, handles[0], _CLOEXEC, 0))
        return os.fstat(handles[1]).st_dev != os.stat("/sys").st_dev
    except OSError:
        return False
    finally:
        for handle in handles:
            os.close(handle)


def _call(*words: object) -> int:
    result = int(ctypes.CDLL(None, use_errno=True).syscall(*words))
    if result < 0:
        number = ctypes.get_errno() or errno.EPERM
        raise OSError(number, os.strerror(number))
    return result
