"""Local ports in TIME_WAIT by server, from the bytes of sock_diag and /proc/net/sockstat."""

import struct
from dataclasses import dataclass, field
from ipaddress import ip_address

import pytest
from netlink_bytes import message

from nettop.collect import sockets_tcp, time_wait
from nettop.host.netlink import diag
from nettop.host.netlink.codec import Request


def waits(number: int, remote: str = "10.0.0.2", port: int = 443, state: int = 6) -> bytes:
    """A struct inet_diag_msg of a socket in TIME_WAIT or FIN_WAIT2 (5): no attributes follow."""
    local, other = ip_address("10.0.0.1" if "." in remote else "fd00::1"), ip_address(remote)
    family = 2 if other.version == 4 else 10
    ends = b"".join(one.packed.ljust(16, b"\0") for one in (local, other))
    head = struct.pack("=BBBB", family, state, 3, 0) + struct.pack(">HH", 32768 + number, port)
    return message(diag.EVERY_FAMILY, head + ends + bytes(32))


@dataclass
class Host:
    """A host with that many sockets in TIME_WAIT; it keeps what was asked."""

    count: int
    reply: bytes = b""
    ports: str = "32768\t60999\n"
    reserved: str = "\n"
    asked: list[Request] = field(default_factory=list)

    def text(self, path: str) -> str:
        if path.endswith("sockstat"):
            return f"sockets: used 3\nTCP: inuse 3 orphan 0 tw {self.count} alloc 5 mem 1\n"
        if path.endswith("reserved_ports"):
            return self.reserved
        assert path == "/proc/sys/net/ipv4/ip_local_port_range"
        return self.ports

    def netlink(self, request: Request) -> bytes:
        self.asked.append(request)
        return self.reply


def test_ports_are_counted_by_local_address_and_server() -> None:
    one = [waits(n) for n in range(300)]
    other = [waits(n, "fd00::2", 5432) for n in range(150)]
    spread = [waits(n, f"10.9.{n}.1") for n in range(90)]
    host = Host(540, b"".join([*one, *spread, *other]))
    assert time_wait.read(host) == [  # type: ignore[arg-type]
        time_wait.Row("10.0.0.1", "10.0.0.2", 443, 300),
        time_wait.Row("fd00::1", "fd00::2", 5432, 150),
        time_wait.Row("10.0.0.1", "", 0, 300),
        time_wait.Row("fd00::1", "", 0, 150),
    ]


def test_what_the_server_has_not_closed_is_counted_apart() -> None:
    host = Host(300, b"".join([*map(waits, range(40)), *(waits(n, state=5) for n in range(260))]))
    assert time_wait.read(host) == [  # type: ignore[arg-type]
        time_wait.Row("10.0.0.1", "10.0.0.2", 443, 40, 260),
        time_wait.Row("10.0.0.1", "", 0, 0, 260),  # each port once
    ]


def test_of_a_short_range_of_ports_a_quarter_is_many() -> None:
    host = Host(30, b"".join(map(waits, range(30))), ports="50000\t50099\n")
    assert time_wait.read(host) == [  # type: ignore[arg-type]
        time_wait.Row("10.0.0.1", "10.0.0.2", 443, 30),
        time_wait.Row("10.0.0.1", "", 0, 30),
    ]


def test_reserved_ports_shorten_the_range() -> None:
    host = Host(30, b"".join(map(waits, range(30))), reserved="32768-60949,8080\n")
    assert [one.ports for one in time_wait.read(host)] == [30, 30]  # type: ignore[arg-type]


def test_the_ports_that_few_servers_hold_each_are_counted_together() -> None:
    host = Host(300, b"".join(waits(n, f"10.9.{n % 50}.1", state=5 + n % 2) for n in range(300)))
    assert time_wait.read(host) == [time_wait.Row("10.0.0.1", "", 0, 150, 150)]  # type: ignore[arg-type]
    shared = Host(300, b"".join(waits(n % 30, f"10.9.{n % 50}.1") for n in range(300)))
    assert time_wait.read(shared) == []  # type: ignore[arg-type]


def test_nothing_is_asked_while_there_are_few() -> None:
    host = Host(99)
    assert time_wait.read(host) == []  # type: ignore[arg-type]
    assert host.asked == []


def test_what_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ValueError, match="no line TCP"):
        time_wait.waiting("sockets: used 3\n")
    with pytest.raises(ValueError, match="cut off"):
        time_wait.parse(message(diag.EVERY_FAMILY, bytes(40)))


@pytest.mark.parametrize("remote", ["10.0.0.2", "fd00::2"])
def test_what_the_server_has_not_closed_is_no_row_but_its_other_end_is_kept(remote: str) -> None:
    left: dict[bytes, bytes] = {}
    assert sockets_tcp.parse(waits(1, remote, state=5), {}, {}, left=left) == []
    assert [sockets_tcp.other_end(one) for one in left.values()] == [(remote, 443)]
