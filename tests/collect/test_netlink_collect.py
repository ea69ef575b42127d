"""Collectors of rtnetlink: links, counters, addresses, routes, qdiscs."""

import struct
from typing import Any

import pytest
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
    u64,
)
from netlink_tables import LINKS

from nettop.collect import (
    addresses,
    features,
    link_stats,
    links,
    qdiscs,
    routes,
)
from nettop.collect._table import Memory
from nettop.host.netlink.codec import attribute


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


@pytest.mark.parametrize(
    ("master", "number", "state"),
    [("bridge", 1, "listening"), ("bridge", 3, "forwarding"), ("bridge", 9, None),
     ("bond", 1, None)],
)  # fmt: skip
def test_a_bridge_port_has_a_state(master: str, number: int, state: str | None) -> None:
    data = attribute(5, attribute(1, bytes([number])))  # IFLA_INFO_SLAVE_DATA, IFLA_BRPORT_STATE
    reply = link(7, "v1", attribute(18, attribute(4, master.encode() + b"\0") + data))
    assert links.parse(reply)[0].port_state == state


@pytest.mark.parametrize(("mode", "listed", "senders"), [
    (16, [b"\2\0\0\0\0\1", b"\2\0\0\0\0\2"], ("02:00:00:00:00:01", "02:00:00:00:00:02")),
    (16, [], ()), (4, [], None),
])  # fmt: skip
def test_a_macvlan_in_mode_source_lists_its_senders(
    mode: int, listed: list[bytes], senders: tuple[str, ...] | None
) -> None:
    listing = [attribute(5, b"".join(attribute(4, one) for one in listed))] if listed else []
    data = attribute(2, attribute(1, struct.pack("=I", mode)) + b"".join(listing))
    reply = link(7, "m0", attribute(18, attribute(1, b"macvlan\0") + data))
    assert links.parse(reply)[0].senders == senders


def test_link_stats_read_names_only_when_an_unknown_interface_shows_up() -> None:
    source = Fake({"route/links": LINKS, "route/counters": counters(1, 10, 11) + counters(2, 5)})
    memory: Memory = {}
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
    memory: Memory = {}
    link_stats.update(source, memory)
    source.netlinks["route/links"] = link(2, "new0")
    source.at = 9.0
    assert list(by_name(link_stats.update(source, memory))) == ["old0"]
    source.at = 10.0
    assert list(by_name(link_stats.update(source, memory))) == ["new0"]


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
    source, memory = Fake({"route/links": LINKS, "route/routes4": routed(3)}), Memory()
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


# Features of many interfaces: computed once for those that are alike.


def test_features_that_many_interfaces_have_alike_are_computed_once() -> None:
    names = ["tx-sg", "tx-tso"]
    alike = bitset(2, 0b11, 0xFF), bitset(3, 0b10, None), bitset(4, 0b01, None)
    raw = b"".join(device(f"veth{n}", *alike) for n in range(20))
    answers = {"ethtool/features": raw, "ethtool/strings/features": string_set(4, names)}
    features._states.cache_clear()
    rows = features.update(Fake(answers), {})
    assert len(rows) == 40
    assert {row.interface for row in rows} == {f"veth{n}" for n in range(20)}
    assert {(row.name, row.on, row.wanted, row.fixed) for row in rows} == {
        ("tx-sg", True, False, False),
        ("tx-tso", False, True, False),
    }
    assert features._states.cache_info().misses == 1


@pytest.mark.parametrize(("kind", "data", "ends"), [
    ("vxlan", ((1, struct.pack("=I", 7)), (4, bytes((10, 0, 0, 1))), (2, bytes((10, 0, 0, 2))),
               (15, b"\x12\xb5")), ("10.0.0.1", "10.0.0.2", 4789, 7)),
    ("vxlan", ((1, struct.pack("=I", 7)), (17, bytes(15) + b"\1")),
     ("::1", None, None, 7)),
    ("geneve", ((1, struct.pack("=I", 9)), (2, bytes((10, 0, 0, 2))), (5, b"\x17\xc1")),
     (None, "10.0.0.2", 6081, 9)),
    ("gre", ((6, bytes((10, 0, 0, 1))), (7, bytes((10, 0, 0, 2)))),
     ("10.0.0.1", "10.0.0.2", None, None)),
    ("ipip", ((2, bytes((10, 0, 0, 1))), (3, bytes(4))), ("10.0.0.1", None, None, None)),
    ("veth", ((1, bytes(4)), (2, bytes(4))), (None, None, None, None)),
])  # fmt: skip
def test_both_ends_of_a_tunnel(kind: str, data: Any, ends: tuple[Any, ...]) -> None:
    inner = b"".join(attribute(number, raw) for number, raw in data)
    info = attribute(18, attribute(1, kind.encode() + b"\0") + attribute(2, inner))
    (row,) = links.parse(link(7, "t0", info))
    assert (row.tunnel_local, row.tunnel_remote, row.tunnel_port, row.tunnel_id) == ends
