"""Requests to sock_diag for sockets of one family, and their answers (net/core/sock_diag.c)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from ..host.netlink.codec import messages
from ..host.netlink.diag import BY_FAMILY
from ..host.request import Request

# struct packet_diag_msg: family, type, protocol, inode, then a cookie; xdp_diag_msg is alike
HEADER: Final = struct.Struct("=BBHI8x")


def request(family: int, show: int, name: str) -> Request:
    """Ask for every socket of the address family; `show` are the bits of its attributes.

    The layout is that of struct packet_diag_req and struct xdp_diag_req; the cookie is "any".
    """
    body = struct.pack("=BBHIIII", family, 0, 0, 0, show, 0xFFFFFFFF, 0xFFFFFFFF)
    return Request("sock_diag", BY_FAMILY, body, f"sock_diag/{name}", dump=True)


def sockets(reply: bytes, name: str) -> Iterator[tuple[int, int]]:
    """The start and the end of each socket's message; ValueError if one is cut off."""
    for kind, start, end in messages(reply):
        if kind == BY_FAMILY:
            if end - start < HEADER.size:
                raise ValueError(f"a {name} message is cut off")
            yield start, end
