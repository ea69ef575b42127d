"""The network namespace of this process, as the kernel numbers it."""

from __future__ import annotations

import socket
import struct

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
