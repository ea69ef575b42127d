"""Other network namespaces: netlink in one (setns(2)), and a /sys of the one of this process.

A socket belongs for ever to the namespace in which it was made, and keeps that namespace alive. So
each question has a thread and a socket of its own, and nothing stays open between two of them: a
container that ends takes its interfaces with it.

A mounted sysfs shows, and changes, the interfaces of the namespace in which it was mounted, not of
the process that opens a file (kobj_ns_grab_current() in lib/kobject.c). `nsenter --net` changes the
namespace only: /sys then has interfaces of the same names, and often of the same indexes, which are
other ones.
"""

import ctypes
import errno
import os
import socket
import struct
import threading
from typing import Final

from ...terms.errors import Refused
from .codec import Request, Space
from .kernel import Kernel

_NEWNET = 0x40000000  # include/uapi/linux/sched.h


def ask(request: Request, space: Space) -> bytes:
    """The answer in that namespace.

    OSError: PermissionError where it may not be entered, ProcessLookupError where the process of
    its file ended.
    """
    handle = os.open(space.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if os.fstat(handle).st_ino != space.inode:  # the process ended, its number is another's
            raise ProcessLookupError(errno.ESRCH, "the process ended", space.path)
        question = _Question(request, handle)
        thread = threading.Thread(target=question.run, name="netns", daemon=True)
        thread.start()
        thread.join()
    finally:
        os.close(handle)
    if question.error is not None:
        try:
            raise question.error
        finally:
            question.error = None  # its traceback would keep the locals of every caller
    return question.answer


class _Question:
    """What the thread asks, and what it got."""

    def __init__(self, request: Request, handle: int) -> None:
        self.request, self.handle = request, handle
        self.answer = b""
        self.error: OSError | None = None

    def run(self) -> None:
        """Enter the namespace with this thread only, and ask."""
        kernel = Kernel()
        try:
            if ctypes.CDLL(None, use_errno=True).setns(self.handle, _NEWNET):
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))
            self.answer = kernel.ask(self.request)
        except OSError as error:
            self.error = error
        finally:
            kernel.close()


_SO_NETNS_COOKIE = 71  # include/uapi/asm-generic/socket.h, Linux 5.14


def cookie() -> int | None:
    """The namespace's cookie (SO_NETNS_COOKIE); None before Linux 5.14.

    The kernel never gives a cookie twice until it is booted again (net/core/net_namespace.c,
    `net_cookie`). The inode of /proc/self/ns/net is free for another namespace once this one ends.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as any_socket:
            raw = any_socket.getsockopt(socket.SOL_SOCKET, _SO_NETNS_COOKIE, 8)
    except OSError:
        return None
    return int(struct.unpack("=Q", raw)[0]) if len(raw) == 8 else None


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
