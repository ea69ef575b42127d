"""Local ports that closed TCP connections hold, by server: sock_diag (net/ipv4/inet_diag.c).

They are in TIME_WAIT, or in FIN_WAIT2 as long as the server has not closed too.

The kernel lists only sockets whose local port is of net.ipv4.ip_local_port_range. The local port of
an accepted connection is the port of the server, which is below the range on most hosts. If it is
not, each such connection is a group of one and has no row. The last row of a local address has no
server: it counts the different ports of all of them.

The kernel may choose for a connection those ports of the range that
net.ipv4.ip_local_reserved_ports does not list (inet_is_local_reserved_port() in include/net/ip.h).
"""

from collections import Counter
from contextlib import suppress
from struct import Struct
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import diag, route
from ..host.netlink.codec import messages
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Table

RANGE: Final = "net.ipv4.ip_local_port_range"
RESERVED: Final = "net.ipv4.ip_local_reserved_ports"


def available(whole: range, reserved: str) -> int:
    """How many ports of the range the list leaves, such as `8080,9148-9150`."""
    first, last = whole[0], whole[-1]
    taken = (max(0, min(end, last) - max(start, first) + 1) for start, end in _ranges(reserved))
    return len(whole) - sum(taken)


def _ranges(text: str) -> list[tuple[int, int]]:
    """The ranges of a list; other text is left out."""
    ranges = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if first.isdecimal() and (last.isdecimal() or not dash):
            ranges.append((int(first), int(last) if dash else int(first)))
    return ranges


TABLE: Final = Table(every=10.0, optional=True)

LEAST: Final = 100  # sockets of one server: fewer are not listed
SHARE: Final = 4  # … unless they hold 1/SHARE of the available ports
_RANGE, _RESERVED = (f"/proc/sys/{name.replace('.', '/')}" for name in (RANGE, RESERVED))
_SOCKETS: Final = "/proc/net/sockstat"
_SERVER: Final = Struct(">H16s16s")  # remote port, local address, remote address
_SERVER_AT: Final = 6  # in struct inet_diag_msg; the local port lies before it
_LOCAL: Final = slice(2, 18)  # of these the local address
_CUT: Final = 72  # bytes of that structure: a shorter message is cut off
_FIN_WAIT2: Final = 5  # idiag_state, its second byte


@dataclass(frozen=True, slots=True)
class Row:
    """Many closed connections from one local address to one remote address and port, or to all."""

    local: str = label("local address")
    remote: str = label("remote address; empty: all")
    remote_port: int = label("remote port")
    ports: int = gauge("local ports held in TIME_WAIT", "ports")
    half: int = gauge("local ports held in FIN_WAIT2: the server did not close", "ports", default=0)


def read(source: Source) -> list[Row]:
    """The servers with many such connections, the most first; OSError, ValueError.

    Nothing is asked while the host has too few sockets in TIME_WAIT for a row.
    """
    low, high = map(int, source.text(_RANGE).split())
    ports, reserved = range(low, high + 1), ""
    with suppress(OSError):
        reserved = source.text(_RESERVED)
    least = min(LEAST, max(1, available(ports, reserved) // SHARE))
    if waiting(source.text(_SOCKETS)) < least:
        return []
    return parse(diag.time_wait(source, low, high), least)


def waiting(sockstat: str) -> int:
    """The sockets in TIME_WAIT: `tw` of the line TCP; ValueError if it is not there."""
    for line in sockstat.splitlines():
        if line.startswith("TCP:"):
            words = line.split()
            return int(words[words.index("tw") + 1])
    raise ValueError(f"no line TCP: in {_SOCKETS}")


def parse(reply: bytes, least: int = LEAST) -> list[Row]:
    """The rows of an answer; ValueError if it is cut off."""
    groups: Counter[tuple[int, bytes]] = Counter()
    half: Counter[tuple[int, bytes]] = Counter()
    different: dict[tuple[int, bytes], dict[bytes, bool]] = {}
    for kind, start, end in messages(reply):
        if kind in (diag.BY_FAMILY, diag.EVERY_FAMILY):
            if end - start < _CUT:
                raise ValueError("a socket is cut off")
            at = start + _SERVER_AT
            server = reply[start], reply[at : at + _SERVER.size]
            closing = reply[start + 1] == _FIN_WAIT2
            groups[server] += 1
            half[server] += closing
            local = server[0], server[1][_LOCAL]
            different.setdefault(local, {})[reply[at - 2 : at]] = closing
    rows = []
    for one, count in groups.most_common():
        family, ends = one
        if count < least:
            break
        port, local_ip, remote = _SERVER.unpack(ends)
        size = 4 if family == diag.IPV4 else 16
        rows.append(Row(route.ip(local_ip[:size]), route.ip(remote[:size]), port,
                        count - half[one], half[one]))  # fmt: skip
    for (family, raw), ports in different.items():
        if len(ports) >= least:
            unclosed = sum(ports.values())
            address = route.ip(raw[: 4 if family == diag.IPV4 else 16])
            rows.append(Row(address, "", 0, len(ports) - unclosed, unclosed))
    return rows
