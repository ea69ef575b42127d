"""The parsers of kernel answers take any bytes."""

import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from netlink_bytes import (
    Fake,
    bitset,
    counters,
    device,
    link,
    message,
    nest,
    number,
    string_set,
)
from netlink_tables import LINKS

from nettop.collect import (
    addresses,
    channels,
    coalesce,
    eee,
    features,
    fec,
    link_stats,
    linkmodes,
    links,
    module,
    pause,
    privflags,
    qdiscs,
    rings,
    routes,
)
from nettop.host.netlink import driver, ethtool, legacy
from nettop.host.netlink.codec import attribute

PARSERS: dict[str, tuple[Callable[[bytes], object], bytes]] = {
    "links": (links.parse, LINKS),
    "link_stats": (
        lambda raw: link_stats.update(Fake({"route/links": LINKS, "route/counters": raw}), {}),
        counters(1, 2, 3),
    ),
    "addresses": (
        lambda raw: addresses.parse(raw, {2: "eth0"}),
        message(20, struct.pack("=BBBBI", 2, 24, 0, 0, 2) + attribute(2, b"abcd")),
    ),
    "routes": (
        lambda raw: routes.parse(raw, {2: "eth0"}),
        message(
            24,
            struct.pack("=BBBBBBBBI", 2, 8, 0, 0, 254, 3, 0, 1, 0)
            + attribute(1, b"abcd")
            + attribute(9, struct.pack("=HBBi", 8, 0, 0, 2)),
        ),
    ),
    "qdiscs": (
        lambda raw: qdiscs.parse(raw, {2: "eth0"}),
        message(
            36,
            struct.pack("=BxHiIII", 0, 0, 2, 0, 0xFFFFFFFF, 0)
            + nest(7, attribute(1, bytes(12)), attribute(3, bytes(20))),
        ),
    ),
}
_DEVICES = {
    "rings": rings, "coalesce": coalesce, "pause": pause, "channels": channels,
    "features": features, "linkmodes": linkmodes, "eee": eee, "fec": fec, "privflags": privflags,
}  # fmt: skip


def read_all(what: str, raw: bytes) -> None:
    names = string_set(9, ["a", "b"]) + string_set(4, ["a", "b"]) + string_set(2, ["c"])
    answers: dict[str, bytes | int] = {f"ethtool/{name}": raw for name in ethtool.MESSAGES}
    answers |= {f"ethtool/strings/{name}": names for name in ("features", "linkmodes", "privflags")}
    source: Any = Fake(answers)
    collector: Any = _DEVICES[what]
    if hasattr(collector, "update"):
        collector.update(source, {})
    else:
        collector.read(source)


@pytest.mark.parametrize("name", PARSERS)
@given(data=st.data())
def test_parsers_take_any_bytes(name: str, data: st.DataObject) -> None:
    parse, good = PARSERS[name]
    assert parse(good)
    raw = data.draw(mutated(good))
    try:
        parse(raw)
    except ValueError:
        return


@pytest.mark.parametrize("name", _DEVICES)
@given(data=st.data())
def test_device_collectors_take_any_bytes(name: str, data: st.DataObject) -> None:
    good = device("eth0", *[number(i, 3) for i in range(2, 29)], nest(29, nest(1, number(1, 2))))
    bits = device("eth0", *[bitset(i, 5, 7) for i in range(2, 6)])
    raw = data.draw(st.one_of(mutated(good), mutated(bits)))
    try:
        read_all(name, raw)
    except (ValueError, OSError):
        return


@given(data=st.data())
def test_ioctl_answers_may_be_any_bytes(data: st.DataObject) -> None:
    class Wild(Fake):
        def statistics(self, interface: str, request: bytes, name: str) -> bytes:
            return data.draw(mutated(request))

    source = Wild({"route/links": link(2, "eth0")})
    for ask in (
        driver.info, driver.string_names, driver.rss, driver.rules, driver.receive_rings,
        lambda s, d: driver.hash_fields(s, d, "tcp4"), lambda s, d: driver.statistics(s, d, 3),
        lambda s, d: legacy.one(s, "rings", d), lambda s, d: legacy.one(s, "coalesce", d),
        legacy.features, legacy.linkmodes,
    ):  # fmt: skip
        try:
            ask(source, "eth0")
        except (ValueError, OSError):
            continue


@given(st.binary(max_size=64))
def test_a_modules_memory_may_be_any_bytes(raw: bytes) -> None:
    try:
        module.module(lambda _address, _page, _offset, length: raw[:length])
    except ValueError:
        return


def mutated(good: bytes) -> st.SearchStrategy[bytes]:
    """The bytes cut off, or with a few changed, or altogether others."""

    def change(changes: list[tuple[int, int]]) -> bytes:
        raw = bytearray(good)
        for at, value in changes:
            raw[at] = value
        return bytes(raw)

    places = st.tuples(st.integers(0, len(good) - 1), st.integers(0, 255))
    return st.one_of(
        st.integers(0, len(good)).map(lambda at: good[:at]),
        st.lists(places, max_size=6).map(change),
        st.binary(max_size=200),
    )
