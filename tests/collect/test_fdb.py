"""Forwarding entries of bridges and of VXLAN, on bytes that are made up."""

import socket
import struct
from types import SimpleNamespace
from typing import Any

import pytest
from netlink_bytes import message, number

from nettop.collect import fdb, ways
from nettop.collect.ways import Asked, Question
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


# What the kernel learnt of a destination, which is in no table: only its route answer has it.


REDIRECTED = 0x00040200  # RTCF_REDIRECTED and RTM_F_CLONED


def row(monkeypatch: pytest.MonkeyPatch, head: tuple[int, ...], to: str, *more: bytes) -> ways.Row:
    body = route.RTMSG.pack(*head) + b"".join(more)
    reply = struct.pack("=IHHII", 16 + len(body), route.NEWROUTE, 0, 0, 0) + body
    monkeypatch.setattr(route, "names", lambda _: {2: "e0"})
    source: Any = SimpleNamespace(netlink=lambda _: reply)
    (found,) = ways.update(source, {Asked: Asked((Question(to),))})
    return found


def cache(expires: int) -> bytes:
    return attribute(12, struct.pack("=IIiIIIII", 0, 0, expires, 0, 0, 0, 0, 0))


@pytest.mark.parametrize(("head", "to", "more", "redirected", "learnt"), [
    ((2, 32, 0, 0, 254, 0, 0, 1, REDIRECTED), "192.0.2.9", (cache(28_700),), True, True),
    ((2, 32, 0, 0, 254, 0, 0, 1, 0x200), "192.0.2.9", (cache(0),), False, False),
    ((2, 32, 0, 0, 254, 0, 0, 1, 0x200), "192.0.2.9", (), False, False),
    ((2, 32, 0, 0, 254, 0, 0, 1, 0x200), "192.0.2.9", (cache(50_000),), False, True),  # its MTU
    ((10, 128, 0, 0, 254, 1, 0, 1, 0x200), "2001:db8::9", (), True, False),
    ((10, 128, 0, 0, 254, 9, 0, 1, 0x200), "2001:db8::9", (), False, False),  # RTPROT_RA
])  # fmt: skip
def test_a_redirect_and_a_learnt_mtu_are_told(
    monkeypatch: pytest.MonkeyPatch, head: tuple[int, ...], to: str, more: tuple[bytes, ...],
    *, redirected: bool, learnt: bool,
) -> None:  # fmt: skip
    found = row(monkeypatch, head, to, attribute(4, struct.pack("=I", 2)), *more)
    assert (found.interface, found.redirected, found.learnt) == ("e0", redirected, learnt)
