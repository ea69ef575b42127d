"""UDP sockets with their queues and drops: /proc/net/udp and /proc/net/udp6.

net/ipv4/udp.c, udp4_format_sock(): addresses are words of 32 bits in the host's byte order, ports
and queues hexadecimal; `drops` is the last column. Sockets of this network namespace.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from ..files.bounds import count, counts
from ..frame.fields import counter, gauge, label, light
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _lines
from ._table import Memory, Table, parsed, recall

# `threads` looks at the processes whose sockets lose data
TABLE: Final = Table(
    every=1.0, needed="drops of UDP sockets", may_be_empty=True, may_rest=True,
    keep_open=("/proc/net/udp", "/proc/net/udp6"), memory="sockets",
)  # fmt: skip


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One socket."""

    inode: int = label("socket inode; 0: closed, not yet removed")
    local: str = label("local address; 0.0.0.0 or :: for any")
    local_port: int = label("local port")
    remote: str = gauge("remote address, when connected")
    remote_port: int = gauge("remote port; 0: not connected")
    ipv6: bool = gauge("over IPv6")
    send_q: int = gauge("bytes queued to send", "bytes")
    recv_q: int = gauge("unread bytes", "bytes")
    uid: int = gauge("user")
    drops: int = counter("datagrams dropped at the socket", "packets")


@dataclass
class Known:
    """The sockets of the last reading, for `threads` and `udp_questions`."""

    rows: Sequence[Row] = ()
    at: float | None = None  # seconds of the source's clock


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every socket. OSError without /proc/net/udp, ValueError for another format."""
    rows = parsed(memory, "udp", source.text("/proc/net/udp"), parse)
    with suppress(FileNotFoundError):  # a kernel without IPv6
        rows = _lines.together(rows, parsed(memory, "udp6", source.text("/proc/net/udp6"), parse))
    known = recall(memory, Known)
    known.rows, known.at = rows, source.now()
    return rows


def parse(text: str) -> Sequence[Row]:
    """The sockets of the text of one file; ValueError for another format, also an empty one."""
    head, *lines = text.splitlines() or [""]
    if head.split()[:1] != ["sl"]:
        raise ValueError("/proc/net/udp has no header")
    return _lines.rows(lines, _row, "/proc/net/udp")


def _row(line: str) -> Row:
    words = line.split()
    if len(words) < 13:
        raise ValueError(f"a short line: {line[:60]!r}")
    local, local_port = end(words[1])
    remote, remote_port = end(words[2])
    send_q, _, recv_q = words[4].partition(":")
    sent, received = counts((send_q, recv_q), 16)
    inode, uid, drops = counts((words[9], words[7], words[12]))
    return Row(
        inode, local, local_port, remote, remote_port, ":" in local, sent, received, uid, drops
    )


def end(word: str) -> tuple[str, int]:
    """Address and port of a text such as `0100007F:0035`; ValueError for another form."""
    digits, _, port = word.partition(":")
    return _address(digits), count(port, 16)


@lru_cache(4096)
def _address(digits: str) -> str:
    raw = bytes.fromhex(digits)
    if sys.byteorder == "little":
        raw = b"".join(raw[i : i + 4][::-1] for i in range(0, len(raw), 4))
    if len(raw) == 4:
        return str(IPv4Address(raw))
    address = IPv6Address(raw)
    return str(address.ipv4_mapped or address)  # IPv4 at an IPv6 socket, as in sockets_tcp
