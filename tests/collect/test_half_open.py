"""Handshakes by address and port, from the bytes of sock_diag and the counters of TcpExt."""

import struct
from dataclasses import dataclass, field
from ipaddress import ip_address

import pytest
from netlink_bytes import message

from nettop.collect import half_open
from nettop.collect._table import Memory
from nettop.host.netlink import diag
from nettop.host.netlink.codec import Request

SYN_RECV = 3


def waits(local: str, port: int, number: int, again: int = 0, expires: int = 0) -> bytes:
    """A struct inet_diag_msg of a connection request; no attributes follow.

    `again`: how often its SYN-ACK was repeated; `expires`: ms until its timer ends.
    """
    one, other = ip_address(local), ip_address("10.9.0.1" if "." in local else "fd09::1")
    family = 2 if one.version == 4 else 10
    ends = b"".join(end.packed.ljust(16, b"\0") for end in (one, other))
    head = struct.pack("=BBBB", family, SYN_RECV, 1, again) + struct.pack(
        ">HH", port, 20000 + number
    )
    return message(diag.EVERY_FAMILY, head + ends + struct.pack("=12xI16x", expires))


@dataclass
class Host:
    """A host that sent so many cookies; it keeps what was asked."""

    cookies: int = 5
    reply: bytes = b""
    deferred: int = 0
    clock: float = 100.0
    asked: list[Request] = field(default_factory=list)
    again: int = 3

    def now(self) -> float:
        return self.clock

    def text(self, path: str) -> str:
        assert path == "/proc/net/netstat"
        names = (
            "SyncookiesSent TCPReqQFullDoCookies TCPReqQFullDrop TCPDeferAcceptDrop TCPSynRetrans"
        )
        counts = f"0 {self.cookies} 0 {self.deferred} {self.again}"
        return f"TcpExt: {names}\nTcpExt: {counts}\nIpExt: InNoRoutes\nIpExt: 0\n"

    def netlink(self, request: Request) -> bytes:
        self.asked.append(request)
        return self.reply


def test_handshakes_are_counted_by_local_address_and_port() -> None:
    many = [waits("10.0.0.1", 443, n) for n in range(5)] + [waits("fd00::1", 80, n) for n in (1, 2)]
    host = Host(reply=b"".join(many))
    assert half_open.update(host, {}) == [  # type: ignore[arg-type]
        half_open.Row("10.0.0.1", 443, 5),
        half_open.Row("fd00::1", 80, 2),
    ]
    (asked,) = host.asked
    assert struct.unpack_from("=I", asked.body, 52)[0] == 1 << SYN_RECV
    assert asked.dump


def test_nothing_is_asked_while_no_queue_was_ever_full() -> None:
    host = Host(cookies=0)
    assert half_open.update(host, {}) == []  # type: ignore[arg-type]
    assert not host.asked


def test_it_is_asked_once_a_segment_is_repeated() -> None:
    parts = [waits("10.0.0.1", 80, n, again=n) for n in (1, 2, 3)]
    host, memory = Host(cookies=0, reply=b"".join(parts)), Memory()
    assert half_open.update(host, memory) == []  # type: ignore[arg-type]
    host.again += 1
    unheard = half_open.Row("10.0.0.1", 80, 3, unheard=2, client="10.9.0.1")
    assert half_open.update(host, memory) == [unheard]  # type: ignore[arg-type]


def test_a_socket_that_is_cut_off_is_refused() -> None:
    with pytest.raises(ValueError, match="cut off"):
        half_open.parse(message(diag.EVERY_FAMILY, bytes(40)))


def test_another_format_of_the_counters_is_refused() -> None:
    with pytest.raises(ValueError, match="TcpExt"):
        half_open.counters("Tcp: 1\n")


def test_clients_that_say_nothing_are_those_whose_timer_ended_without_a_repetition() -> None:
    parts = [
        waits("10.0.0.1", 25, 1, expires=1800),  # its second timer
        waits("10.0.0.1", 25, 2, expires=900),  # of the first or the second
        waits("10.0.0.1", 25, 3, again=1, expires=1800),  # a client that has vanished
    ]
    host, memory = Host(cookies=0, deferred=9, reply=b"".join(parts)), Memory()
    assert half_open.update(host, memory) == [half_open.Row("10.0.0.1", 25, 3, 1)]  # type: ignore[arg-type]
    host.clock += 0.5
    assert half_open.update(host, memory) == [half_open.Row("10.0.0.1", 25, 3, 1)]  # type: ignore[arg-type]
    host.clock += 2
    assert half_open.update(host, memory) == [half_open.Row("10.0.0.1", 25, 3, 2)]  # type: ignore[arg-type]
