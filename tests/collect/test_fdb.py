"""Forwarding entries of bridges and of VXLAN, on bytes that are made up."""

from __future__ import annotations

import socket
import struct

import pytest
from netlink_bytes import message, number

from nettop.collect import fdb
from nettop.host.netlink import route
from nettop.host.netlink.codec import attribute

NAMES = {2: "va", 4: "br0", 5: "vx"}
MAC = bytes.fromhex("020000000901")


def entry(
    index: int, state: int, flags: int = 0, *more: bytes, family: int = 7, hardware: bytes = MAC
) -> bytes:
    head = struct.pack("=BxxxiHBB", family, index, state, flags, 0)
    return message(route.NEWNEIGH, head + attribute(2, hardware) + b"".join(more))


def test_entries_of_a_bridge_and_of_vxlan() -> None:
    remote = attribute(1, socket.inet_aton("10.13.0.3"))
    reply = b"".join((
        entry(2, 0x40, 0x44, number(9, 4)),
        entry(2, 0x02, 0x04, number(9, 4), attribute(5, b"\5\0")),
        entry(5, 0xC0, 0x02, remote), entry(5, 0x40, 0x12, remote, hardware=bytes(6)),
        entry(2, 0x40, family=2), entry(9, 0x40),
    ))  # fmt: skip
    mac = "02:00:00:00:09:01"
    assert fdb.parse(reply, NAMES) == [
        fdb.Row("va", mac, "", 0, "br0", "static", sticky=True),
        fdb.Row("va", mac, "", 5, "br0", "learned"),
        fdb.Row("vx", mac, "10.13.0.3", 0, None, "permanent"),
        fdb.Row("vx", "00:00:00:00:00:00", "10.13.0.3", 0, None, "static", told=True),
    ]


def test_what_is_cut_off_or_too_large_is_an_error() -> None:
    with pytest.raises(ValueError, match="cut off"):
        fdb.parse(message(route.NEWNEIGH, b"\7\0\0\0"), NAMES)
    with pytest.raises(ValueError, match="MiB is not read"):
        fdb.parse(bytes(fdb._LARGEST + 1), NAMES)
