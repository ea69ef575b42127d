"""Which interface carries a session: what the kernel is asked for."""

import errno
import socket
import struct

import pytest
from netlink_bytes import Fake, message, number

from nettop.changes import ssh
from nettop.host.netlink.codec import Request


class Asked(Fake):
    """Answers one route by interface 2; keeps the question."""

    def netlink(self, request: Request) -> bytes:
        self.request = request
        return message(24, bytes(12) + number(4, 2))


@pytest.mark.parametrize(
    ("address", "family", "raw"),
    [
        ("10.1.2.3", socket.AF_INET, bytes([10, 1, 2, 3])),
        ("2001:db8::1", socket.AF_INET6, bytes.fromhex("20010db8") + bytes(11) + b"\1"),
        ("::ffff:10.1.2.3", socket.AF_INET, bytes([10, 1, 2, 3])),
    ],
)
def test_the_route_of_the_whole_address_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, address: str, family: int, raw: bytes
) -> None:
    source = Asked()
    monkeypatch.setattr(ssh, "names", lambda _source: {1: "lo", 2: "eth0"})
    assert ssh.carriers(source, address) == ("eth0",)
    body = source.request.body
    # struct rtmsg: family and the length of the prefix; all else, table and flags too, is zero
    assert body[:12] == bytes([family, 8 * len(raw)]) + bytes(10)
    assert body[12:] == struct.pack("=HH", 4 + len(raw), 1) + raw


def test_loopback_carries_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh, "names", lambda _source: {2: "lo"})
    assert ssh.carriers(Asked(), "127.0.0.1") == ()


def test_a_session_whose_route_cannot_be_read_is_not_taken_for_none() -> None:
    class Fails(Fake):
        def __init__(self, number: int) -> None:
            self.error = OSError(number, "odd")

        def netlink(self, request: Request) -> bytes:
            raise self.error

    assert ssh.carriers(Fails(errno.ENETUNREACH), "192.0.2.1") == ()
    for error in (errno.ENOBUFS, errno.EAFNOSUPPORT, errno.EPERM):
        with pytest.raises(OSError, match="odd"):
            ssh.carriers(Fails(error), "192.0.2.1")
