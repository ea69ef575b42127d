"""Tables of the older iptables: IPT_SO_GET_INFO and IPT_SO_GET_ENTRIES of a socket.

net/ipv4/netfilter/ip_tables.c, get_info() and get_entries(); IPv6 has the same numbers
(include/uapi/linux/netfilter_ipv{4,6}/ip{,6}_tables.h). Both need CAP_NET_ADMIN. A question about a
table makes the kernel create it.
"""

import ctypes
import os
import socket
import struct
from typing import Final

FAMILY: Final = "xtables"  # of requests; no netlink
LEVELS: Final = {
    "ip": (socket.AF_INET, socket.IPPROTO_IP), "ip6": (socket.AF_INET6, socket.IPPROTO_IPV6),
}  # fmt: skip
_INFO, _ENTRIES = 64, 65
NAME: Final = 32  # bytes of the name of a table
INFO: Final = struct.Struct("=32sI5I5III")  # hooks, first entries, policies, number, size
HEAD: Final = 40  # struct ipt_get_entries before its entries


def ask(family: int, table: bytes) -> bytes:
    """The INFO of a table, then its entries; OSError."""
    level = next(level for kind, level in LEVELS.values() if kind == family)
    with socket.socket(family, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.IPPROTO_RAW) as way:
        info = _get(way, level, _INFO, table.ljust(NAME, b"\0"), INFO.size)
        size = INFO.unpack(info)[-1]
        head = table.ljust(NAME, b"\0") + struct.pack("=II", size, 0)
        return info + _get(way, level, _ENTRIES, head, HEAD + size)[HEAD:]


def _get(way: socket.socket, level: int, option: int, asked: bytes, size: int) -> bytes:
    """getsockopt() of what is also an argument, which that of Python is not."""
    room, length = ctypes.create_string_buffer(asked, size), ctypes.c_uint32(size)
    call = ctypes.CDLL(None, use_errno=True).getsockopt
    if call(way.fileno(), level, option, room, ctypes.byref(length)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return room.raw[: length.value]
