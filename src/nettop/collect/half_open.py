"""Handshakes that wait for their last segment, by address and port: sock_diag (inet_diag.c).

The kernel counts SYN cookies for the host only. The connection requests that it keeps are in the
table of connections, in the state SYN_RECV; those of one listener are at most its backlog
(net/ipv4/tcp_input.c, tcp_conn_request()).
"""

from __future__ import annotations

from collections import Counter
from struct import Struct
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import diag, route
from ..host.netlink.codec import messages
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Table

TABLE: Final = Table(every=2.0, optional=True)

_COUNTERS: Final = "/proc/net/netstat"
_FULL: Final = ("TCPReqQFullDoCookies", "TCPReqQFullDrop")
_LOCAL: Final = Struct(">H2x16s")  # local port, local address
_LOCAL_AT: Final = 4  # in struct inet_diag_msg
_CUT: Final = 72  # bytes of that structure: a shorter message is cut off


@dataclass(frozen=True, slots=True)
class Row:
    """The handshakes at one local address and port."""

    local: str = label("local address")
    local_port: int = label("local port")
    waiting: int = gauge("handshakes that wait for their last segment", "connections")


def read(source: Source) -> list[Row]:
    """The addresses with such handshakes, the most first; OSError, ValueError.

    Nothing is asked while no SYN queue of the host has been full since boot.
    """
    if not full(source.text(_COUNTERS)):
        return []
    return parse(diag.half_open(source))


def full(netstat: str) -> bool:
    """Whether a SYN queue was ever full, by the counters of TcpExt."""
    lines = [line.split() for line in netstat.splitlines() if line.startswith("TcpExt:")]
    if len(lines) != 2:
        raise ValueError(f"no counters TcpExt: in {_COUNTERS}")
    counts = dict(zip(*lines, strict=False))
    return any(counts.get(name, "0") != "0" for name in _FULL)


def parse(reply: bytes) -> list[Row]:
    """The rows of an answer; ValueError if it is cut off."""
    groups: Counter[tuple[int, int, bytes]] = Counter()  # family, port, address
    for kind, start, stop in messages(reply):
        if kind in (diag.BY_FAMILY, diag.EVERY_FAMILY):
            if stop - start < _CUT:
                raise ValueError("a socket is cut off")
            groups[reply[start], *_LOCAL.unpack_from(reply, start + _LOCAL_AT)] += 1
    return [
        Row(route.ip(local[: 4 if family == diag.IPV4 else 16]), port, count)
        for (family, port, local), count in groups.most_common()
    ]
