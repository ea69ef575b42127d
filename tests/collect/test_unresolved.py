"""Neighbours that do not answer, and limits of routes and addresses, from bytes of netlink."""

import socket
import struct

import pytest
from netlink_bytes import Fake, link, message, number

from nettop.collect import addresses, routes, unresolved
from nettop.collect._table import Memory
from nettop.host.netlink import route
from nettop.host.netlink.codec import NESTED, attribute

INCOMPLETE, REACHABLE, FAILED = 0x01, 0x02, 0x20


def entry(address: str, state: int, used: int = 100, index: int = 2) -> bytes:
    """`used` in hundredths of a second."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    head = struct.pack("=BxxxiHBB", family, index, state, 0, 1)
    body = attribute(1, socket.inet_pton(family, address))
    return message(28, head + body + attribute(3, struct.pack("=IIII", 9000, used, 50, 1)))


def test_neighbours_that_were_asked_for_and_did_not_answer() -> None:
    raw = b"".join((
        entry("10.0.0.66", INCOMPLETE), entry("fd94::77", FAILED), entry("10.0.0.1", REACHABLE),
        entry("10.0.0.9", FAILED, used=501), entry("10.0.0.8", FAILED, index=77),
    ))  # fmt: skip
    rows = unresolved.parse(raw, {2: "eth0"})
    assert rows == [unresolved.Row("eth0", "10.0.0.66", 4), unresolved.Row("eth0", "fd94::77", 6)]


def test_the_neighbours_of_a_large_network_are_not_read() -> None:
    with pytest.raises(ValueError, match=r"1\.\d MiB is not read"):
        unresolved.parse(entry("10.0.0.1", REACHABLE) * 20000, {2: "eth0"})
    with pytest.raises(ValueError, match="cut off"):
        unresolved.parse(message(28, bytes(8)), {2: "eth0"})


def test_the_same_answer_gives_the_same_rows() -> None:
    source = Fake({"route/links": link(2, "eth0"), "route/neighbours": entry("10.0.0.6", 1)})
    memory = Memory()
    assert unresolved.update(source, memory) is unresolved.update(source, memory)


@pytest.mark.parametrize(("lock", "clamp"), [(1 << 7, 4), (1 << 2, None)])
def test_a_congestion_window_of_a_route_counts_if_it_is_locked(
    lock: int, clamp: int | None
) -> None:
    metrics = number(1, lock) + number(7, 4) + number(3, 12000)
    body = attribute(1, bytes((10, 9, 0, 0))) + number(4, 2) + attribute(8 | NESTED, metrics)
    head = struct.pack("=BBBBBBBBI", 2, 16, 0, 0, 254, 0, 0, 1, 0)
    (row,) = routes.parse(message(route.NEWROUTE, head + body), {2: "eth0"})
    assert (row.window, row.clamp) == (12000, clamp)


@pytest.mark.parametrize(("flags", "duplicate"), [(0x48, True), (0x40, False)])
def test_an_address_that_another_host_has(flags: int, duplicate: bool) -> None:
    body = attribute(1, socket.inet_pton(socket.AF_INET6, "fd94::5")) + number(8, flags)
    raw = message(route.NEWADDR, struct.pack("=BBBBI", 10, 64, flags, 0, 2) + body)
    (row,) = addresses.parse(raw, {2: "eth0"})
    assert (row.tentative, row.duplicate) == (True, duplicate)
