"""Collectors of ethtool: rings, coalescing, channels, features, link modes, RSS, optics."""

import socket
import struct
from dataclasses import fields
from typing import Any

import pytest
from netlink_bytes import (
    Fake,
    bitset,
    counters,
    device,
    link,
    nest,
    number,
    string_set,
    u8,
    u64,
)
from netlink_tables import LINKS

from nettop.collect import (
    channels,
    coalesce,
    features,
    fec,
    link_stats,
    linkmodes,
    module,
    ntuple,
    pause,
    privflags,
    rings,
    rss,
)
from nettop.frame.fields import light
from nettop.host.netlink import driver, ethtool, legacy
from nettop.host.netlink.codec import attribute
from nettop.host.recording import Record, Replay
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler


def test_rings_that_read_zero_are_not_known() -> None:
    raw = device("eth0", number(2, 4096), number(5, 4096), number(6, 256), number(9, 0))
    found = rings.read(Fake({"ethtool/rings": raw}))[0]
    assert (found.rx, found.rx_max, found.tx, found.tx_max) == (256, 4096, None, 4096)
    assert found.rx_jumbo is None


def test_coalescing_knobs_that_a_driver_lacks_are_unknown() -> None:
    steps = [nest(1, number(1, u), number(2, p)) for u, p in ((1, 256), (8, 128))]
    raw = device("eth0", number(2, 50), attribute(11, u8(1)), nest(29, *steps))
    found = coalesce.read(Fake({"ethtool/coalesce": raw}))[0]
    assert (found.rx_usecs, found.adaptive_rx, found.adaptive_tx) == (50, True, None)
    assert (found.tx_usecs, found.rx_frames) == (None, None)
    assert found.rx_profile == "1,256,n/a 8,128,n/a"


def test_pause_has_its_frames_where_the_driver_counts_them() -> None:
    counted = nest(5, attribute(2, u64(7)), attribute(3, u64(9)))
    raw = device("eth0", attribute(2, u8(1)), attribute(3, u8(1)), attribute(4, u8(0)), counted)
    raw += device("eth1", attribute(2, u8(0)), attribute(3, u8(0)), attribute(4, u8(0)))
    first, second = pause.read(Fake({"ethtool/pause": raw}))
    assert (first.autoneg, first.rx, first.tx) == (True, True, False)
    assert (first.rx_frames, first.tx_frames) == (9, 7)
    assert (second.rx_frames, second.tx_frames) == (None, None)


def test_channels() -> None:
    raw = device("eth0", number(5, 8), number(9, 4))
    found = channels.update(Fake({"ethtool/channels": raw}), {})[0]
    assert (found.combined, found.combined_max, found.rx, found.rx_max) == (4, 8, None, None)


def test_link_modes_tell_what_is_supported_offered_and_best() -> None:
    names = ["1000baseT/Full", "Autoneg", "10000baseT/Full", "25000baseCR/Full"]
    modes = device(
        "eth0", attribute(2, u8(1)), bitset(3, 0b0101, 0b1111), number(5, 10000),
        attribute(6, u8(1)), number(9, 1),
    )  # fmt: skip
    modes += device("eth1", number(5, 0xFFFFFFFF), attribute(6, u8(255)), bitset(3, 0, 0))
    modes += device("eth2", number(5, 0))
    answers = {
        "ethtool/linkmodes": modes,
        "ethtool/linkstate": device("eth1", attribute(2, u8(0)), attribute(5, u8(4))),
        "ethtool/strings/linkmodes": string_set(9, names),
    }
    up, down, bare = linkmodes.update(Fake(answers), {})
    assert (bare.supported, bare.advertised, bare.partner, bare.speed) == ((), (), (), None)
    assert (up.speed, up.duplex, up.autoneg, up.best, up.lanes) == (1e10, "full", True, 2.5e10, 1)
    assert up.advertised == ("1000baseT/Full", "10000baseT/Full")
    assert up.supported == tuple(names)
    assert (down.speed, down.duplex, down.link, down.why_down, down.best) == (
        None, None, False, "no cable", None,
    )  # fmt: skip


def test_fec_names_its_mode_by_the_link_modes() -> None:
    answers = {
        "ethtool/fec": device("eth0", bitset(2, 0b10, None), attribute(3, u8(1)), number(4, 1)),
        "ethtool/strings/linkmodes": string_set(9, ["None", "RS"]),
    }
    found = fec.update(Fake(answers), {})[0]
    assert (found.active, found.auto, found.modes) == ("RS", True, ("RS",))


def test_fec_counts_what_it_mends_and_what_it_cannot() -> None:
    lanes = struct.pack("=3Q", 256, 255, 1)  # the total comes first
    one = device("eth0", nest(5, attribute(2, lanes), attribute(3, u64(145)), attribute(4, b"")))
    none = device("eth1", nest(5, attribute(2, b""), attribute(3, b"")))  # the driver counts none
    answers = {"ethtool/fec": one + none, "ethtool/strings/linkmodes": string_set(9, ["None"])}
    found = fec.update(Fake(answers), {})
    assert [(row.corrected, row.uncorrectable) for row in found] == [(256, 145), (None, None)]


def test_private_flags_have_the_names_of_their_device() -> None:
    answers = {
        "ethtool/privflags": device("eth0", bitset(2, 0b10, None, size=2)),
        "ethtool/strings/privflags/eth0": string_set(2, ["legacy-rx", "rx_cqe"]),
    }
    found = privflags.update(Fake(answers), {})
    assert [(row.name, row.on) for row in found] == [("legacy-rx", False), ("rx_cqe", True)]


KEY = bytes(range(40))


def rss_answers(table: tuple[int, ...], key: bytes) -> dict[str, bytes | int]:
    sizes = struct.pack("=IIIIIBB6x", 0x46, 0, len(table), len(key), 1, 0, 0)[:24]
    head = struct.pack("=IIIIBB2xI", 0x46, 0, len(table), len(key), 1, 0, 0)
    return {
        "rss-size/eth0": sizes,
        "rss/eth0": head + struct.pack(f"={len(table)}I", *table) + key,
        "hash/tcp4/eth0": struct.pack("=IIQ184x", 0x29, 1, 0xF0),
        "hash/udp4/eth0": struct.pack("=IIQ184x", 0x29, 2, 0x30),
        "rx-rings/eth0": struct.pack("=IIQ184x", 0x2D, 0, 4),
    }


@pytest.mark.parametrize(
    ("number", "symmetric", "transform"),
    [(1, True, "symmetric-xor"), (2, True, "symmetric-or-xor"), (4, False, "transform 4")],
)
def test_rss_tells_what_is_done_before_the_hash(
    number: int, symmetric: bool, transform: str
) -> None:
    answers = rss_answers((0, 1), KEY)
    whole = bytearray(answers["rss/eth0"])
    whole[17] = number  # struct ethtool_rxfh.input_xfrm, Linux 6.8
    answers["rss/eth0"] = bytes(whole)
    found = rss.update(Fake({"route/links": link(2, "eth0")}, answers), {})[0]
    assert (found.symmetric, found.transform) == (symmetric, transform)


def test_rss_gives_key_table_and_hashed_fields() -> None:
    source = Fake({"route/links": link(2, "eth0")}, rss_answers((0, 1, 2, 3) * 32, KEY))
    found = rss.update(source, {})[0]
    assert found.table == (0, 1, 2, 3) * 32
    assert found.key == KEY.hex(":")
    assert (found.function, found.rings, found.symmetric) == ("toeplitz", 4, False)
    assert found.transform is None
    assert (found.hash_tcp4, found.hash_udp4, found.hash_tcp6) == ("sdfn", "sd", None)


def test_a_driver_that_hides_its_key_has_none() -> None:
    source = Fake({"route/links": link(2, "eth0")}, rss_answers((0, 1), b""))
    found = rss.update(source, {})[0]
    assert (found.table, found.key) == ((0, 1), None)


def test_a_steering_rule_names_only_what_it_matches() -> None:
    spec = bytearray(168)
    struct.pack_into("=I", spec, 0, 1)
    spec[4:8], spec[8:12] = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
    struct.pack_into(">H", spec, 14, 5001)
    spec[80:84] = b"\xff" * 4  # the mask of the destination
    struct.pack_into(">H", spec, 86, 0xFFFF)
    struct.pack_into("=QI", spec, 152, 3, 12)
    answers = {
        "rule-count/eth0": struct.pack("=IIQ168xI12x", 0x2E, 0, 0, 1),
        "rule-list/eth0": struct.pack("=IIQ168xII8x", 0x30, 0, 0, 1, 12),
        "rule/12/eth0": struct.pack("=IIQ", 0x2F, 0, 0) + bytes(spec) + bytes(16),
    }
    rows = ntuple.read(Fake({"route/links": link(2, "eth0")}, answers))
    assert [(r.location, r.flow, r.source, r.destination) for r in rows] == [
        (12, "tcp4", None, "192.0.2.2")
    ]
    assert (rows[0].source_port, rows[0].destination_port, rows[0].queue) == (None, 5001, 3)


def test_a_steering_rule_of_ipv6_has_both_addresses_and_ports() -> None:
    spec = bytearray(168)
    struct.pack_into("=I", spec, 0, 5)
    near, far = socket.inet_pton(socket.AF_INET6, "::1"), socket.inet_pton(socket.AF_INET6, "::2")
    spec[4:20], spec[20:36] = near, far
    struct.pack_into(">HH", spec, 36, 1024, 5001)
    spec[80:112], spec[112:116] = b"\xff" * 32, b"\xff" * 4
    struct.pack_into("=QI", spec, 152, 1, 7)
    answers = {
        "rule-count/eth0": struct.pack("=IIQ168xI12x", 0x2E, 0, 0, 1),
        "rule-list/eth0": struct.pack("=IIQ168xII8x", 0x30, 0, 0, 1, 7),
        "rule/7/eth0": struct.pack("=IIQ", 0x2F, 0, 0) + bytes(spec) + bytes(16),
    }
    (row,) = ntuple.read(Fake({"route/links": link(2, "eth0")}, answers))
    assert (row.flow, row.source, row.destination) == ("tcp6", "::1", "::2")
    assert (row.source_port, row.destination_port, row.queue) == (1024, 5001, 1)


def test_features_of_an_old_kernel_are_read_by_ioctl() -> None:
    names = [f"f{n}" for n in range(34)]
    words = (0b110, 0b010, 0b101, 0b100, 0b11, 0b01, 0b10, 0)  # two blocks of four sets
    answers = {
        "count/4/eth0": struct.pack("=IIQI", 0x37, 0, 1 << 4, 34),
        "names/4/eth0": struct.pack("=III", 0x1B, 4, 34) + b"".join(
            name.encode().ljust(32, b"\0") for name in names
        ),
        "features/eth0": struct.pack("=II8I", 0x3A, 2, *words),
    }  # fmt: skip
    source = Fake(
        {"route/links": LINKS, "ethtool/features": 2, "ethtool/strings/features": 2}, answers
    )
    rows = {row.name: row for row in features.update(source, {})}
    assert len(rows) == 34
    assert [(rows[f"f{n}"].on, rows[f"f{n}"].wanted, rows[f"f{n}"].fixed) for n in (0, 1, 2)] == [
        (True, False, True),
        (False, True, False),
        (True, False, True),
    ]
    assert [(rows[f"f{n}"].on, rows[f"f{n}"].wanted) for n in (32, 33)] == [
        (False, True),
        (True, False),
    ]


def test_link_modes_of_an_old_kernel_are_read_by_ioctl() -> None:
    head = struct.pack("=IIBBBB3xb", 0x4C, 1000, 1, 0, 0, 1, 2) + bytes(32)
    supported, advertised, partner = 0b101000 | 1 << 12, 0b1000 | 1 << 31, 1 << 5
    modes = (supported, 0, advertised, 0, partner, 1 << 15)  # two words a set
    answers = {
        "link-size/eth0": struct.pack("=II7xb32x", 0x4C, 0, -2),
        "link/eth0": head + struct.pack("=6I", *modes),
    }
    source = Fake({"route/links": LINKS, "ethtool/linkmodes": 2}, answers)
    (row,) = linkmodes.update(source, {})
    assert (row.speed, row.duplex, row.autoneg, row.port) == (1e9, "full", True, "TP")
    assert row.supported == ("100baseT/Full", "1000baseT/Full", "10000baseT/Full")
    assert row.advertised == ("100baseT/Full", "25000baseCR/Full")
    assert row.partner == ("1000baseT/Full", "2500baseT/Full")
    assert (row.best, row.link) == (1e10, None)


def test_a_host_that_tells_features_in_no_way_has_none_to_show() -> None:
    source = Fake({"route/links": LINKS, "ethtool/features": 2, "ethtool/strings/features": 2})
    with pytest.raises(OSError, match="as given"):
        features.update(source, {})


def test_the_kernel_here_answers_the_same_by_ioctl_and_netlink() -> None:
    here = Live()
    by_ioctl = legacy.features(here, "lo")
    by_netlink = ethtool.one(here, "features", "lo")
    for which in ("hw", "wanted", "active", "nochange"):
        assert by_ioctl[which].value == by_netlink[which].value, which
    names = driver.string_names(here, "lo", legacy.FEATURES)
    assert names == ethtool.strings(here, "features")
    modes = ethtool.strings(here, "linkmodes")
    assert modes[: len(legacy.LINK_MODES)] == legacy.LINK_MODES


def test_a_recording_of_netlink_replays_to_the_same_rows() -> None:
    answers: dict[str, bytes | int] = {
        "route/links": LINKS,
        "route/counters": counters(1, 10) + counters(2, 5),
        "ethtool/rings": device("eth0", number(2, 4096), number(6, 256)),
        "ethtool/pause": 1,
    }
    wanted = ["links", "link_stats", "rings", "pause"]
    teed: Any = Record(Fake(answers, {}))
    frame = Sampler(teed).take(wanted)
    again = Sampler(Replay(teed.archive())).take(wanted)
    assert {name: again.rows(name) for name in wanted} == {n: frame.rows(n) for n in wanted}
    assert again.missing.keys() == frame.missing.keys() == {"pause"}


def test_a_light_row_is_as_any_row() -> None:
    assert [f.name for f in fields(link_stats.Row)][:2] == ["interface", "index"]
    made = light(rings.Row)("eth0", 256)
    assert (made.interface, made.rx, made.tx_push) == ("eth0", 256, None)


def sfp(identifier: int = 3, monitoring: int = 0x60) -> dict[tuple[int, int], bytes]:
    first = bytearray(256)
    first[0], first[92] = identifier, monitoring
    first[20:36], first[40:56] = b"ACME\x1b".ljust(16), b"SFP-10G-SR".ljust(16)
    second = bytearray(256)
    second[96:98] = struct.pack(">h", 30 * 256 + 128)
    second[102:106] = struct.pack(">HH", 5012, 1000)
    return {(0x50, 0): bytes(first), (0x51, 0): bytes(second)}


def reader(pages: dict[tuple[int, int], bytes]) -> module.Read:
    return lambda address, page, offset, length: pages[address, page][offset : offset + length]


def test_an_sfp_tells_temperature_and_light() -> None:
    found = module.module(reader(sfp()))
    assert found == module.Module("SFP", "ACME", "SFP-10G-SR", 30.5, -10.0, -3.0)


def test_an_sfp_without_diagnostics_tells_only_its_name() -> None:
    found = module.module(reader(sfp(monitoring=0)))
    assert (found.part, found.temperature, found.rx_power) == ("SFP-10G-SR", None, None)


def test_the_weakest_lane_of_a_qsfp_counts_and_a_dark_one_has_no_power() -> None:
    page = bytearray(256)
    page[0] = 0x11
    page[22:24] = struct.pack(">h", 41 * 256)
    page[34:42] = struct.pack(">4H", 10000, 5000, 0, 10000)
    found = module.module(reader({(0x50, 0): bytes(page)}))
    assert (found.temperature, found.rx_power, found.tx_power) == (41.0, -3.01, None)


def test_a_module_that_is_none_of_these_gives_no_row() -> None:
    def eeprom(offset: int, raw: bytes) -> dict[str, bytes | int]:
        return {f"ethtool/eeprom/eth0/{offset}/1/0/0/80": device("eth0", attribute(7, raw))}

    source = Fake({"route/links": link(2, "eth0"), **eeprom(0, b"\x02")})
    assert module.update(source, {}) == []
    with pytest.raises(PermissionError):
        module.update(
            Fake({"route/links": link(2, "eth0"), "ethtool/eeprom/eth0/0/1/0/0/80": 1}), {}
        )
