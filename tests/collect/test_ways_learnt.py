"""What the kernel learnt of a destination, which is in no table: only its route answer has it."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import pytest

from nettop.collect import ways
from nettop.collect.ways import Asked, Question
from nettop.host.netlink import route
from nettop.host.netlink.codec import attribute

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
