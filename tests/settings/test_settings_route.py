"""A route's metrics: the message that goes to the kernel keeps all but the one that is set."""

import socket
import struct
from dataclasses import dataclass, field
from typing import Any

import pytest
from netlink_bytes import Fake, message, nest, number

from nettop import settings
from nettop.host.netlink.codec import attributes
from nettop.host.netlink.route import NEWROUTE
from nettop.settings import route

LOCK, MTU, WINDOW, RTO_MIN = 1, 2, 3, 13  # RTAX_* of include/uapi/linux/rtnetlink.h
METRICS = 8


@dataclass
class Host:
    """A host with one default route; keeps what it is sent."""

    source: Fake
    sent: list[bytes] = field(default_factory=list)

    def change(self, family: str, kind: int, body: bytes, flags: int) -> None:
        assert (family, kind) == ("route", NEWROUTE)
        self.sent.append(body)


def host(metrics: dict[int, int], monkeypatch: pytest.MonkeyPatch) -> Host:
    head = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, 254, 4, 0, 1, 0)
    inner = b"".join(number(n, value) for n, value in metrics.items())
    answer = message(NEWROUTE, head + nest(METRICS, inner) + number(4, 2))
    monkeypatch.setattr(route, "routes", lambda *_: answer)
    return Host(Fake())


def sent(host: Host) -> dict[int, int]:
    (body,) = host.sent
    parts = {n & 0x3FFF: body[a:e] for n, a, e in attributes(body, 12, len(body))}
    raw = parts.get(METRICS, b"")
    return {n: struct.unpack("=I", raw[a:e])[0] for n, a, e in attributes(raw, 0, len(raw))}


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("mtu", "9000", {LOCK: 1 << RTO_MIN, MTU: 9000, RTO_MIN: 40}),  # its own lock goes
        ("mtu", "none", {LOCK: 1 << RTO_MIN, RTO_MIN: 40}),
        ("rto_min", "none", {LOCK: 1 << MTU, MTU: 1400}),
        ("rto_min", "20", {LOCK: 1 << MTU | 1 << RTO_MIN, MTU: 1400, RTO_MIN: 20}),
        ("window", "65536", {LOCK: 1 << MTU | 1 << RTO_MIN, MTU: 1400, RTO_MIN: 40,
                             WINDOW: 65536}),
    ],
)  # fmt: skip
def test_the_locks_of_other_metrics_stay(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, wanted: dict[int, int]
) -> None:
    given = host({LOCK: 1 << MTU | 1 << RTO_MIN, MTU: 1400, RTO_MIN: 40}, monkeypatch)
    fake: Any = given
    route.write(fake, settings.parse(f"route.{name}@default"), value)
    assert sent(given) == wanted
