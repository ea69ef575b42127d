"""What collectors make of the kernel's answers: rows, names, unknowns."""

from __future__ import annotations

import struct
from dataclasses import fields
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
    text,
    u8,
    u64,
)

from nettop.collect import (
    addresses,
    channels,
    coalesce,
    features,
    fec,
    link_stats,
    linkmodes,
    links,
    module,
    ntuple,
    pause,
    privflags,
    qdiscs,
    rings,
    routes,
    rss,
)
from nettop.frame.fields import light
from nettop.host.netlink import driver, ethtool, legacy, optics
from nettop.host.netlink.codec import attribute
from nettop.host.recording import Record, Replay
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler

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


def by_name(rows: Any) -> dict[str, Any]:
    return {row.interface: row for row in rows}


def test_links_know_their_kind_their_neighbours_and_their_limits() -> None:
    found = by_name(links.parse(LINKS))
    eth0 = found["eth0"]
    assert (eth0.index, eth0.kind, eth0.mtu, eth0.max_mtu, eth0.txqueuelen) == (
        2, "", 9000, 9710, 1000,
    )  # fmt: skip
    assert (eth0.address, eth0.operstate, eth0.carrier) == ("02:00:00:00:00:01", "up", True)
    assert (eth0.master, eth0.slave_kind, eth0.promisc) == ("bond0", "bond", True)
    assert (eth0.xdp, eth0.xdp_program, eth0.carrier_changes) == ("driver", 17, 3)
    assert eth0.parent == "0000:41:00.0"
    assert (found["eth0.7"].kind, found["eth0.7"].link, found["eth0.7"].vlan) == ("vlan", "eth0", 7)
    assert found["lo"].loopback
    assert found["lo"].carrier is None  # its driver does not say
    assert not found["bond0"].up
    # the other end of va has number 9 in another namespace: not the interface 9 of this one
    assert (found["va"].link, found["va"].link_netns) == (None, 0)


def test_an_unchanged_answer_is_not_parsed_again() -> None:
    source, memory = Fake({"route/links": LINKS}), dict[str, Any]()
    first = links.update(source, memory)
    assert links.update(source, memory) is first
    source.netlinks["route/links"] = LINKS + link(6, "new0")
    assert "new0" in by_name(links.update(source, memory))


def test_link_stats_read_names_only_when_an_unknown_interface_shows_up() -> None:
    source = Fake({"route/links": LINKS, "route/counters": counters(1, 10, 11) + counters(2, 5)})
    memory: dict[str, Any] = {}
    rows = by_name(link_stats.update(source, memory))
    assert (rows["lo"].rx_packets, rows["lo"].tx_packets, rows["eth0"].rx_packets) == (10, 11, 5)
    source.asked.clear()
    link_stats.update(source, memory)
    assert source.asked == ["route/counters"]
    source.netlinks["route/links"] = LINKS + link(6, "new0")
    source.netlinks["route/counters"] = counters(1, 10, 11) + counters(6, 1)
    assert "new0" in by_name(link_stats.update(source, memory))
    assert source.asked == ["route/counters", "route/counters", "route/links"]


def test_an_interface_that_vanished_between_two_questions_has_no_row() -> None:
    source = Fake({"route/links": LINKS, "route/counters": counters(1) + counters(77, 4)})
    assert list(by_name(link_stats.update(source, {}))) == ["lo"]


def test_a_renamed_interface_is_believed_for_ten_seconds() -> None:
    source = Fake({"route/links": link(2, "old0"), "route/counters": counters(2, 5)})
    memory: dict[str, Any] = {}
    link_stats.update(source, memory)
    source.netlinks["route/links"] = link(2, "new0")
    source.at = 9.0
    assert list(by_name(link_stats.update(source, memory))) == ["old0"]
    source.at = 10.0
    assert list(by_name(link_stats.update(source, memory))) == ["new0"]


def test_an_idle_interface_keeps_its_row_and_a_busy_one_gets_a_rate() -> None:
    source = Fake({"route/links": LINKS, "route/counters": counters(1, 10) + counters(2, 5)})
    sampler = Sampler(source)
    first = sampler.take(["link_stats"])
    source.at = 2.0
    source.netlinks["route/counters"] = counters(1, 10) + counters(2, 25)
    second = sampler.take(["link_stats"])
    lo: Any
    eth0: Any
    lo, eth0 = second.tables["link_stats"]
    assert lo.now is first.tables["link_stats"][0].now
    assert (lo.per_s.rx_packets, eth0.per_s.rx_packets) == (0.0, 10.0)
    assert (eth0.per_s.interface, eth0.per_s.tx_bytes) == ("eth0", 0.0)


def test_a_table_where_nothing_moves_is_the_same_table_again() -> None:
    source = Fake({"route/links": LINKS, "route/counters": counters(1, 10) + counters(2, 5)})
    sampler = Sampler(source)
    frames = []
    for counted in (5, 5, 5, 7, 7, 7):
        source.at += 1.0
        source.netlinks["route/counters"] = counters(1, 10) + counters(2, counted)
        frames.append(sampler.take(["link_stats"]).tables["link_stats"])
    rates: list[Any] = [table[1].per_s for table in frames]
    assert [rate and rate.rx_packets for rate in rates] == [None, 0.0, 0.0, 2.0, 0.0, 0.0]
    assert frames[2] is frames[1]
    assert frames[3][0] is frames[1][0]  # one that stood still beside one that moved
    assert frames[5] is frames[4]


@pytest.mark.parametrize(("words", "last"), [(23, (None, None)), (24, (0, None)), (25, (0, 0))])
def test_older_kernels_have_fewer_counters(words: int, last: tuple[int | None, ...]) -> None:
    rows, _ = link_stats.parse(counters(2, 7, words=words), {2: "eth0"}, {})
    assert (rows[0].rx_nohandler, rows[0].rx_otherhost_dropped) == last


def test_addresses_have_family_prefix_and_scope() -> None:
    head = struct.Struct("=BBBBI").pack
    raw = message(20, head(2, 24, 0x80, 0, 2) + attribute(2, bytes([192, 0, 2, 9])))
    raw += message(20, head(10, 64, 0x40, 253, 2) + attribute(1, b"\xfe\x80" + bytes(13) + b"\1"))
    raw += message(20, head(2, 8, 0, 254, 99) + attribute(2, bytes([127, 0, 0, 1])))  # no such one
    found = addresses.parse(raw, {2: "eth0"})
    assert [(row.interface, row.address, row.prefix, row.family, row.scope) for row in found] == [
        ("eth0", "192.0.2.9", 24, 4, "global"),
        ("eth0", "fe80::1", 64, 6, "link"),
    ]
    assert [row.tentative for row in found] == [False, True]


def test_routes_give_a_row_for_each_hop_and_leave_out_what_is_not_unicast() -> None:
    head = struct.Struct("=BBBBBBBBI").pack
    to, via = attribute(1, bytes([10, 0, 0, 0])), attribute(5, bytes([192, 0, 2, 1]))
    raw = message(24, head(2, 8, 0, 0, 254, 3, 0, 1, 0) + to + via + number(4, 2) + number(6, 100))
    raw += message(24, head(2, 32, 0, 0, 255, 2, 254, 2, 0) + to + number(4, 2))  # local
    hops = b"".join(
        struct.pack("=HBBi", 8 + len(gateway), 0, 0, index) + gateway
        for index, gateway in ((2, attribute(5, bytes([192, 0, 2, 2]))), (3, b""))
    )
    raw += message(24, head(2, 0, 0, 0, 254, 3, 0, 1, 0) + attribute(9, hops))
    metrics = nest(8, number(11, 40), number(8, 1400), text(16, "bbr"))
    raw += message(24, head(10, 0, 0, 0, 254, 3, 0, 1, 0) + number(4, 2) + metrics)
    found = routes.parse(raw, {2: "eth0", 3: "eth1"})
    assert [(r.to, r.interface, r.gateway, r.metric, r.table) for r in found] == [
        ("10.0.0.0/8", "eth0", "192.0.2.1", 100, 254),
        ("0.0.0.0/0", "eth0", "192.0.2.2", 0, 254),
        ("0.0.0.0/0", "eth1", None, 0, 254),
        ("::/0", "eth0", None, 0, 254),
    ]
    assert (found[3].initcwnd, found[3].advmss, found[3].congestion) == (40, 1400, "bbr")


def routed(number_of: int) -> bytes:
    head = struct.pack("=BBBBBBBBI", 2, 24, 0, 0, 254, 186, 0, 1, 0)
    return b"".join(
        message(24, head + attribute(1, struct.pack(">I", 20 << 24 | n << 8)) + number(4, 2))
        for n in range(number_of)
    )


def test_routes_are_taken_apart_when_they_changed_and_never_a_router_s() -> None:
    source, memory = Fake({"route/links": LINKS, "route/routes4": routed(3)}), dict[str, Any]()
    rows = routes.update(source, memory)
    assert [row.to for row in rows] == ["20.0.0.0/24", "20.0.1.0/24", "20.0.2.0/24"]
    assert routes.update(source, memory) is rows
    source.netlinks["route/routes4"] = routed(4)
    assert len(routes.update(source, memory)) == 4
    source.netlinks["route/routes4"] = routed(30_000)
    with pytest.raises(ValueError, match=r"a routing table of 1\.\d MiB is not read"):
        routes.update(source, memory)


def test_qdiscs_are_named_as_tc_does_and_count_their_drops() -> None:
    def qdisc(handle: int, parent: int, kind: str, drops: int) -> bytes:
        head = struct.pack("=BxHiIII", 0, 0, 2, handle, parent, 0)
        basic = attribute(1, struct.pack("=QI", 900, 9))
        queue = attribute(3, struct.pack("=5I", 2, 300, drops, 4, 5))
        packets = attribute(8, u64(1 << 33))
        return message(36, head + text(1, kind) + nest(7, basic, queue, packets))

    raw = qdisc(0x80010000, 0xFFFFFFFF, "mq", 0) + qdisc(0, 0x8001000A, "fq_codel", 3)
    root, leaf = qdiscs.parse(raw, {2: "eth0"})
    assert (root.parent, root.handle, root.root, root.kind) == ("root", "8001:", True, "mq")
    assert (leaf.parent, leaf.handle, leaf.root) == ("8001:a", "0:", False)
    assert (leaf.drops, leaf.qlen, leaf.backlog, leaf.requeues, leaf.overlimits) == (
        3,
        2,
        300,
        4,
        5,
    )
    assert (leaf.bytes, leaf.packets) == (900, 1 << 33)  # not the 32-bit count


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
    found = channels.read(Fake({"ethtool/channels": raw}))[0]
    assert (found.combined, found.combined_max, found.rx, found.rx_max) == (4, 8, None, None)


def test_a_feature_is_fixed_when_the_device_or_the_kernel_cannot_change_it() -> None:
    names = ["tx-sg", "tx-tso", "rx-gro", "netns-local"]
    raw = device(
        "eth0", bitset(2, 0b1110, 0xFF), bitset(3, 0b0010, None), bitset(4, 0b0101, None),
        bitset(5, 0b1000, None),
    )  # fmt: skip
    answers = {"ethtool/features": raw, "ethtool/strings/features": string_set(4, names)}
    rows = {row.name: row for row in features.update(Fake(answers), {})}
    assert [(row.on, row.wanted, row.fixed) for row in rows.values()] == [
        (True, False, True),
        (False, True, False),
        (True, False, False),
        (False, False, True),
    ]


def test_link_modes_tell_what_is_supported_offered_and_best() -> None:
    names = ["1000baseT/Full", "Autoneg", "10000baseT/Full", "25000baseCR/Full"]
    modes = device(
        "eth0", attribute(2, u8(1)), bitset(3, 0b0101, 0b1111), number(5, 10000),
        attribute(6, u8(1)), number(9, 1),
    )  # fmt: skip
    modes += device("eth1", number(5, 0xFFFFFFFF), attribute(6, u8(255)), bitset(3, 0, 0))
    answers = {
        "ethtool/linkmodes": modes,
        "ethtool/linkstate": device("eth1", attribute(2, u8(0)), attribute(5, u8(4))),
        "ethtool/strings/linkmodes": string_set(9, names),
    }
    up, down = linkmodes.update(Fake(answers), {})
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
    found = rss.read(Fake({"route/links": link(2, "eth0")}, answers))[0]
    assert (found.symmetric, found.transform) == (symmetric, transform)


def test_rss_gives_key_table_and_hashed_fields() -> None:
    source = Fake({"route/links": link(2, "eth0")}, rss_answers((0, 1, 2, 3) * 32, KEY))
    found = rss.read(source)[0]
    assert found.table == (0, 1, 2, 3) * 32
    assert found.key == KEY.hex(":")
    assert (found.function, found.rings, found.symmetric) == ("toeplitz", 4, False)
    assert found.transform is None
    assert (found.hash_tcp4, found.hash_udp4, found.hash_tcp6) == ("sdfn", "sd", None)


def test_a_driver_that_hides_its_key_has_none() -> None:
    source = Fake({"route/links": link(2, "eth0")}, rss_answers((0, 1), b""))
    found = rss.read(source)[0]
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


def test_a_kernel_without_ethtool_netlink_is_asked_by_ioctl() -> None:
    answers = {"rings/eth0": struct.pack("=9I", 0x10, 4096, 0, 0, 4096, 256, 0, 0, 512)}
    source = Fake({"route/links": LINKS, "ethtool/rings": 2}, answers)
    found = rings.read(source)
    assert [row.interface for row in found] == ["eth0"]
    assert (found[0].rx, found[0].rx_max, found[0].tx, found[0].rx_jumbo) == (256, 4096, 512, None)
    answers = {"channels/eth0": struct.pack("=9I", 0x3C, 0, 0, 1, 8, 0, 0, 1, 4)}
    source = Fake({"route/links": LINKS, "ethtool/channels": 95}, answers)
    assert (channels.read(source)[0].combined, channels.read(source)[0].rx) == (4, None)
    answers = {"coalesce/eth0": struct.pack("=23I", 0x0E, 30, 8, *[0] * 20)}
    source = Fake({"route/links": LINKS, "ethtool/coalesce": 2}, answers)
    row = coalesce.read(source)[0]
    assert (row.rx_usecs, row.rx_frames, row.rx_usecs_high) == (30, 8, None)


def test_a_driver_with_an_error_does_not_hide_the_others() -> None:
    answers: dict[str, bytes | int] = {
        "route/links": LINKS,
        "ethtool/rings": 5,  # the kernel's list ends with the first driver's error
        "ethtool/rings/eth0": device("eth0", number(2, 4096), number(6, 256)),
        "ethtool/rings/bond0": 5,
    }
    assert [row.interface for row in rings.read(Fake(answers))] == ["eth0"]


def test_a_directory_has_no_netlink() -> None:
    frame = Sampler(Live("/nowhere")).take(
        ["links", "link_stats", "rings", "nicstats", "sockets_tcp"]
    )
    asked = {"links", "link_stats", "rings", "nicstats", "sockets_tcp"}
    assert frame.missing.keys() - asked == {"netdev"}  # it stands in for link_stats
    assert {frame.missing[name] for name in asked} == {"a directory has no netlink: /nowhere"}


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


def reader(pages: dict[tuple[int, int], bytes]) -> optics.Read:
    return lambda address, page, offset, length: pages[address, page][offset : offset + length]


def test_an_sfp_tells_temperature_and_light() -> None:
    found = optics.module(reader(sfp()))
    assert found == optics.Module("SFP", "ACME", "SFP-10G-SR", 30.5, -10.0, -3.0)


def test_an_sfp_without_diagnostics_tells_only_its_name() -> None:
    found = optics.module(reader(sfp(monitoring=0)))
    assert (found.part, found.temperature, found.rx_power) == ("SFP-10G-SR", None, None)


def test_the_weakest_lane_of_a_qsfp_counts_and_a_dark_one_has_no_power() -> None:
    page = bytearray(256)
    page[0] = 0x11
    page[22:24] = struct.pack(">h", 41 * 256)
    page[34:42] = struct.pack(">4H", 10000, 5000, 0, 10000)
    found = optics.module(reader({(0x50, 0): bytes(page)}))
    assert (found.temperature, found.rx_power, found.tx_power) == (41.0, -3.01, None)


def test_a_module_that_is_none_of_these_gives_no_row() -> None:
    def eeprom(offset: int, raw: bytes) -> dict[str, bytes | int]:
        return {f"ethtool/eeprom/eth0/{offset}/1/0/0/80": device("eth0", attribute(7, raw))}

    source = Fake({"route/links": link(2, "eth0"), **eeprom(0, b"\x02")})
    assert module.read(source) == []
    with pytest.raises(PermissionError):
        module.read(Fake({"route/links": link(2, "eth0"), "ethtool/eeprom/eth0/0/1/0/0/80": 1}))


PARSERS = {
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
    "features": features, "linkmodes": linkmodes, "fec": fec, "privflags": privflags,
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
    ):  # fmt: skip
        try:
            ask(source, "eth0")
        except (ValueError, OSError):
            continue


@given(st.binary(max_size=64))
def test_a_modules_memory_may_be_any_bytes(raw: bytes) -> None:
    try:
        optics.module(lambda _address, _page, _offset, length: raw[:length])
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
