"""Sockets that take IPv6 only, from the bytes of sock_diag."""

from __future__ import annotations

import struct

import pytest
from netlink_bytes import message

from nettop.collect import ipv6_only
from nettop.host.netlink import diag
from nettop.host.request import Request


def socket(inode: int, only: bool | None) -> bytes:
    """A struct inet_diag_msg with INET_DIAG_SKV6ONLY; None: an older kernel, without it."""
    body = struct.pack("=B67xI", diag.IPV6, inode)
    more = b"" if only is None else struct.pack("=HHB3x", 5, diag.V6ONLY, only)
    return message(diag.BY_FAMILY, body + more)


class Host:
    """Answers for TCP; lists UDP sockets only with its module."""

    def __init__(self, *, udp: bool) -> None:
        self.udp = udp

    def netlink(self, request: Request) -> bytes:
        if request.name == "sock_diag/listen6":
            return socket(7, True) + socket(8, False) + socket(9, None)
        if not self.udp:
            raise FileNotFoundError(2, "the module for it is not there")
        return socket(11, True)


@pytest.mark.parametrize(("udp", "inodes"), [(True, [7, 11]), (False, [7])])
def test_sockets_that_take_ipv6_only(udp: bool, inodes: list[int]) -> None:
    assert [row.inode for row in ipv6_only.read(Host(udp=udp))] == inodes  # type: ignore[arg-type]


def test_a_cut_answer_is_an_error() -> None:
    with pytest.raises(ValueError, match="cut off"):
        ipv6_only.parse(message(diag.BY_FAMILY, bytes(40)))
