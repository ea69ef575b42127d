"""Facts of dropped packets: who sent them to whom, and what a wrong hardware address means."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from drops_told import WIDTH, seen, told
from folded import folded
from way_tables import SOUND, link, qdisc, route

from nettop.collect import (
    drop_reasons,
    fdb,
    groups,
    nft_hooks,
    nft_rules,
    nftables,
    sockets_udp,
    xfrm,
    xfrm_policies,
)
from nettop.facts.kinds.drop import build
from nettop.frame.pairs import entries
from nettop.frame.rates import Frame


def test_who_sent_the_packets_and_to_whom() -> None:
    assert told(seen("UDP_CSUM", "f")).of == "10.0.0.2 to 10.0.0.1:80"
    assert told(seen("UDP_CSUM", "f", source="fd00::2", to="fd00::1")).of == (
        "fd00::2 to [fd00::1]:80"
    )
    assert told(seen("UDP_CSUM", "f", source="", to="")).of is None


def test_of_what_is_not_yet_at_ip_the_port_is_that_of_this_host() -> None:
    row = replace(seen("XDP", "f"), port="40000")
    assert told(row).whose == "udp port 80"
    assert told(replace(row, to="10.9.0.1")).whose == "udp port 40000"  # forwarded, or not known


SERVED = sockets_udp.Row(5, "0.0.0.0", 80, "", 0, ipv6=False, send_q=0, recv_q=0, uid=0, drops=0)


@pytest.mark.parametrize(("row", "wanted"), [
    (seen("UNICAST_IN_L2_MULTICAST", "f"), True),
    (seen("UNICAST_IN_L2_MULTICAST", "f", to="10.9.0.1"), False),  # of another host
    (seen("NETFILTER_DROP", "f"), False),  # a rule may be meant so: the way of the packet says it
    (seen("XDP", "f", by="fw@xdp/7"), False),
    (seen("NO_SOCKET", "f"), False),  # the sender is told
    (replace(seen("SEEN", "f", to_port=81), port="81"), False),  # nothing listens there
    (replace(seen("SEEN", "f"), protocol="ip", port=""), True),  # dropped before its port is seen
    (replace(seen("SEEN", "f"), protocol="47", port=""), False),
])  # fmt: skip
def test_packets_that_a_socket_would_take_are_wanted(
    row: drop_reasons.Row, *, wanted: bool
) -> None:
    assert told(row, sockets_udp=[SERVED]).wanted is wanted


@pytest.mark.parametrize(("row", "through"), [
    (seen("SEEN", "f"), 3.0), (replace(seen("SEEN", "f"), protocol="ip", port=""), 50.0),
])  # fmt: skip
def test_what_gets_through_beside_is_counted_by_its_protocol(
    row: drop_reasons.Row, through: float
) -> None:
    host = SimpleNamespace(few_ports=None, udp_in=3.0, ip_in=70.0)
    read = {name: list(entries(found, (), 1.0)) for name, found in SOUND.items()}
    (one,) = build(
        Frame(9.0, 9.0, {**read, "drop_reasons": list(entries([row], (), 1.0))}, {}, {}),
        SimpleNamespace(nics=(), host=host),  # type: ignore[arg-type]
    )
    assert one.through == through


WRONG = {"hardware": "02:00:00:00:00:09", "sender": "02:00:00:00:00:02"}


def test_frames_for_an_address_of_the_interface_have_a_wrong_hardware_address() -> None:
    links = [link("a0", 2, address="02:00:00:00:00:01")]
    one = told(seen(**WRONG), links=links)
    assert (one.kind, one.rule, one.nic) == ("refused", "", "a0")
    assert one.means == (
        "Packets for 10.0.0.1 come with the hardware address 02:00:00:00:00:09, "
        "which is not that of a0"
    )
    assert one.cause.startswith("10.0.0.2 sends to 02:00:00:00:00:09, and a0 has 02:00:00:00:00:01")
    assert one.of == ("10.0.0.2 (frame from 02:00:00:00:00:02 to 02:00:00:00:00:09) to 10.0.0.1:80")


def test_frames_for_the_interface_itself_that_it_does_not_take_have_a_tag() -> None:
    own = {**WRONG, "hardware": "02:00:00:00:00:01"}
    mac = own["hardware"]
    links = [link("a0", 2, address=mac), link("v7", 5, kind="vlan", link="a0", vlan=7, address=mac)]
    for to in ("10.0.0.1", "10.0.0.7"):
        one = told(seen(to=to, **own), links=links)
        assert (one.kind, one.rule, one.nic) == ("refused", "", "a0")
        assert one.means == "Frames for a0 have a VLAN tag for which it has no interface"
        assert one.cause.endswith("It has v7 (7).")


@pytest.mark.parametrize(("up", "senders", "why", "cure"), [
    (True, (), "in mode source it takes frames of listed senders only",
     "`ip link set m0 type macvlan macaddr add 02:00:00:00:00:02`"),
    (False, None, "it is down", "`ip link set m0 up`"),
])  # fmt: skip
def test_an_interface_that_does_not_take_its_own_frames_is_named(
    up: bool, senders: tuple[str, ...] | None, why: str, cure: str
) -> None:
    m0 = link("m0", 5, kind="macvlan", link="a0", address=WRONG["hardware"], up=up)
    links = [link("a0", 2, address="02:00:00:00:00:01"), replace(m0, senders=senders)]
    one = told(seen(**WRONG), links=links)
    assert one.means == f"Frames for m0 arrive on a0, and m0 does not take them: {why}"
    assert one.advice.startswith(cure)
    for takes in (None, (WRONG["sender"],)):
        taken = told(seen(**WRONG), links=[links[0], replace(m0, up=True, senders=takes)])
        assert "Frames for m0" not in taken.means


@pytest.mark.parametrize(
    "rows",
    [
        [seen(to="10.0.0.7", **WRONG)],  # a switch that floods
        [seen(to="10.1.0.1", **WRONG)],  # an address of another interface: many hosts may have it
        [seen(source="", to="")],
        [seen(**WRONG), replace(seen(to="10.0.0.7", **WRONG), packets=90)],
    ],
)
def test_frames_for_other_hosts_are_no_fault(rows: list[drop_reasons.Row]) -> None:
    assert told(*rows).kind == "normal"


def test_what_is_too_large_is_said_of_the_interface_by_which_it_leaves() -> None:
    links = [link("lo", 1), link("a0", 2), link("b0", 3, mtu=1200)]
    one = told(seen("PKT_TOO_BIG", "ip_forward", to="10.1.0.9"), links=links)
    assert (one.nic, one.of) == ("b0", "10.0.0.2 to 10.1.0.9:80 by b0 (MTU 1200)")
    absent = told(seen("NEIGH_FAILED", "f", to="10.1.0.9"), links=links)
    assert (absent.nic, absent.of) == ("b0", "10.0.0.2 to 10.1.0.9:80 by b0")
    assert told(seen("PKT_TOO_BIG", "ip_forward", to="10.1.0.9"), fib=[]).nic == "a0"


@pytest.mark.parametrize(("source", "more"), [
    ("10.1.0.9", ", but the way back is route 10.1.0.0/24 dev b0"),
    ("10.0.0.9", ""),  # by the interface by which it came
])  # fmt: skip
def test_the_route_by_which_a_source_is_rejected_is_named(source: str, more: str) -> None:
    links = [link("lo", 1), link("a0", 2), link("b0", 3)]
    one = told(seen("IP_RPFILTER", "ip_rcv_finish_core", source=source), links=links)
    assert one.of == f"{source} to 10.0.0.1:80{more}"


def test_a_source_without_a_route_is_said_to_have_none() -> None:
    fib = [one for one in SOUND["fib"] if one.to != "0.0.0.0/0"]
    one = told(seen("IP_RPFILTER", "ip_rcv_finish_core", source="192.0.2.9"), fib=fib)
    assert one.of == "192.0.2.9 to 10.0.0.1:80, to whose source no route leads"


def test_what_is_dropped_as_it_leaves_an_interface_is_not_sent() -> None:
    rule = nftables.Row("netdev", "egr", "e", "2", "netdev", False, None)
    sent = seen("NETFILTER_DROP", "nft_do_chain", source="10.0.0.1", to="10.0.0.2")
    one = told(sent, nftables=[rule])
    assert (one.exact, one.raises) == (True, ("udp_sndbuf_errors",))
    assert one.means == "The packet filter dropped the packet (netdev/egr/e/2)"
    assert told(sent, nftables=[replace(rule, family="inet")]).raises == ()
    assert told(seen("NETFILTER_DROP", "nft_do_chain"), nftables=[rule]).raises == ()


def test_the_program_that_chooses_sockets_may_turn_away_what_a_socket_would_take() -> None:
    row = replace(seen("NO_SOCKET", "tcp_v4_rcv", by="steer@sk_lookup"), protocol="tcp")
    one = told(row)
    assert one.means == (
        "BPF program steer (sk_lookup) may turn it away: tcp port 80 of app[7] is open for it"
    )
    assert (one.kind, one.exact, one.raises) == ("refused", True, ("tcp_resets",))
    without = told(replace(row, by=""))
    assert (without.kind, without.exact) == ("turned away", False)


def test_the_port_at_which_nothing_listens_is_named() -> None:
    row = replace(seen("NO_SOCKET", "tcp_v4_rcv"), protocol="tcp", to_port=81)
    one = told(row)
    assert (one.kind, one.exact) == ("turned away", True)
    assert one.means == "Nothing listens at tcp port 81: 10.0.0.2 is refused there"
    of_a_client = told(replace(row, to_port=40000))
    assert of_a_client.means == "No socket takes the packet"  # a connection that is gone


def test_the_rule_of_this_host_that_writes_is_named_before_the_sender() -> None:
    hook = nft_hooks.Row("ip", "tag", "pre", "prerouting", -150, "filter", drops=False)
    writes = nft_rules.Row("ip", "tag", "pre", 2, (("payload", 2, 12, 2),))
    one = told(seen("UDP_CSUM", "f"), nft_hooks=[hook], nft_rules=[writes])
    assert (one.exact, one.rule) == (True, "")
    assert one.means == (
        "The UDP checksum is wrong: rule of handle 2 in chain pre (hook prerouting, ip tag) writes "
        "into such packets"
    )
    assert "Unless it is meant so: `nft delete rule ip tag pre handle 2`." in one.advice
    assert told(seen("UDP_CSUM", "f"), nft_hooks=[hook]).rule == "checksums-wrong"


@pytest.mark.parametrize(("to", "taken"), [("10.9.0.7", True), ("10.8.0.7", False)])
def test_a_local_route_that_takes_what_is_for_other_hosts_is_named(to: str, *, taken: bool) -> None:
    fib = [*SOUND["fib"], route("10.9.0.0/25", "lo", table=255, kind="local")]
    one = told(replace(seen("NO_SOCKET", "__udp4_lib_rcv", to=to), port="80"), fib=fib)
    assert (one.kind == "refused") is taken
    if taken:
        assert one.means == (
            "Route local 10.9.0.0/25 takes packets for 10.9.0.7, which is no address of this host, "
            "and no socket does"
        )
        assert "`ip route del local 10.9.0.0/25 dev lo table 255`" in one.advice


@pytest.mark.parametrize(("where", "fails", "found"), [
    ("unknown", 30.0, 1), ("unknown", 2.0, 0), ("unknown", None, 0), ("elsewhere", 30.0, 0),
])  # fmt: skip
def test_fragments_of_no_interface_are_those_that_a_counter_of_this_host_has(
    where: str, fails: float | None, found: int
) -> None:
    now = drop_reasons.Row("FRAG_TOO_FAR", "inet_frag_rbtree_purge", where, "", "", "", 40, WIDTH)
    moved = list(entries([now], entries([replace(now, packets=0)], (), 0.0), 1.0))
    host = SimpleNamespace(few_ports=None, udp_in=None, ip_in=None, reasm_fails=fails)
    facts: Any = SimpleNamespace(nics=(), host=host)
    told_of = build(Frame(9.0, 9.0, {"drop_reasons": moved}, {}, {}), facts)
    assert len(told_of) == found
    for one in told_of:
        assert (one.exact, one.rule, one.raises) == (True, "", ("reasm_fails",))
        assert one.means == (
            "Fragments are given up: more than net.ipv4.ipfrag_max_dist other packets came between "
            "them"
        )


def test_the_program_of_xdp_is_named_where_it_drops() -> None:
    row = seen("NOT_SPECIFIED", "do_xdp_generic", by="guard@xdp/57")
    assert told(row).means == "XDP program guard (57) of a0 drops packets"
    assert told(replace(row, by="")).means == "An XDP program drops packets"


@pytest.mark.parametrize(("reason", "port", "means"), [
    ("XfrmOutNoStates", 0, "The IPsec policy 0.0.0.0/0 to 10.0.0.2/32 dir out wants IPsec with "),
    ("XfrmOutNoStates", 81, "The kernel gave no reason for the drop"),  # the policy is for others
    ("XfrmInNoStates", 0, "The kernel gave no reason for the drop"),
])  # fmt: skip
def test_the_policy_of_what_finds_no_state_is_named(reason: str, port: int, means: str) -> None:
    policy = xfrm_policies.Row(
        "out", 9, "10.0.0.2/32", "0.0.0.0/0", 50, port=port, peer="10.0.0.2", states=2
    )
    counts = entries([xfrm.Row(reason, 40)], entries([xfrm.Row(reason, 1)], (), 1.0), 1.0)
    one = told(seen("NOT_SPECIFIED", "dst_discard_out", source="10.0.0.1", to="10.0.0.2"),
               xfrm_policies=[policy], entries_of={"xfrm": counts})  # fmt: skip
    assert one.means.startswith(means)
    assert one.raises == (("XfrmOutNoStates",) if one.exact else ())


@pytest.mark.parametrize(("kind", "bound", "largest", "backlog", "named"), [
    ("tbf", "burst", 900, 0, True), ("tbf", "burst", 900, 90_000, False),
    ("tbf", "burst", 1600, 0, False), ("tbf", "burst", None, 0, False),
    ("bfifo", "limit", 900, 0, True),
])  # fmt: skip
def test_a_bound_below_the_size_of_a_packet_is_told(
    kind: str, bound: str, largest: int | None, backlog: int, *, named: bool
) -> None:
    now = qdisc("a0", kind, largest=largest, backlog=backlog, drops=40)
    counts = entries([now], entries([replace(now, drops=1)], (), 1.0), 1.0)
    one = told(seen("QDISC_DROP", "__dev_queue_xmit", source="10.0.0.1", to="10.0.0.2"),
               entries_of={"qdiscs": counts})  # fmt: skip
    said = f"{kind} 1: of a0 drops frames above 900 bytes, its {bound}; those of a0 have up to 1514"
    assert (one.means == said, one.rule == "") == (named, named)
    assert one.raises == ("qdisc_drops",)


@pytest.mark.parametrize(("room", "drops", "named"), [
    ("3 packets", 40, True), ("100 packets", 40, False), ("3 packets", 1, False),
    ("14,000 bytes", 40, True), ("16,000 bytes", 40, False),
])  # fmt: skip
def test_a_queue_without_room_for_what_a_sender_sends_at_once_is_told(
    room: str, drops: int, *, named: bool
) -> None:
    above = qdisc("a0", "htb", drops=40)
    leaf = replace(above, parent="1:10", handle="10:", kind="pfifo", root=False, room=room,
                   drops=drops)  # fmt: skip
    counts = entries([above, leaf], entries([replace(above, drops=1), replace(leaf, drops=1)],
                                            (), 1.0), 1.0)  # fmt: skip
    one = told(seen("QDISC_DROP", "__dev_queue_xmit", source="10.0.0.1", to="10.0.0.2"),
               entries_of={"qdiscs": counts})  # fmt: skip
    said = f"pfifo 10: of a0 (parent 1:10) has room for {room}"
    assert (one.means.startswith(said), one.rule == "") == (named, named)


@folded(("group", "place", "on", "means", "kind"), [
    ("239.13.1.1", "ip_rcv_finish_core", ["b0"],
     "239.13.1.1 arrives on a0, and is joined on b0 alone", "turned away"),
    ("ff3e::7", "ip6_mc_input", ["b0", "c0"],
     "ff3e::7 arrives on a0, and is joined on b0, c0 alone", "turned away"),
    ("239.13.1.1", "ip_rcv_finish_core", ["a0", "b0"], "Nobody joined", "turned away"),
    ("239.13.1.1", "ip_rcv_finish_core", [], "Nobody joined", "turned away"),
    ("239.13.1.1", "another", ["b0"], "", "unknown"),
])  # fmt: skip
def test_a_group_that_is_joined_on_another_interface_is_told_with_both(
    group: str, place: str, on: list[str], means: str, kind: str
) -> None:
    row = seen("NOT_SPECIFIED", place, source="fd00::1" if ":" in group else "10.0.0.2", to=group)
    one = told(row, groups=[groups.Row(name, group) for name in on],
               sockets_udp=[replace(SERVED, local="::" if ":" in group else "0.0.0.0",
                                    ipv6=":" in group)])  # fmt: skip
    assert (one.means.startswith(means), one.kind) == (True, kind)
    if "alone" in means:
        assert f"route add {group}/{128 if ':' in group else 32} dev a0`" in one.advice
        assert one.exact


@pytest.mark.parametrize(("room", "burst", "sent", "said"), [
    # 300 Mb/s: the queue holds 0.24 ms of that, and the burst 0.14 ms
    ("9,000 bytes", 5100, 12e6, "9,000 bytes (5 packets of full size, 0.24 ms at 300 Mb/s) only"),
    ("60,000 bytes", 64000, 12e6, "60,000 bytes (39 packets of full size, 1.6 ms at 300 Mb/s)"),
    ("60,000 bytes", 64000, 37e6, ""),  # it reaches its rate
    ("600,000 bytes", 5100, 12e6, ""),
])  # fmt: skip
def test_a_shaper_whose_queue_is_short_for_its_rate_is_told_with_the_change(
    room: str, burst: int, sent: float, said: str
) -> None:
    now = replace(qdisc("a0", "tbf", largest=burst, drops=40), handle="8001:", rate=3e8, room=room,
                  bytes=int(sent))  # fmt: skip
    counts = entries([now], entries([replace(now, drops=1, bytes=0)], (), 1.0), 1.0)
    one = told(seen("QDISC_DROP", "__dev_queue_xmit", source="10.0.0.1", to="10.0.0.2"),
               entries_of={"qdiscs": counts})  # fmt: skip
    assert said in one.means
    assert ("qdisc change" in one.advice) == (one.rule == "") == bool(said)
    small = burst < 37_500
    assert ("its burst, 5,100 bytes, is small too: 0.14 ms" in one.means) == bool(said and small)
    tbf = "dev a0 root handle 8001: tbf rate 300000000bit burst 75000 limit 750000"
    assert (tbf in one.advice) == bool(said)


def test_a_locked_port_is_named_with_who_it_drops() -> None:
    ports = [link("a0", 2, master="br0", slave_kind="bridge", locked=True), link("br0", 9)]
    row = seen("NOT_SPECIFIED", "br_handle_frame_finish", sender="02:00:00:00:00:02")
    found = told(row, links=ports, fdb=[])
    assert found.means == (
        "Port a0 of br0 is locked (802.1X), and drops frames from addresses without an entry "
        "there, such as 02:00:00:00:00:02"
    )
    assert "`bridge fdb add 02:00:00:00:00:02 dev a0 master static`" in found.advice
    let_in = [fdb.Row("a0", "02:00:00:00:00:02", "", 0, "br0", "static")]
    assert not told(row, links=ports, fdb=let_in).exact
    assert not told(row, fdb=[]).exact


def test_what_is_not_forwarded_of_ipv6_names_its_own_switch() -> None:
    six = told(seen("IP_INADDRERRORS", "ip6_forward", source="fd00::2", to="fd01::2"))
    assert "sysctl.net.ipv6.conf.all.forwarding 1" in six.advice
    assert "ipv4" not in six.advice
    assert "sysctl.net.ipv4.ip_forward 1" in told(seen("IP_INADDRERRORS", "ip_error")).advice
