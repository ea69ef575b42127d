"""Replies of the kernel about five interfaces."""

import struct

from netlink_bytes import (
    link,
    nest,
    number,
    text,
    u8,
)

from nettop.host.netlink.codec import attribute

LINKS = (
    link(1, "lo", number(4, 65536), attribute(16, u8(0)), flags=0x10049, kind=772)
    + link(
        2,
        "eth0",
        attribute(1, bytes.fromhex("020000000001")),
        number(4, 9000),
        number(10, 4),
        number(13, 1000),
        attribute(16, u8(6)),
        attribute(33, u8(1)),
        number(35, 3),
        nest(43, attribute(2, u8(1)), number(4, 17)),
        number(50, 68),
        number(51, 9710),
        text(56, "0000:41:00.0"),
        nest(18, text(4, "bond")),
        flags=0x11143,
    )
    + link(
        3,
        "eth0.7",
        number(5, 2),
        nest(18, text(1, "vlan"), nest(2, attribute(1, struct.pack("=H", 7)))),
    )
    + link(4, "bond0", nest(18, text(1, "bond")), flags=0x1002)
    + link(5, "va", number(5, 9), attribute(37, struct.pack("=i", 0)), nest(18, text(1, "veth")))
)
