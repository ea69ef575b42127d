"""The conversation with the kernel: whole dumps, interrupted ones, errors, silence."""

import errno
import os
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from nettop.host.far import kernel
from nettop.host.netlink.codec import HEADER, Request
from nettop.host.netlink.kernel import Kernel
from nettop.host.source import Live

PORT = 4242
ASK = Request("route", 18, b"", "route/links", dump=True)


def part(kind: int, body: bytes = b"", flags: int = 2, sequence: int | None = None) -> bytes:
    number = kernel.SEQUENCE if sequence is None else sequence
    return HEADER.pack(16 + len(body), kind, flags, number, PORT) + body


DONE = part(3, bytes(4))


class Door:
    """A socket that says what the test tells it to."""

    def __init__(self, *said: bytes | OSError) -> None:
        self.said = list(said)
        self.sent: list[bytes] = []
        self.closed = False

    def send(self, raw: bytes) -> int:
        self.sent.append(raw)
        return len(raw)

    def recv_into(self, room: bytearray) -> int:
        said = self.said.pop(0)
        if isinstance(said, OSError):
            raise said
        room[: len(said)] = said
        return len(said)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def doors(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Door]]:
    waiting: list[Door] = []

    def opened(self: kernel.Conversation, protocol: int) -> tuple[Any, int]:
        known = self._sockets.get(protocol)
        if known is None:
            door: Any = waiting.pop(0)
            known = self._sockets[protocol] = door, PORT
        return known

    monkeypatch.setattr(kernel.Conversation, "_open", opened)
    yield waiting
    assert not waiting


def test_the_end_may_come_alone_and_an_old_answer_is_not_ours(doors: list[Door]) -> None:
    stale = HEADER.pack(20, 16, 2, 1, PORT) + b"old."
    doors.append(Door(stale, part(16, b"aaaa"), DONE))
    assert Kernel().ask(ASK) == part(16, b"aaaa")


def test_a_payload_that_looks_like_a_header_does_not_end_the_dump(doors: list[Door]) -> None:
    trap = struct.pack("=II", kernel.SEQUENCE, PORT) * 3
    doors.append(Door(part(16, trap), part(16, b"bbbb") + DONE))
    assert Kernel().ask(ASK) == part(16, trap) + part(16, b"bbbb")


def test_an_interrupted_dump_is_asked_again(doors: list[Door]) -> None:
    door = Door(part(16, b"aaaa", flags=0x12), DONE, part(16, b"bbbb"), DONE)
    doors.append(door)
    assert Kernel().ask(ASK) == part(16, b"bbbb")
    assert len(door.sent) == 2
    assert door.sent[0] == door.sent[1]


def test_a_list_that_never_stands_still_is_an_error(doors: list[Door]) -> None:
    doors.append(Door(*[part(16, b"aaaa", flags=0x12), DONE] * 4))
    with pytest.raises(OSError, match="kept changing") as caught:
        Kernel().ask(ASK)
    assert caught.value.errno == errno.EAGAIN


def test_lost_replies_are_asked_for_again_on_a_new_socket(doors: list[Door]) -> None:
    lost = Door(part(16, b"aaaa"), OSError(errno.ENOBUFS, "No buffer space available"))
    doors += [lost, Door(part(16, b"bbbb") + DONE)]
    assert Kernel().ask(ASK) == part(16, b"bbbb")
    assert lost.closed


def test_a_silent_kernel_is_a_timeout_and_what_comes_late_is_never_read(doors: list[Door]) -> None:
    silent = Door(BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"))
    doors += [silent, Door(part(16, b"bbbb") + DONE)]
    one = Kernel()
    with pytest.raises(TimeoutError, match="did not answer within"):
        one.ask(ASK)
    assert silent.closed
    assert one.ask(ASK) == part(16, b"bbbb")


def test_a_change_is_never_sent_twice(doors: list[Door]) -> None:
    busy = part(2, struct.pack("=i", -errno.EBUSY) + bytes(16), flags=0x100)
    door = Door(busy)
    doors.append(door)
    with pytest.raises(OSError, match="busy"):
        Kernel().change("route", 19, b"")
    assert len(door.sent) == 1
    assert HEADER.unpack_from(door.sent[0])[2] == 5  # request, acknowledge


def test_an_error_at_the_end_of_a_dump_is_raised(doors: list[Door]) -> None:
    doors.append(Door(part(16, b"aaaa") + part(3, struct.pack("=i", -errno.EIO))))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        Kernel().ask(ASK)


def test_a_generic_family_is_looked_up_once(doors: list[Door]) -> None:
    family = part(16, struct.pack("=BBH", 1, 2, 0) + struct.pack("=HHHH", 6, 1, 21, 0))
    ack = part(2, bytes(20), flags=0x100)
    door = Door(family, ack, part(21, b"aaaa"), ack, part(21, b"bbbb"), ack)
    doors.append(door)
    one = Kernel()
    question = Request("ethtool", 15, b"", "ethtool/rings/eth0")
    assert one.ask(question) == part(21, b"aaaa")
    assert one.ask(question) == part(21, b"bbbb")
    assert len(door.sent) == 3
    assert HEADER.unpack_from(door.sent[1])[1] == 21
    assert door.sent[1][16:] == struct.pack("=BBH", 15, 1, 0)


def test_a_kernel_without_the_family_says_so(doors: list[Door]) -> None:
    refusal = part(2, struct.pack("=i", -errno.ENOENT) + bytes(16), flags=0x100)
    doors.append(Door(refusal))
    with pytest.raises(FileNotFoundError, match="this kernel has no ethtool netlink"):
        Kernel().ask(Request("ethtool", 15, b"", "ethtool/rings"))


def test_a_kind_of_socket_without_its_module_is_told(doors: list[Door]) -> None:
    doors.append(Door(part(2, struct.pack("=i", -errno.ENOENT) + bytes(16), flags=0x100)))
    with pytest.raises(FileNotFoundError, match="the module for it is not there"):
        Kernel().ask(Request("sock_diag", 20, b"", "sock_diag/tcp4", dump=True))


@pytest.mark.parametrize("name", ["", "a" * 16, "a\0b"])
def test_a_name_that_is_no_interface_never_reaches_the_kernel(name: str) -> None:
    with pytest.raises(OSError, match="no such interface"):
        Kernel().ioctl(name, bytes(8))


def test_an_ioctl_larger_than_any_answer_is_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        Kernel().ioctl("lo", bytes(1 << 23))


@pytest.mark.skipif(not os.path.exists("/proc/net/dev"), reason="not a Linux kernel")
def test_this_kernel_answers_the_same_bytes_twice() -> None:
    """A recording overlays only what changed: sequence numbers and ports must not."""
    source = Live()
    try:
        first = source.netlink(Request("route", 22, bytes(8), "route/addresses", dump=True))
    except OSError as error:
        pytest.skip(f"netlink is not to be had here: {error}")
    assert first == source.netlink(Request("route", 22, bytes(8), "route/addresses", dump=True))
