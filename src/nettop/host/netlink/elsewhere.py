"""Netlink in another network namespace: a thread enters it, asks, and ends (setns(2)).

A socket belongs for ever to the namespace in which it was made, and keeps that namespace alive. So
each question has a thread and a socket of its own, and nothing stays open between two of them: a
container that ends takes its interfaces with it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
import threading

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
