"""Unix sockets whose data waits: answers of unix_diag, and the kernel's own."""

import socket
import struct
from typing import Any

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
    writer, reader = told(2, 7, 41, (0, 8448), peer=40), told(2, 7, 40, (768, 0))
    assert sockets_unix.decode(writer + reader + told(1, 1, 42, (768, 0))) == [
        sockets_unix.Row(41, "dgram", 40, 8448, 212992),
        sockets_unix.Row(40, "dgram", None, 0, 212992, 768),
    ]


def test_listeners_have_their_backlog_and_the_clients_that_wait() -> None:
    waits, idle = told(1, 10, 50, (3, 2)), told(1, 10, 51, (0, 128))
    assert sockets_unix.decode(waits + idle) == [
        sockets_unix.Row(50, "listen", None, 3, 2), sockets_unix.Row(51, "listen", None, 0, 128),
    ]  # fmt: skip


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
            rows = sockets_unix.update(Live(), {})
        except OSError:
            pytest.skip("the kernel has no unix_diag")
        import os

        inode, peer = os.fstat(one.fileno()).st_ino, os.fstat(other.fileno()).st_ino
        (row,) = [row for row in rows if row.inode == inode]
        assert (row.type, row.peer) == ("dgram", peer)
        assert row.waiting >= 100
        assert row.room


class Answers:
    """A source that answers each request with the next of these."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = [*answers]

    def netlink(self, request: object) -> bytes:
        return self.answers.pop(0)


def test_threads_learn_which_readers_are_behind() -> None:
    full = told(2, 7, 41, (0, 6000), peer=40) + told(1, 1, 43, (0, 200_000), peer=42)
    some = told(2, 7, 45, (0, 900), peer=44) + told(2, 7, 46, (70, 0))
    source: Any = Answers(full + some, some, told(2, 7, 46, (0, 0)))
    memory: dict[type, Any] = {}
    seen = []
    for _ in range(3):
        sockets_unix.update(source, memory)
        seen.append(memory[sockets_unix.Known].behind)
    # 46 has a datagram at two readings, of writers that the kernel does not tell
    assert seen == [{40, 42}, {46}, set()]
