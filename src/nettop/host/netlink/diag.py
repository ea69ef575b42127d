"""TCP sockets by sock_diag (net/ipv4/inet_diag.c, tcp_diag.c).

A dump walks the kernel's whole table of connections (a quarter of a million places with 8 GiB of
memory, 0.3 ms though all are empty) and gives those of the family asked for. The request of Linux
2.6.14 names no family, so one walk gives both; where it is not known, each family is requested.
"""

import struct
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Final

from ..source import Source
from .codec import Request, Space, of_kind

BY_FAMILY: Final = 20  # SOCK_DIAG_BY_FAMILY
EVERY_FAMILY: Final = 18  # TCPDIAG_GETSOCK
IPV4, IPV6, TCP = 2, 10, 6
INFO, CONG, SKMEMINFO = 2, 4, 7  # INET_DIAG_* attributes; asked for by bit number - 1
SKV6ONLY: Final = 11  # INET_DIAG_SKV6ONLY: always there for a listening socket of IPv6
STATES: Final = (
    "unknown", "established", "syn-sent", "syn-recv", "fin-wait-1", "fin-wait-2", "time-wait",
    "close", "close-wait", "last-ack", "listen", "closing", "new-syn-recv",
)  # fmt: skip
MPTCP: Final = 262  # IPPROTO_MPTCP: more than the byte of the request holds
# INET_DIAG_ULP_INFO of a subflow begins with the name "mptcp" (INET_ULP_INFO_NAME)
SUBFLOW: Final = struct.pack("=HH", 10, 1) + b"mptcp\0"
_PROTOCOL: Final = 3  # INET_DIAG_REQ_PROTOCOL
_BYTECODE, _LOCAL_PORT_FROM, _LOCAL_PORT_TO = 1, 2, 3  # INET_DIAG_REQ_BYTECODE, _BC_S_GE, _BC_S_LE
FIN_WAIT_2: Final = STATES.index("fin-wait-2")
LISTEN: Final = STATES.index("listen")
# sockets that can still move data, and those that listen; not the many that only wait to be gone
_MOVING: Final = ("established", "syn-sent", "fin-wait-1", "fin-wait-2", "close-wait", "last-ack")
_WANTED: Final = sum(1 << STATES.index(state) for state in (*_MOVING, "listen"))


_EXTENSIONS: Final = 1 << INFO - 1 | 1 << CONG - 1 | 1 << SKMEMINFO - 1
_BOTH: Final = Request(
    "sock_diag",
    EVERY_FAMILY,
    struct.pack("=3xB48xI4x", _EXTENSIONS, _WANTED),
    "sock_diag/tcp",
    dump=True,
)


def tcp(source: Source, space: Space | None = None) -> bytes:
    """Every TCP socket that moves data or listens, with tcp_info and its memory.

    With `space`, those of another network namespace, by one request only.
    """
    if space is not None:
        return source.netlink(replace(_BOTH, name=f"{_BOTH.name}@{space.inode}", space=space))
    try:
        return source.netlink(_BOTH)
    except OSError:
        found = _family(source, IPV4)
        with suppress(OSError):  # a kernel without IPv6
            found += _family(source, IPV6)
        return found


def _family(source: Source, family: int) -> bytes:
    body = struct.pack("=BBBxI48x", family, TCP, _EXTENSIONS, _WANTED)
    name = "sock_diag/tcp4" if family == IPV4 else "sock_diag/tcp6"
    return source.netlink(Request("sock_diag", BY_FAMILY, body, name, dump=True))


def mptcp(source: Source, space: Space | None = None) -> bytes:
    """Every MPTCP socket that moves data, with mptcp_info and its memory (net/mptcp/mptcp_diag.c).

    The request has the protocol as an attribute, since Linux 5.9; older kernels refuse protocol 0.
    """
    found = b""
    for family, name in ((IPV4, "sock_diag/mptcp4"), (IPV6, "sock_diag/mptcp6")):
        body = struct.pack("=BBBxI48xHHI", family, 0, _EXTENSIONS, _WANTED & ~(1 << LISTEN),
                           8, _PROTOCOL, MPTCP)  # fmt: skip
        asked = name if space is None else f"{name}@{space.inode}"
        with suppress(FileNotFoundError) if family == IPV6 else nullcontext():  # without IPv6
            found += source.netlink(
                Request("sock_diag", BY_FAMILY, body, asked, dump=True, space=space)
            )
    return found


def time_wait(source: Source, low: int, high: int) -> bytes:
    """Every TCP socket in TIME_WAIT or FIN_WAIT2 whose local port is from `low` to `high`.

    A socket in FIN_WAIT2 waits for the peer's close; soon the kernel keeps it as one in TIME_WAIT.
    INET_DIAG_REQ_BYTECODE selects the ports: two comparisons, each with an offset to the next one
    if it is true, and an offset past the end if it is false.
    """
    code = b"".join(
        struct.pack("=BBHBBH", comparison, 8, end, 0, 0, port)
        for comparison, end, port in ((_LOCAL_PORT_FROM, 20, low), (_LOCAL_PORT_TO, 12, high))
    )
    states = 1 << STATES.index("time-wait") | 1 << FIN_WAIT_2
    body = struct.pack("=4x48xI4xHH", states, 4 + len(code), _BYTECODE) + code
    return source.netlink(Request("sock_diag", EVERY_FAMILY, body, "sock_diag/time-wait", True))


def half_open(source: Source) -> bytes:
    """Every connection request in SYN_RECV, IPv4 and IPv6.

    The state of request sockets in the table is TCP_NEW_SYN_RECV since Linux 4.4; the kernel gives
    them where SYN_RECV is asked for (net/ipv4/inet_diag.c, inet_diag_dump_icsk()).
    """
    body = struct.pack("=4x48xI4x", 1 << STATES.index("syn-recv"))
    return source.netlink(Request("sock_diag", EVERY_FAMILY, body, "sock_diag/syn-recv", True))


# struct packet_diag_msg: family, type, protocol, inode, then a cookie; xdp_diag_msg is alike
HEADER: Final = struct.Struct("=BBHI8x")


def of_family(family: int, show: int, name: str) -> Request:
    """Ask for every socket of the address family; `show` are the bits of its attributes.

    The layout is that of struct packet_diag_req and struct xdp_diag_req; the cookie is "any".
    """
    body = struct.pack("=BBHIIII", family, 0, 0, 0, show, 0xFFFFFFFF, 0xFFFFFFFF)
    return Request("sock_diag", BY_FAMILY, body, f"sock_diag/{name}", dump=True)


def sockets(reply: bytes, name: str) -> Iterator[tuple[int, int]]:
    """The start and the end of each socket's message; ValueError if one is cut off."""
    return of_kind(reply, BY_FAMILY, HEADER.size, f"a {name} message")
