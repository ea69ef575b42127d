"""Questions for hardware addresses: what is counted of what arrives, and its rows."""

import socket
import struct
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.collect import arp_requests
from nettop.host.bpf import arp

MAC = "02:00:00:00:00:09"
BROADCAST, HOST = socket.PACKET_BROADCAST, socket.PACKET_HOST


def packet(source: str, target: str, operation: int = 1, kind: int = BROADCAST) -> Any:
    head = struct.pack("!HHBBH", 1, 0x0800, 6, 4, operation)
    mac = bytes.fromhex(MAC.replace(":", ""))
    ends = mac + ip_address(source).packed + bytes(6) + ip_address(target).packed
    return head + ends, ("br0", 0x0806, kind, 1, mac)


class Door:
    """A packet socket with what arrives there."""

    def __init__(self, *found: Any) -> None:
        self.found = list(found)

    def recvfrom(self, size: int) -> Any:
        if not self.found:
            raise BlockingIOError
        data, where = self.found.pop(0)
        return data[:size], where

    def close(self) -> None:
        self.found = []


def test_a_question_that_is_repeated_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = packet("10.0.0.9", "10.0.0.1")
    door = Door(
        ask, packet("10.0.0.9", "10.0.0.1", operation=2),  # an answer
        packet("10.0.0.9", "10.0.0.1", kind=HOST),  # to a neighbour that is known
        packet("0.0.0.0", "10.0.0.1"),  # a probe
        (ask[0][:20], ask[1]), ask,
    )  # fmt: skip
    monkeypatch.setattr(socket, "socket", lambda *_: door)
    counter = arp.Counter()
    (row,) = arp_requests.parse(counter.text())
    known = row.interface, row.source, row.hardware, row.target, row.requests
    assert known == ("br0", "10.0.0.9", MAC, "10.0.0.1", 2)
    door.found = [ask]
    assert [one.requests for one in arp_requests.parse(counter.text())] == [3]
    counter.close()


@pytest.mark.parametrize("operation", [1, 2])
def test_who_announces_itself_is_told_so(monkeypatch: pytest.MonkeyPatch, operation: int) -> None:
    door = Door(packet("10.0.0.9", "10.0.0.9", operation))
    monkeypatch.setattr(socket, "socket", lambda *_: door)
    (row,) = arp_requests.parse(arp.Counter().text())
    assert (row.source, row.hardware, row.asks) == ("10.0.0.9", MAC, False)


def test_of_too_many_questions_the_first_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [packet("10.0.0.9", f"10.1.{n >> 8}.{n & 255}") for n in range(1500)]
    monkeypatch.setattr(socket, "socket", lambda *_: Door(*asked))
    assert len(arp_requests.parse(arp.Counter().text())) == 1024


def test_a_socket_that_is_refused_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "socket", refused)
    with pytest.raises(PermissionError):
        arp.Counter()


@given(st.text())
def test_any_text_gives_rows_or_one_error(text: str) -> None:
    try:
        rows = arp_requests.parse(text)
    except ValueError:
        return
    assert all(row.requests >= 0 for row in rows)
