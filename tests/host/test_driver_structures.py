"""Answers and requests of the ethtool ioctls, laid out by ctypes as include/uapi/linux/ethtool.h.

Each answer is also cut off at every length: whatever is missing is an error, never a value.
"""

import ctypes
import struct
from collections.abc import Callable
from ctypes import c_uint8, c_uint32, c_uint64
from typing import Any

import pytest
from folded import folded
from netlink_bytes import Fake

from nettop.host.netlink import driver, legacy
from nettop.host.netlink.codec import Bits


def structure(name: str, *fields: tuple[str, Any]) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


FlowSpec = structure(
    "ethtool_rx_flow_spec", ("flow_type", c_uint32), ("h_u", c_uint8 * 52), ("h_ext", c_uint8 * 20),
    ("m_u", c_uint8 * 52), ("m_ext", c_uint8 * 20), ("ring_cookie", c_uint64),
    ("location", c_uint32),
)  # fmt: skip
Rxnfc = structure("ethtool_rxnfc", ("cmd", c_uint32), ("flow_type", c_uint32), ("data", c_uint64),
                  ("fs", FlowSpec), ("rule_cnt", c_uint32))  # fmt: skip
Rxfh = structure("ethtool_rxfh", ("cmd", c_uint32), ("rss_context", c_uint32),
                 ("indir_size", c_uint32), ("key_size", c_uint32), ("hfunc", c_uint8),
                 ("input_xfrm", c_uint8), ("rsvd8", c_uint8 * 2), ("rsvd32", c_uint32))  # fmt: skip
Drvinfo = structure("ethtool_drvinfo", ("cmd", c_uint32), ("driver", c_uint8 * 32),
                    ("version", c_uint8 * 32), ("fw_version", c_uint8 * 32),
                    ("bus_info", c_uint8 * 32), ("rest", c_uint8 * 64))  # fmt: skip
LinkSettings = structure(
    "ethtool_link_settings", ("cmd", c_uint32), ("speed", c_uint32), ("duplex", c_uint8),
    ("port", c_uint8), ("phy_address", c_uint8), ("autoneg", c_uint8), ("mdio", c_uint8),
    ("eth_tp_mdix", c_uint8), ("eth_tp_mdix_ctrl", c_uint8), ("words", ctypes.c_int8),
    ("rest", c_uint8 * 32),
)  # fmt: skip


class Driver(Fake):
    """Answers each request by a function of its bytes, cut off after `most` bytes."""

    def __init__(self, answer: Callable[[bytes], bytes], most: int | None = None) -> None:
        super().__init__()
        self.answer, self.most = answer, most
        self.requests: list[bytes] = []

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:
        self.requests.append(request)
        return self.answer(request)[: self.most]

    def ioctl(self, device: str, request: bytes) -> bytes:
        self.requests.append(request)
        return self.answer(request)


def cut(read: Callable[[Any], object], answer: Callable[[bytes], bytes], whole: int) -> None:
    """The answer is read when it has `whole` bytes; any shorter one is an error."""
    read(Driver(answer, whole))
    for most in range(whole):
        with pytest.raises(ValueError, match="cut off"):
            read(Driver(answer, most))


def octets(text: str) -> Any:
    return (c_uint8 * 32)(*text.encode())


def test_the_description_of_a_driver() -> None:
    told = Drvinfo(3, octets("ixgbe"), octets("6.1"), octets("0x8000"), octets("0000:41:00.0"))
    source = Driver(lambda request: bytes(told))
    assert driver.info(source, "eth0") == driver.Info("ixgbe", "6.1", "0x8000", "0000:41:00.0")
    assert source.requests == [bytes(Drvinfo(3))]
    cut(lambda one: driver.info(one, "eth0"), lambda request: bytes(told), 132)


def names(request: bytes) -> bytes:
    """A driver with three statistics: how many, and their names."""
    if struct.unpack_from("=I", request)[0] == driver.GSSET_INFO:
        return struct.pack("=IIQI", driver.GSSET_INFO, 0, 2, 3)
    words = (b"rx_bytes", b"tx_bytes", b"rx_missed")
    return struct.pack("=III", driver.GSTRINGS, 1, 3) + b"".join(w.ljust(32, b"\0") for w in words)


def test_the_names_of_statistics() -> None:
    source = Driver(names)
    assert driver.string_names(source, "eth0") == ("rx_bytes", "tx_bytes", "rx_missed")
    assert source.requests[0] == struct.pack("=IIQI", 0x37, 0, 1 << 1, 0)
    assert source.requests[1][:12] == struct.pack("=III", 0x1B, 1, 3)
    assert len(source.requests[1]) == 12 + 32 * (3 + 64)  # room for names that are added meanwhile
    cut(lambda one: driver.string_names(one, "eth0"), names, 12 + 3 * 32)


@pytest.mark.parametrize(("there", "count"), [(0, 3), (2, 0)])
def test_a_driver_without_statistics_has_no_names(there: int, count: int) -> None:
    source = Driver(lambda request: struct.pack("=IIQI", driver.GSSET_INFO, 0, there, count))
    assert driver.string_names(source, "eth0") == ()
    assert len(source.requests) == 1


@pytest.mark.parametrize(("growth", "asked"), [(64, 2), (65, 3), (129, 3)])
def test_names_that_are_added_meanwhile_are_read_if_there_is_room(growth: int, asked: int) -> None:
    def answer(request: bytes) -> bytes:
        if struct.unpack_from("=I", request)[0] == driver.GSSET_INFO:
            return names(request)
        return struct.pack("=III", driver.GSTRINGS, 1, 3 + growth) + bytes(32 * (3 + growth))

    source = Driver(answer)
    assert len(driver.string_names(source, "eth0")) == 3 + growth
    assert len(source.requests) == asked


def test_names_that_always_change_are_an_error() -> None:
    count = [3]

    def answer(request: bytes) -> bytes:
        count[0] += 100
        if struct.unpack_from("=I", request)[0] == driver.GSSET_INFO:
            return names(request)
        return struct.pack("=III", driver.GSTRINGS, 1, count[0]) + bytes(32 * count[0])

    source = Driver(answer)
    with pytest.raises(ValueError, match="keep changing"):
        driver.string_names(source, "eth0")
    assert len(source.requests) == 4


def test_the_values_of_statistics() -> None:
    def answer(request: bytes) -> bytes:
        return struct.pack("=II3Q", driver.GSTATS, 3, 7, 8, 2**63)

    source = Driver(answer)
    assert driver.statistics(source, "eth0", 3) == (7, 8, 2**63)
    assert source.requests == [struct.pack("=II", 0x1D, 3) + bytes(24)]
    assert driver.statistics(source, "eth0", 4) is None
    for most in range(8):
        assert driver.statistics(Driver(answer, most), "eth0", 3) is None
    for most in range(8, 32):
        with pytest.raises(ValueError, match="cut off"):
            driver.statistics(Driver(answer, most), "eth0", 3)


def test_receive_side_scaling() -> None:
    key, table = bytes(range(40)), (0, 1, 2, 3) * 2

    def answer(request: bytes) -> bytes:
        asked = Rxfh.from_buffer_copy(request)
        head = Rxfh(70, 0, 8, 40, 1, 2)
        more = struct.pack("=8I", *table) + key if asked.indir_size else b""
        return bytes(head) + more

    source = Driver(answer)
    assert driver.rss(source, "eth0") == driver.Rss(table, key, 1, 2)
    assert source.requests == [bytes(Rxfh(70)), bytes(Rxfh(70, 0, 8, 40)) + bytes(8 * 4 + 40)]
    cut(lambda one: driver.rss(one, "eth0"), answer, 24 + 32 + 40)


@pytest.mark.parametrize(("entries", "key", "good"), [
    (1 << 16, 1 << 12, True), ((1 << 16) + 1, 40, False), (128, (1 << 12) + 1, False),
])  # fmt: skip
def test_a_table_of_any_size_is_not_asked_for(entries: int, key: int, good: bool) -> None:
    source = Driver(lambda request: bytes(Rxfh(70, 0, entries, key)) + bytes(4 * entries + key))
    if good:
        assert len(driver.rss(source, "eth0").table) == entries
    else:
        with pytest.raises(ValueError, match="RSS table of"):
            driver.rss(source, "eth0")


@pytest.mark.parametrize("key", [None, b"\x01\x02"])
@pytest.mark.parametrize("table", [None, (0, 1, 2)])
def test_rss_is_set_in_part_or_as_a_whole(table: tuple[int, ...] | None, key: bytes | None) -> None:
    size = 0xFFFFFFFF if table is None else 3  # ETH_RXFH_INDIR_NO_CHANGE
    wanted = bytes(Rxfh(71, 0, size, len(key or b""), 4))
    wanted += struct.pack("=3I", *table) if table else b""
    assert driver.rss_request(table, key, 4) == wanted + (key or b"")


@folded(("bits", "letters"), [
    (1 << 1, "m"), (1 << 2, "v"), (1 << 3, "t"), (1 << 4, "s"), (1 << 5, "d"), (1 << 6, "f"),
    (1 << 7, "n"), (1 << 31, ""), (0xF0, "sdfn"), (1, ""), (0, ""),
])  # fmt: skip
def test_hashed_fields(bits: int, letters: str) -> None:
    """RXH_L2DA is bit 1, RXH_L4_B_2_3 bit 7."""
    answer = bytes(Rxnfc(41, 1, bits))
    assert driver.hash_fields(Driver(lambda request: answer), "eth0", "tcp4") == letters
    cut(lambda one: driver.hash_fields(one, "eth0", "udp6"), lambda request: answer, 16)


def test_receive_rings() -> None:
    source = Driver(lambda request: bytes(Rxnfc(45, 0, 12)))
    assert driver.receive_rings(source, "eth0") == 12
    assert source.requests[0][:188] == bytes(Rxnfc(45))[:188]
    cut(lambda one: driver.receive_rings(one, "eth0"), lambda request: bytes(Rxnfc(45)), 16)


IPV4 = bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2))
IPV6 = bytes(range(16)), bytes(range(16, 32))
FLOWS = {1: "tcp4", 2: "udp4", 3: "sctp4", 5: "tcp6", 6: "udp6", 7: "sctp6", 13: "ip4", 14: "ip6",
         18: "ether", 9: "type 9"}  # fmt: skip
QUEUE = {0: 0, 5: 5, 2**32 - 1: 2**32 - 1, 2**32 + 7: 7, 2**64 - 1: None}


@folded("cookie", QUEUE)
@folded("masked", range(5))
@folded("flow", FLOWS)
def test_a_steering_rule_of_each_type(flow: int, masked: int, cookie: int) -> None:
    """The first `masked` fields of source, destination and ports are compared."""
    six = flow in {5, 6, 7, 14}
    fields = [*(IPV6 if six else IPV4), struct.pack(">H", 5001), struct.pack(">H", 443)]
    value = b"".join(fields)
    mask = b"".join(b"\xff" * len(one) if n < masked else bytes(len(one))
                    for n, one in enumerate(fields))  # fmt: skip
    spec = FlowSpec(flow | 0x80000000, (c_uint8 * 52)(*value), (c_uint8 * 20)(),
                    (c_uint8 * 52)(*mask), (c_uint8 * 20)(), cookie, 3)  # fmt: skip

    def answer(request: bytes) -> bytes:
        command = struct.unpack_from("=I", request)[0]
        count = bytes(Rxnfc(46, 0, 0, FlowSpec(), 1))
        listed = bytes(Rxnfc(48, 0, 0, FlowSpec(), 1))[:188] + struct.pack("=I", 3)
        return {46: count, 48: listed, 47: bytes(Rxnfc(47, 0, 0, spec, 0))}[command]

    source = Driver(answer)
    (rule,) = driver.rules(source, "eth0")
    known = [one if n < masked else None for n, one in enumerate(fields)]
    if FLOWS[flow] == "ether" or flow == 9:
        known = [None] * 4
    ports = [None if one is None else struct.unpack(">H", one)[0] for one in known[2:]]
    if flow in {13, 14}:
        ports = [None, None]
    assert rule == driver.SteeringRule(
        3, FLOWS[flow], known[0], known[1], ports[0], ports[1], QUEUE[cookie]
    )
    last = Rxnfc.from_buffer_copy(source.requests[2])
    assert (last.cmd, last.fs.location) == (47, 3)


@folded("what", legacy.CALLS)
def test_settings_are_words_after_the_command(what: str) -> None:
    get, put, fields = legacy.CALLS[what]
    words = range(1, len(fields) + 1)
    answer = struct.pack(f"=I{len(fields)}I", get, *words)
    source = Driver(lambda request: answer)
    values = legacy.one(source, what, "eth0")
    assert values == dict(zip(fields, words, strict=True))
    assert source.requests == [struct.pack("=I", get) + bytes(4 * len(fields))]
    cut(lambda one: legacy.one(one, what, "eth0"), lambda request: answer, len(answer))
    kernel: Any = Driver(lambda request: answer)
    legacy.put(kernel, what, "eth0", {fields[1]: 77})
    changed = [word if n != 1 else 77 for n, word in enumerate(words)]
    assert kernel.requests[1] == struct.pack(f"=I{len(fields)}I", put, *changed)
    with pytest.raises(ValueError, match="not known to this kernel's ethtool"):
        legacy.put(kernel, what, "eth0", {"turbo": 1})
    with pytest.raises(ValueError, match="a value does not fit"):
        legacy.put(kernel, what, "eth0", {fields[0]: 1 << 32})


@pytest.mark.parametrize("blocks", [1, 2, 8])
def test_features_in_blocks_of_32(blocks: int) -> None:
    """A block has the words available, requested, active, never_changed."""
    sets = [[1 << block, 2 << block, 4 << block, 8 << block] for block in range(blocks)]
    words = [word for one in sets for word in one]
    answer = struct.pack(f"=II{4 * blocks}I", 0x3A, blocks, *words)
    source = Driver(lambda request: answer)
    found = legacy.features(source, "eth0")
    for place, name in enumerate(("hw", "wanted", "active", "nochange")):
        value = sum(one[place] << 32 * block for block, one in enumerate(sets))
        assert found[name] == Bits(value, value, 32 * blocks)
    assert source.requests == [struct.pack("=II", 0x3A, 8) + bytes(16 * 8)]
    cut(lambda one: legacy.features(one, "eth0"), lambda request: answer, len(answer))


@pytest.mark.parametrize("blocks", [0, 9])
def test_features_of_no_block_or_too_many_are_an_error(blocks: int) -> None:
    answer = struct.pack("=II", 0x3A, blocks) + bytes(16 * blocks)
    with pytest.raises(ValueError, match="cut off"):
        legacy.features(Driver(lambda request: answer), "eth0")


@pytest.mark.parametrize("count", [1, 3, 127])
def test_link_modes_in_words_of_32(count: int) -> None:
    words = [n + 1 for n in range(3 * count)]

    def answer(request: bytes) -> bytes:
        asked = LinkSettings.from_buffer_copy(request)
        if not asked.words:
            return bytes(LinkSettings(0x4C, 0, 0, 0, 0, 0, 0, 0, 0, -count))
        assert len(request) == 48 + 12 * count
        told = LinkSettings(0x4C, 25_000, 1, 3, 9, 1, 0, 0, 0, count)
        return bytes(told) + struct.pack(f"={3 * count}I", *words)

    found = legacy.linkmodes(Driver(answer), "eth0")
    supported, advertised, partner = (
        sum(w << 32 * n for n, w in enumerate(words[count * p : count * (p + 1)])) for p in range(3)
    )
    assert found == {"speed": 25_000, "duplex": 1, "port": 3, "autoneg": 1,
                     "ours": Bits(advertised, supported, 32 * count),
                     "peer": Bits(partner, partner, 32 * count)}  # fmt: skip
    cut(lambda one: legacy.linkmodes(one, "eth0"), answer, 48 + 12 * count)


@pytest.mark.parametrize(("there", "name"), [(40, "f39"), (33, "f32"), (32, "f0"), (256, "f255")])
def test_a_feature_is_requested_in_its_block(there: int, name: str) -> None:
    def answer(request: bytes) -> bytes:
        if struct.unpack_from("=I", request)[0] != 0x1B:
            return request
        assert len(request) == 12 + 32 * 256
        named = b"".join(f"f{n}".encode().ljust(32, b"\0") for n in range(there))
        return (struct.pack("=III", 0x1B, 4, there) + named).ljust(len(request), b"\0")

    for on in (True, False):
        kernel: Any = Driver(answer)
        legacy.put(kernel, "features", "eth0", {name: on})
        block, bit = divmod(int(name[1:]), 32)
        blocks = -(-there // 32)
        words = [0] * (2 * blocks)
        words[2 * block] = 1 << bit
        words[2 * block + 1] = on << bit
        assert kernel.requests[1] == struct.pack(f"=II{2 * blocks}I", 0x3B, blocks, *words)
        assert kernel.requests[0][:12] == struct.pack("=III", 0x1B, 4, 0)
    with pytest.raises(ValueError, match="not known to this kernel's ethtool"):
        legacy.put(Driver(answer), "features", "eth0", {"turbo": True})  # type: ignore[arg-type]
