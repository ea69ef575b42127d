"""Interfaces in other namespaces that ride on one of this: which, where, with what addresses."""

import struct
from socket import inet_aton
from typing import Any

import pytest

from nettop.collect import namespaces, netns_children
from nettop.host.netlink import route
from nettop.host.netlink.codec import Request, attribute


def message(kind: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body


def link(index: int, name: str, kind: str, *more: bytes) -> bytes:
    info = attribute(18 | 0x8000, attribute(1, kind.encode() + b"\0"))
    body = route.IFINFO.pack(0, 1, index, 0x1003, 0) + attribute(3, name.encode() + b"\0")
    return message(route.NEWLINK, body + info + b"".join(more))


def number(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("=i", value))


LINKS = b"".join([
    link(4, "eth0", "macvlan", number(5, 2), number(37, 0)),
    link(5, "eth1", "veth", number(5, 9), number(37, 0)),
    link(6, "mv0", "macvlan", number(5, 5)),  # on eth1, of the same namespace
])  # fmt: skip
ADDRESSES = message(route.NEWADDR, struct.pack("=BBBBi", 2, 24, 0, 0, 4)
                    + attribute(2, inet_aton("10.0.0.50")))  # fmt: skip


class Host:
    def netlink(self, request: Request) -> bytes:
        assert request.space is not None
        if request.space.inode == 8:
            raise PermissionError(1, "Operation not permitted")
        return ADDRESSES if request.kind == route.GETADDR else LINKS


def test_what_rides_on_an_interface_of_another_namespace_is_listed_with_its_addresses() -> None:
    known = namespaces.Known(read=True)
    known.others = {n: namespaces.Row(n, f"c{n}", 70 + n, 1) for n in (7, 8)}
    host: Any = Host()
    assert netns_children.update(host, {namespaces.Known: known}) == [
        netns_children.Row(7, "eth0", "macvlan", 2, "c7", 77, ("10.0.0.50",))
    ]
    with pytest.raises(OSError, match="are not known"):
        netns_children.update(host, {})
