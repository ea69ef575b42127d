"""Unix sockets whose data waits: answers of unix_diag, and the kernel's own."""

from __future__ import annotations

import socket
import struct

import pytest
from netlink_bytes import message

from nettop.collect import sockets_unix
from nettop.host.netlink.codec import attribute
from nettop.host.source import Live

BY_FAMILY = 20


def told(kind: int, state: int, inode: int, queue: tuple[int, int], peer: int = 0) -> bytes:
    """struct unix_diag_msg with its queues, its peer and its memory."""
    body = struct.pack("=BBBBI8x", 1, kind, state, 0, inode)
    body += attribute(4, struct.pack("=II", *queue))
    if peer:
        body += attribute(2, struct.pack("=I", peer))
    return message(
        BY_FAMILY, body + attribute(5, struct.pack("=9I", 0, 0, queue[1], 212992, *[0] * 5))
    )


def test_a_writer_whose_reader_is_behind() -> None:
    (row,) = sockets_unix.decode(told(2, 7, 41, (0, 8448), peer=40) + told(2, 7, 40, (768, 0)))
    assert row == sockets_unix.Row(41, "dgram", 40, 8448, 212992)


def test_a_listener_with_clients_that_wait() -> None:
    waits, idle = told(1, 10, 50, (3, 2)), told(1, 10, 51, (0, 128))
    assert sockets_unix.decode(waits + idle) == [sockets_unix.Row(50, "listen", None, 3, 2)]


def test_a_message_that_is_cut_off() -> None:
    with pytest.raises(ValueError, match="unix_diag"):
        sockets_unix.decode(message(BY_FAMILY, b"\1\1"))


def test_a_message_without_attributes_waits_for_nothing() -> None:
    assert sockets_unix.decode(message(BY_FAMILY, struct.pack("=BBBBI8x", 1, 2, 7, 0, 9))) == []


def test_the_kernel_lists_the_sockets_of_this_process() -> None:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        one.send(bytes(100))
        try:
            rows = sockets_unix.read(Live())
        except OSError:
            pytest.skip("the kernel has no unix_diag")
        import os

        inode, peer = os.fstat(one.fileno()).st_ino, os.fstat(other.fileno()).st_ino
        (row,) = [row for row in rows if row.inode == inode]
        assert (row.type, row.peer) == ("dgram", peer)
        assert row.waiting >= 100
        assert row.room
