"""The attempts to connect that had begun before they were counted, and who makes them.

The kernel does not say which program a socket in SYN-SENT belongs to: the links of /proc/PID/fd do.
Where no attempt is under way, none of them is read. net/ipv4/inet_diag.c, sock_diag(7).
"""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress
from typing import Final

from ..netlink.codec import Request, messages
from ..netlink.diag import BY_FAMILY
from ..netlink.kernel import Kernel

_SYN_SENT: Final = 1 << 2
_INODE: Final = 68  # bytes from the begin of struct inet_diag_msg
_MOST: Final = 20_000  # links that are read

Owners = dict[int, tuple[int, bytes]]  # inode → process and its name


def attempts() -> Owners:
    """Who makes the attempts of this network namespace; those whose program is not found miss."""
    inodes = set[int]()
    with suppress(OSError, ValueError):
        kernel = Kernel()
        for family in (socket.AF_INET, socket.AF_INET6):
            body = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, 0, _SYN_SENT)
            answer = kernel.ask(Request("sock_diag", BY_FAMILY, body, "sock_diag/begun", dump=True))
            for kind, start, end in messages(answer):
                if kind == BY_FAMILY and end - start >= _INODE + 4:
                    inodes.add(struct.unpack_from("=I", answer, start + _INODE)[0])
    return owners(inodes - {0})


def owners(inodes: set[int]) -> Owners:
    """The process that holds each of these sockets, as far as it is found."""
    found, left = Owners(), _MOST
    names = {f"socket:[{inode}]": inode for inode in inodes}
    for pid in filter(str.isdecimal, os.listdir("/proc") if inodes else ()):
        with suppress(OSError):  # it is gone, or of another user
            for one in os.listdir(f"/proc/{pid}/fd")[:left]:
                left -= 1
                inode = names.get(os.readlink(f"/proc/{pid}/fd/{one}"))
                if inode is not None:
                    with open(f"/proc/{pid}/comm", "rb") as file:
                        found[inode] = int(pid), file.read(16).rstrip(b"\n").ljust(16, b"\0")
        if not left or len(found) == len(inodes):
            break
    return found
