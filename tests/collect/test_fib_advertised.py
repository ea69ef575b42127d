"""Routes that a router advertised: their preference and how long they last."""

import struct
from socket import AF_INET, AF_INET6, inet_pton

import pytest

from nettop.collect.fib import parse
from nettop.host.netlink import route
from nettop.host.netlink.codec import attribute

GATEWAY, METRIC, CACHE, PREFERENCE, OUT = 5, 6, 12, 20, 4  # RTA_*
RA, STATIC = 9, 4  # RTPROT_*


def message(family: int, protocol: int, preference: int, ticks: int) -> bytes:
    gateway = inet_pton(family, "fe80::6" if family == AF_INET6 else "10.0.0.254")
    body = route.RTMSG.pack(family, 0, 0, 0, 254, protocol, 0, 1, 0)
    body += attribute(GATEWAY, gateway) + attribute(OUT, struct.pack("=I", 2))
    body += attribute(METRIC, struct.pack("=I", 1024))
    body += attribute(CACHE, struct.pack("=IIiI4x", 0, 0, ticks, 0))
    body += attribute(PREFERENCE, bytes((preference,)))
    return struct.pack("=IHHII", 16 + len(body), route.NEWROUTE, 0, 0, 0) + body


@pytest.mark.parametrize(("family", "protocol", "number", "ticks", "told"), [
    (AF_INET6, RA, 1, 179_950, (True, "high", 1799)), (AF_INET6, RA, 3, 0, (True, "low", None)),
    (AF_INET6, STATIC, 1, 0, (False, "", None)),
    (AF_INET, RA, 1, 500, (False, "", None)),
])  # fmt: skip
def test_what_a_router_said_of_itself(
    family: int, protocol: int, number: int, ticks: int, told: tuple[bool, str, int | None]
) -> None:
    (row,) = parse(message(family, protocol, number, ticks), {2: "eth0"})
    assert (row.advertised, row.preference, row.lasts) == told


@pytest.mark.parametrize(("ticks", "rows"), [(5, 1), (-5, 0)])
def test_a_route_that_has_ended_is_none_though_it_is_not_removed_yet(ticks: int, rows: int) -> None:
    assert len(parse(message(AF_INET6, RA, 0, ticks), {2: "eth0"})) == rows
