"""Messages and attributes to dicts and back, whatever the bytes; the kernel's errors."""

import struct
from typing import Any

import pytest
from folded import folded
from hypothesis import given
from hypothesis import strategies as st
from netlink_bytes import bitset, device, message, nest, number, text, u8

from nettop.host.far import kernel
from nettop.host.netlink import codec, ethtool, route
from nettop.host.netlink.codec import (
    Bits,
    Field,
    Request,
    attribute,
    decode,
    encode,
    messages,
    numbered,
)

TABLE = {
    **numbered(1, "small:B short:H word long:Q signed:i"),
    6: Field("name", "text"),
    7: Field("raw", "raw"),
    8: Field("on", "flag"),
    9: Field("inner", "nest", numbered(1, "a b:B")),
    10: Field("steps", "many", numbered(1, "x y")),
}


def test_a_value_comes_back_as_it_was_encoded() -> None:
    values = {
        "small": 255, "short": 65535, "word": 1 << 31, "long": 1 << 63, "signed": -2,
        "name": "eth0", "raw": b"abc", "on": True, "inner": {"a": 7, "b": 1},
        "steps": [{"x": 1}, {"x": 2, "y": 3}],
    }  # fmt: skip
    raw = encode(TABLE, values)
    assert len(raw) % 4 == 0
    assert decode(raw, 0, len(raw), TABLE) == values


def test_an_unknown_name_and_a_value_that_does_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="rx_maxx: not one of"):
        encode(ethtool.MESSAGES["rings"].table, {"rx_maxx": 1})
    with pytest.raises(ValueError, match="rx: 4294967296 does not fit"):
        encode(ethtool.MESSAGES["rings"].table, {"rx": 1 << 32})
    with pytest.raises(ValueError, match="does not fit"):
        encode(ethtool.MESSAGES["rings"].table, {"rx": "many"})


def test_a_bitset_of_many_words_and_one_without_a_mask() -> None:
    high = 1 << 100 | 1 << 3
    raw = bitset(3, high, high | 1, size=121) + bitset(4, 6, None, size=8)
    table = numbered(3, "ours:bits peer:bits")
    found = decode(raw, 0, len(raw), table)
    assert found["ours"] == Bits(high, high | 1, 121)
    assert found["ours"].numbers() == (3, 100)
    assert found["peer"] == Bits(6, 6, 8)


def test_a_feature_is_set_by_name_in_a_bitset() -> None:
    raw = encode(ethtool.MESSAGES["features"].table, {"wanted": {"rx-gro": False, "tx-x": True}})
    # ETHTOOL_A_FEATURES_WANTED > BITS > BIT > NAME [, VALUE]
    bits = [
        bytes(raw[a:e])
        for kind, start, end in codec.attributes(raw, 0, len(raw))
        if kind == 3
        for _bits, s, n in codec.attributes(raw, start, end)
        for _bit, a, e in codec.attributes(raw, s, n)
    ]
    assert [b"rx-gro\0" in bit for bit in bits] == [True, False]
    assert [b"tx-x\0" in bit for bit in bits] == [False, True]
    assert len(bits[0]) == 12  # name only: off
    assert bits[1].endswith(attribute(3, b""))  # name and the value flag: on


@folded(
    ("raw", "shown"),
    [
        (bytes([192, 0, 2, 1]), "192.0.2.1"),
        (bytes(16), "::"),
        (bytes(15) + b"\1", "::1"),
        (bytes.fromhex("20010db8000000000000000000000001"), "2001:db8::1"),
        (bytes.fromhex("20010db8000000010000000000000001"), "2001:db8:0:1::1"),
        (bytes.fromhex("20010db8000100010001000100010001"), "2001:db8:1:1:1:1:1:1"),
        (bytes.fromhex("20010db8000000010001000100010001"), "2001:db8:0:1:1:1:1:1"),
        (bytes.fromhex("00000000000000000000ffffc0000201"), "192.0.2.1"),
        (bytes.fromhex("fe800000000000000000000000000000"), "fe80::"),
    ],
)
def test_an_address_is_written_as_rfc_5952_says(raw: bytes, shown: str) -> None:
    assert route.ip(raw) == shown


@folded("size", [0, 1, 3, 5, 15, 17])
def test_an_address_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="an address of"):
        route.ip(bytes(size))


GOOD = device("eth0", number(2, 4096), number(6, 256), attribute(13, u8(1))) + message(
    16, struct.pack("=BxHiII", 0, 1, 2, 0, 0) + text(3, "eth0") + nest(18, text(1, "veth"))
)


def walk(raw: bytes) -> None:
    """Everything that looks at bytes of an answer."""
    for _kind, start, end in messages(raw):
        for table in (TABLE, route.LINK, *(m.table for m in ethtool.MESSAGES.values())):
            decode(raw, start, end, table)


@given(st.integers(0, len(GOOD)))
def test_cut_off_bytes_are_a_value_error_or_nothing(at: int) -> None:
    try:
        walk(GOOD[:at])
    except ValueError:
        return


@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=8))
def test_changed_bytes_are_a_value_error_or_something(changes: list[tuple[int, int]]) -> None:
    raw = bytearray(GOOD)
    for at, value in changes:
        raw[at] = value
    try:
        walk(bytes(raw))
    except ValueError:
        return


@given(st.binary(max_size=400))
def test_any_bytes_are_a_value_error_or_something(raw: bytes) -> None:
    try:
        walk(raw)
    except ValueError:
        return


def acknowledgement(error: int, *, capped: bool, sentence: str = "") -> tuple[bytes, int]:
    request = codec.HEADER.pack(24, 16, 5, 1, 0) + b"request."
    body = struct.pack("=i", -error) + (request[:16] if capped else request)
    body += text(1, sentence) if sentence else b""
    flags = (0x100 if capped else 0) | (0x200 if sentence else 0)
    return codec.HEADER.pack(16 + len(body), 2, flags, 1, 1) + body, flags


@pytest.mark.parametrize("capped", [True, False])
def test_the_kernels_own_sentence_is_in_the_error(*, capped: bool) -> None:
    raw, flags = acknowledgement(22, capped=capped, sentence="requested ring size exceeds maximum")
    error = kernel.failure(raw, 0, len(raw), flags)
    assert error is not None
    assert (error.errno, error.strerror) == (22, "requested ring size exceeds maximum")


def test_an_error_without_a_sentence_has_the_numbers() -> None:
    raw, flags = acknowledgement(1, capped=True)
    error = kernel.failure(raw, 0, len(raw), flags)
    assert isinstance(error, PermissionError)
    assert error.strerror == "Operation not permitted"


UAPI = (  # include/uapi/linux/ethtool_netlink_generated.h: the first attribute that is read
    "linkinfo 2 3 port", "linkmodes 4 5 autoneg", "linkstate 6 None link", "features 11 12 hw",
    "privflags 13 14 flags", "rings 15 16 rx_max", "channels 17 18 rx_max",
    "coalesce 19 20 rx_usecs", "pause 21 22 autoneg", "eee 23 24 active", "fec 29 30 modes",
    "module 34 35 power_mode_policy", "eeprom 31 None offset", "rss 38 48 context",
)  # fmt: skip


def test_messages_have_the_numbers_of_the_kernel() -> None:
    assert (
        tuple(
            f"{name} {kind.get} {kind.put} {kind.table[min(kind.table)].name}"
            for name, kind in ethtool.MESSAGES.items()
        )
        == UAPI
    )


def test_requests_have_the_structures_of_rtnetlink() -> None:
    """struct ifaddrmsg, rtmsg, if_stats_msg and tcmsg of include/uapi/linux."""
    asked: list[bytes] = []

    class Asked:
        def netlink(self, request: Request) -> bytes:
            asked.append(request.body)
            assert request.dump  # of all objects
            return b""

    source: Any = Asked()
    route.addresses(source)
    route.routes(source, 10)
    route.counters(source)
    route.classes(source, 3, "eth0")
    assert asked == [
        bytes(8), bytes([10]) + bytes(11), bytes(8) + struct.pack("=I", 1),
        struct.pack("=IiIII", 0, 3, 0, 0, 0),
    ]  # fmt: skip
