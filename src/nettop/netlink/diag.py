"""TCP sockets by sock_diag: one question an address family (net/ipv4/inet_diag.c, tcp_diag.c)."""

from __future__ import annotations

import struct
from typing import Final

from ..source import Request, Source

BY_FAMILY: Final = 20  # SOCK_DIAG_BY_FAMILY
IPV4, IPV6, TCP = 2, 10, 6
INFO, CONG, SKMEMINFO = 2, 4, 7  # INET_DIAG_* attributes; asked for by bit number - 1
STATES: Final = (
    "unknown", "established", "syn-sent", "syn-recv", "fin-wait-1", "fin-wait-2", "time-wait",
    "close", "close-wait", "last-ack", "listen", "closing", "new-syn-recv",
)  # fmt: skip
LISTEN: Final = STATES.index("listen")
# sockets that can still move data, and those that listen; not the many that only wait to be gone
_WANTED: Final = sum(
    1 << STATES.index(state)
    for state in ("established", "syn-sent", "fin-wait-1", "close-wait", "last-ack", "listen")
)


def tcp(source: Source, family: int) -> bytes:
    """Every TCP socket of a family that moves data or listens, with tcp_info and its memory."""
    wanted = 1 << INFO - 1 | 1 << CONG - 1 | 1 << SKMEMINFO - 1
    body = struct.pack("=BBBxI48x", family, TCP, wanted, _WANTED)
    name = "sock_diag/tcp4" if family == IPV4 else "sock_diag/tcp6"
    return source.netlink(Request("sock_diag", BY_FAMILY, body, name, dump=True))
