"""MPTCP sockets from the bytes of sock_diag; asked for while a TCP socket is a subflow."""

import struct
from typing import Any

import pytest
from netlink_bytes import Fake, message, nest, text

from nettop.collect import sockets_tcp_multipath as multipath
from nettop.host.netlink.codec import attribute
from nettop.sampling.sampler import Sampler

TABLES = ("sockets_tcp", "sockets_tcp_multipath")


def socket(*attributes: bytes) -> bytes:
    """A connected socket (struct inet_diag_msg)."""
    head = struct.pack("=BBBB", 2, 1, 0, 0) + struct.pack(">HH", 5001, 40000) + bytes(32)
    head += struct.pack("=IQIIIII", 0, 92, 0, 0, 0, 0, 4711)
    return message(20, head + b"".join(attributes))


def mptcp(*, memory: int = 9, info: int = 84) -> bytes:
    """A MPTCP socket, with so many words of memory and so many bytes of mptcp_info."""
    words = attribute(7, struct.pack(f"={memory}I", *range(10, 10 + memory)))
    # subflows, flags, token, write_seq, snd_una
    numbers = struct.pack("=B7xIIQQ", 1, 0, 0xA0B1, (1 << 63) + 5000, (1 << 63) + 2000)
    return socket(words, attribute(2, numbers.ljust(84, b"\0")[:info]))


def subflow() -> bytes:
    """A TCP socket with INET_DIAG_ULP_INFO of MPTCP."""
    return socket(nest(22, text(1, "mptcp"), attribute(3, bytes(8))))


def source(tcp: bytes, asked: bytes | int) -> Any:
    return Fake({"sock_diag/tcp": tcp, "sock_diag/mptcp4": asked, "sock_diag/mptcp6": 2})


def test_every_field_is_where_the_kernel_puts_it() -> None:
    frame = Sampler(source(subflow(), mptcp())).take(TABLES)
    (row,) = frame.rows("sockets_tcp_multipath")
    assert row == multipath.Row(92, 0, 4711, 0xA0B1, 1, 10, 11, 13, 15, 3000)
    assert frame.rows("sockets_tcp")[0].inode == row.inode


def test_the_kernel_is_asked_for_them_only_with_a_subflow() -> None:
    frame = Sampler(source(socket(), 13)).take(TABLES)
    assert (frame.rows("sockets_tcp_multipath"), dict(frame.missing)) == ([], {})
    refused = Sampler(source(subflow(), 13)).take(TABLES)
    assert "sockets_tcp_multipath" in refused.missing


def test_a_kernel_that_says_less_of_a_socket_gives_no_row() -> None:
    assert list(multipath.parse(mptcp(memory=2))) == []
    assert list(multipath.parse(mptcp(info=24))) == []
    assert len(list(multipath.parse(mptcp() * 3))) == 3


def test_an_answer_that_is_cut_off() -> None:
    with pytest.raises(ValueError, match="cut off"):
        list(multipath.parse(message(20, bytes(40))))
