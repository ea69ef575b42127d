"""Sockets bound to :: that take IPv6 only (IPV6_V6ONLY): INET_DIAG_SKV6ONLY (net/ipv4/inet_diag.c).

/proc/net/tcp6 and the usual answer do not say it, and `net.ipv6.bindv6only` is only the default.
"""

from __future__ import annotations

from contextlib import suppress
from struct import unpack_from
from typing import Final

from ..frame.fields import label
from ..host.netlink import diag
from ..host.netlink.codec import attributes, messages
from ..host.source import Source
from ..terms.dataclass import dataclass

EVERY: Final = 5.0
OPTIONAL = True

_INODE_AT, _ATTRIBUTES_AT = 68, 72  # in struct inet_diag_msg


@dataclass(frozen=True, slots=True)
class Row:
    """One listening socket that takes IPv6 only."""

    inode: int = label("socket inode")


def read(source: Source) -> list[Row]:
    """Those of TCP and, where the kernel lists them, of UDP; OSError, ValueError."""
    rows = parse(diag.bound(source, diag.TCP))
    with suppress(FileNotFoundError):  # without the module udp_diag
        rows += parse(diag.bound(source, diag.UDP))
    return rows


def parse(reply: bytes) -> list[Row]:
    """The rows of an answer; ValueError if it is cut off."""
    rows = []
    for kind, start, end in messages(reply):
        if kind != diag.BY_FAMILY:
            continue
        if end - start < _ATTRIBUTES_AT:
            raise ValueError("a socket is cut off")
        for number, at, stop in attributes(reply, start + _ATTRIBUTES_AT, end):
            if number == diag.V6ONLY and reply[at:stop] == b"\1":
                rows.append(Row(unpack_from("=I", reply, start + _INODE_AT)[0]))
    return rows
