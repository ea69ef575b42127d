"""Routes whose nexthop object decides, and those with BPF programs."""

import struct
from socket import AF_INET, inet_aton

from nettop.collect.fib import parse
from nettop.host.netlink import route
from nettop.host.netlink.codec import attribute

TO, OUT, ENCAP_TYPE, ENCAP, NEXTHOP = 1, 4, 21, 22, 30  # RTA_*
NESTED = 0x8000
XMIT, NAME = 3, 2  # LWT_BPF_XMIT, LWT_BPF_PROG_NAME


def message(kind: int, *attributes: bytes) -> bytes:
    body = route.RTMSG.pack(AF_INET, 24, 0, 0, 254, 4, 0, kind, 0)
    body += attribute(TO, inet_aton("10.2.0.0")) + b"".join(attributes)
    return struct.pack("=IHHII", 16 + len(body), route.NEWROUTE, 0, 0, 0) + body


def test_the_nexthop_object_of_a_route() -> None:
    (row,) = parse(message(6, attribute(NEXTHOP, struct.pack("=I", 7))), {})
    assert (row.kind, row.nexthop) == ("blackhole", 7)


def test_the_programs_of_a_route() -> None:
    out = attribute(OUT, struct.pack("=I", 2))
    name = attribute(XMIT | NESTED, attribute(NAME, b"acl\0"))
    kind = attribute(ENCAP_TYPE, struct.pack("=H", 6))
    (row,) = parse(message(1, out, kind, attribute(ENCAP | NESTED, name)), {2: "eth0"})
    assert row.programs == "acl at xmit"
    (row,) = parse(message(1, out, attribute(ENCAP_TYPE, struct.pack("=H", 1))), {2: "eth0"})
    assert row.programs == ""
