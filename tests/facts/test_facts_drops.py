"""Facts of dropped packets: which rule of the packet filter dropped, and what a reason replaces."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from flow_tables import link

from nettop.collect import (
    classes,
    conntrack,
    drop_reasons,
    failed_calls,
    failures,
    nftables,
    packet_sockets,
    qdiscs,
    socket_owners,
    sockets_udp,
    threads,
    tun_readers,
    udp_bound,
)
from nettop.collect.nft_hooks import Row as Hook
from nettop.collect.nft_rules import Row as Rule
from nettop.facts.joined import Joiner
from nettop.facts.kinds import drop
from nettop.facts.kinds.drop import Drop, Failure
from nettop.frame.pairs import entries
from nettop.frame.rates import Entry, Frame

WIDTH = 2.0
ANY_FILTER = "A filter of the socket rejected the packet"


def moving(before: Any, now: Any) -> list[Any]:
    """A row of two readings, a second apart; `before` None: it is new."""
    past = entries([before], (), 0.0) if before is not None else ()
    return list(entries([now], past, 1.0))


def drops(reason: str, packets: int = 40, where: str = "here") -> list[Any]:
    row = drop_reasons.Row(reason, "nft_do_chain", where, "2", "udp", "53", packets, WIDTH)
    return moving(None, row)


def rule(handle: str, now: int | None, before: int | None) -> list[Any]:
    def row(packets: int | None) -> nftables.Row:
        return nftables.Row("ip", "t", "c", handle, "input", packets=packets)

    return moving(row(before), row(now))


def joined(**tables: list[Any]) -> Any:
    return Joiner().build(Frame(9.0, 9.0, dict(tables), {}, {}))


def dropped(*rules: list[Any], reason: str = "NETFILTER_DROP") -> Drop:
    facts = joined(drop_reasons=drops(reason), nftables=[one for each in rules for one in each])
    (found,) = facts.more["drop"]
    assert isinstance(found, Drop)
    return found


@pytest.mark.parametrize(("other", "whose"), [
    (54, "udp port 53 of dnsmasq[9]"),
    (53, "udp port 53"),  # both have the port (SO_REUSEPORT): which one lost them is not known
])  # fmt: skip
def test_the_program_that_receives_at_the_port_is_named(other: int, whose: str) -> None:
    sockets = [
        sockets_udp.Row(
            inode, "0.0.0.0", port, "", 0, ipv6=False, send_q=0, recv_q=0, uid=0, drops=0
        )
        for inode, port in ((5, 53), (6, other))
    ]
    owners = [socket_owners.Row(5, 9, "dnsmasq"), socket_owners.Row(6, 8, "other")]
    (found,) = joined(
        drop_reasons=drops("SOCKET_FILTER"), sockets_udp=[Entry(one) for one in sockets],
        socket_owners=[Entry(one) for one in owners],
    ).more["drop"]  # fmt: skip
    assert found.whose == whose
    own = f"The filter of its own socket drops what arrives at {whose}"
    assert (found.means, found.exact) == (own if "[" in whose else ANY_FILTER, "[" in whose)


@pytest.mark.parametrize(("lost", "known", "whose"), [
    (9, (5, 6), "udp port 53 of slow[8]"),  # of a group the socket that loses
    (9, (5,), "udp port 53"),  # whose program is not known
    (0, (5,), "udp port 53"),  # the other one may be of any
])  # fmt: skip
def test_of_sockets_that_share_a_port_the_one_that_loses_is_meant(
    lost: int, known: tuple[int, ...], whose: str
) -> None:
    def at(drops: int) -> list[sockets_udp.Row]:
        return [
            sockets_udp.Row(inode, "0.0.0.0", 53, "", 0, ipv6=False, send_q=0, recv_q=0, uid=0,
                            drops=drops if inode == 6 else 0) for inode in (5, 6)
        ]  # fmt: skip

    owners = [socket_owners.Row(5, 9, "fast"), socket_owners.Row(6, 8, "slow")]
    (found,) = joined(
        drop_reasons=drops("SOCKET_FILTER"),
        sockets_udp=list(entries(at(lost), entries(at(0), (), 0.0), 1.0)),
        socket_owners=[Entry(one) for one in owners if one.inode in known],
    ).more["drop"]  # fmt: skip
    assert found.whose == whose


@pytest.mark.parametrize(("failures", "rules", "told"), [
    (20, [], True),  # 40 packets in two seconds
    (9, [], False),  # most were dropped otherwise
    (20, [("7", None, None)], False),  # a rule without a counter may be it
])  # fmt: skip
def test_what_connection_tracking_drops_is_not_said_of_a_rule(
    failures: int, rules: list[Any], told: bool
) -> None:
    past, now = (conntrack.Row(30, 262144, 262144, 0, 0, count) for count in (0, failures))
    (found,) = joined(
        drop_reasons=drops("NETFILTER_DROP"), conntrack=moving(past, now),
        nftables=[one for each in rules for one in rule(*each)],
    ).more["drop"]  # fmt: skip
    assert ("could not insert" in found.means) is told
    assert (found.rule == "connection-entries-collide") is told


FIRST, LAST = ("immediate", 1, "c350"), ("immediate", 2, "c363")  # 50000 and 50019


@pytest.mark.parametrize(("does", "tracked", "ports"), [
    ((FIRST, LAST, ("nat", 0, 1, 2)), 20, True), ((FIRST, LAST, ("masq", 1, 2)), 20, True),
    ((FIRST, LAST, ("nat", 0, 1, 2)), 19, False),
    ((FIRST, LAST, ("nat", 1, 1, 2)), 20, False),  # the destination
    ((FIRST, ("immediate", 3, "0a000001"), ("nat", 0, 1, 2)), 20, True), (("masq",), 20, False),
])  # fmt: skip
def test_a_rule_that_gives_few_source_ports_is_known(
    does: tuple[Any, ...], tracked: int, *, ports: bool
) -> None:
    past, now = (conntrack.Row(tracked, 262144, 262144, 0, 0, count) for count in (0, 20))
    does = does if isinstance(does[0], tuple) else (does,)
    facts = joined(
        drop_reasons=drops("NETFILTER_DROP"), conntrack=moving(past, now),
        nft_hooks=[Entry(Hook("ip", "nat", "post", "postrouting", 100, "nat", drops=False))],
        nft_rules=[Entry(Rule("ip", "nat", "post", 2, does))],
    )  # fmt: skip
    assert (facts.host.few_ports is not None) is ports
    if ports and LAST in does:
        assert facts.host.few_ports == (
            "rule of handle 2 in chain post (hook postrouting, ip nat) gives 20 ports (50000-50019)"
        )
    (found,) = facts.more["drop"]
    assert (found.rule == "translation-has-no-port-left") is ports


def test_the_rule_whose_counter_rises_dropped_them() -> None:
    assert (
        dropped(rule("7", 90, 50), rule("8", 12, 12), rule("9", None, None)).filters == "ip/t/c/7"
    )


def test_without_one_those_that_do_not_count_may_have() -> None:
    rules = rule("7", 50, 50), rule("8", None, None), rule("policy", None, None)
    assert dropped(*rules).filters == "ip/t/c/8, ip/t/c/policy"
    assert dropped(rule("7", 50, 50)).filters == ""


def test_frames_that_the_other_end_of_a_veth_does_not_take_are_counted_anywhere() -> None:
    row = drop_reasons.Row("NOT_SPECIFIED", "__dev_forward_skb2", "elsewhere", "", "", "", 40, 2.0)
    facts = joined(drop_reasons=[*moving(None, row), *drops("TTL")])
    assert facts.host.frames_too_long == 20.0
    assert joined(drop_reasons=drops("TTL")).host.frames_too_long is None


def test_other_reasons_have_no_rule() -> None:
    assert dropped(rule("7", 90, 50), reason="QDISC_DROP").filters == ""


def failed(*tables: list[Any]) -> Failure:
    (group,) = [one for one in failures.groups() if one.row.name == "OutDiscards"]
    rows = moving(replace(group.row, events=5), replace(group.row, events=90))
    seen = [one for each in tables for one in each]
    (found,) = joined(failures=rows, drop_reasons=seen).more["failure"]
    assert isinstance(found, Failure)
    return found


def test_a_counter_yields_to_the_reason_that_is_seen_here() -> None:
    assert failed(drops("QDISC_DROP")).reason == "QDISC_DROP"
    assert failed(drops("NO_SOCKET")).reason == ""
    assert failed(drops("QDISC_DROP", where="elsewhere")).reason == ""
    assert failed().reason == ""


@pytest.mark.parametrize(("to", "means"), [
    ("239.1.2.3", drop_reasons.words("NOT_SPECIFIED", "ip_rcv_finish_core", "multicast").means),
    ("10.0.0.2", "IP refuses an option of the packets, most likely a source route"),
    ("", "IP refuses the packets as they arrive"),
])  # fmt: skip
def test_a_place_of_several_causes_has_the_words_of_where_its_packets_go(
    to: str, means: str
) -> None:
    row = drop_reasons.Row("NOT_SPECIFIED", "ip_rcv_finish_core", "here", "2", "udp", "53", 40,
                           WIDTH, "10.0.0.1" if to else "", 4000, to, 53)  # fmt: skip
    (found,) = joined(drop_reasons=moving(None, row)).more["drop"]
    assert found.means == means


def test_answers_that_a_running_ping_has_got_are_no_loss() -> None:
    row = drop_reasons.Row("NO_SOCKET", "ping_rcv", "here", "2", "icmp", "", 40, WIDTH,
                           "10.0.0.1", 0, "10.0.0.2", 0)  # fmt: skip
    (found,) = joined(drop_reasons=moving(None, row)).more["drop"]
    assert (found.kind, found.advice) == ("normal", "Nothing is lost.")


TAKES = "No socket takes the packet"


OTHERS = "udp port 53 is open, but not for these packets: app[9] has it"


@pytest.mark.parametrize(("local", "peer", "device", "means"), [
    ("0.0.0.0", "", "m0", f"{OTHERS} on m0 only"),
    ("10.0.0.3", "", "", f"{OTHERS} at 10.0.0.3 only"),
    ("10.0.0.2", "10.0.0.7", "", f"{OTHERS} for 10.0.0.7:53 only"),
    ("10.0.0.2", "10.0.0.1", "", TAKES),  # its peer sent it: the socket is new
    ("0.0.0.0", "", "", TAKES),
    (None, "", "", TAKES),
])  # fmt: skip
def test_sockets_at_the_port_say_whom_they_take(
    local: str | None, peer: str, device: str, means: str
) -> None:
    row = drop_reasons.Row("NO_SOCKET", "__udp4_lib_rcv", "here", "2", "udp", "53", 40, WIDTH,
                           "10.0.0.1", 53, "10.0.0.2", 53)  # fmt: skip
    sockets = [
        sockets_udp.Row(5, local, 53, peer, 53 if peer else 0, ipv6=False, send_q=0, recv_q=0,
                        uid=0, drops=0)
    ] if local else []  # fmt: skip
    (found,) = joined(
        drop_reasons=moving(None, row), sockets_udp=[Entry(one) for one in sockets],
        socket_owners=[Entry(socket_owners.Row(5, 9, "app"))],
        udp_bound=[Entry(udp_bound.Row(5, device))] if device else [],
    ).more["drop"]  # fmt: skip
    assert found.means == means


@pytest.mark.parametrize(("reason", "by", "filters", "means"), [
    ("SOCKET_FILTER", "cgin@/in,x@/", False, "BPF program cgin of control group /in may drop it"),
    ("NETFILTER_DROP", "nfdrop@ip/input", False,
     "BPF program nfdrop at the hook ip/input may drop it"),
    ("TC_INGRESS", "tcdrop@tcx/ingress", False,
     "BPF program tcdrop at tcx/ingress of eth0 may drop it"),
    ("NETFILTER_DROP", "nfdrop@ip/input", True, "The packet filter dropped the packet (ip/t/c/1)"),
    ("SOCKET_FILTER", "", False, ANY_FILTER),
])  # fmt: skip
def test_programs_of_groups_and_hooks_are_named_where_no_rule_drops(
    reason: str, by: str, filters: bool, means: str
) -> None:
    row = drop_reasons.Row(reason, "nf_hook_slow", "here", "2", "udp", "53", 40, WIDTH, by=by)
    rules = rule("1", 40, 0) if filters else []
    (found,) = joined(
        drop_reasons=moving(None, row), nftables=rules, links=[Entry(link("eth0", 2))]
    ).more["drop"]
    assert found.means == means


@pytest.mark.parametrize(("by", "means"), [
    ("sd_fw_egress@/a/db.service",
     "IPAddressDeny= of db.service (sd_fw_egress) rejects what is sent by app[7]"),
    ("one@/a,two@/a", "BPF program one of control group /a may reject what is sent by app[7]"),
    ("", "A BPF program of a control group rejects the packet"),
])  # fmt: skip
def test_the_program_of_the_senders_control_group_is_named_with_the_sender(
    by: str, means: str
) -> None:
    row = drop_reasons.Row(
        "BPF_CGROUP_EGRESS", "ip_finish_output", "here", "2", "tcp", "40000", 40, WIDTH, "10.0.0.1",
        40_000, "10.0.0.2", 443, by=by,
    )  # fmt: skip
    call: dict[str, Any] = {"pid": 7, "where": "here", "port": "443", "process": "app", "events": 9}
    calls = [
        failed_calls.Row("connection", error, address="10.0.0.2", **{**call, "process": name})
        for error, name in (("GIVEN_UP", "app"), ("0", "other"))
    ]
    (found,) = joined(
        drop_reasons=moving(None, row), failed_calls=[Entry(one) for one in calls]
    ).more["drop"]  # fmt: skip
    assert found.means == means


def test_the_packet_sockets_that_lose_are_named() -> None:
    def captured(drops: int, inode: int) -> packet_sockets.Row:
        return packet_sockets.Row(inode, None, drops=drops)

    row = drop_reasons.Row("PACKET_SOCK_ERROR", "packet_rcv", "here", "2", "udp", "53", 40, WIDTH)
    sockets = moving(captured(0, 5), captured(9, 5)) + moving(captured(3, 6), captured(3, 6))
    owners = [socket_owners.Row(5, 9, "sniff"), socket_owners.Row(6, 8, "other")]
    (found,) = joined(
        drop_reasons=moving(None, row), packet_sockets=sockets,
        socket_owners=[Entry(one) for one in owners],
    ).more["drop"]  # fmt: skip
    assert found.means == "The packet socket of sniff[9] has no room for its copy"


@pytest.mark.parametrize(("ran", "does"), [
    (None, "takes nothing from t0, or too slowly"), (0.0, "takes nothing from t0, or too slowly"),
    (0.2, "sleeps or waits at times, or packets come in bursts: the queue of t0 is full then"),
    (0.9, "takes nothing from t0, or too slowly"),
])  # fmt: skip
def test_the_program_behind_a_tunnel_that_is_full_is_named(ran: float | None, does: str) -> None:
    row = drop_reasons.Row("FULL_RING", "tun_net_xmit", "here", "2", "udp", "53", 40, WIDTH)
    behind = [Entry(tun_readers.Row("t0", 9, "vpnd")), Entry(tun_readers.Row("t1", 8, "other"))]
    past = threads.Row(9, 9, 1, "vpnd", "S", ran=1.0, waited=0.0)
    (found,) = joined(
        drop_reasons=moving(None, row), tun_readers=behind, links=[Entry(link("t0", 2))],
        threads=[] if ran is None else moving(past, replace(past, ran=1.0 + ran)),
    ).more["drop"]  # fmt: skip
    assert found.means == f"vpnd[9] {does}"


def queue(
    kind: str, parent: str, handle: str, drops: int, room: str = "", *, before: int = 0,
    rate: float | None = None,
) -> list[Any]:  # fmt: skip
    past, now = (qdiscs.Row("eth0", parent, handle, kind, parent == "root", 0, 0, drops=count,
                            room=room, rate=rate) for count in (before, drops))  # fmt: skip
    return moving(past, now)


def filled(kind: str, sent: int, dropped: int, rate: float | None, parent: str = "root") -> Any:
    """A queue that sent packets of 1,500 bytes in a second."""
    past = qdiscs.Row("wan0", parent, "10:", kind, parent == "root", 9000, 6, 0, 0, 0, rate=rate)
    now = replace(past, bytes=1500 * sent, packets=sent, drops=dropped)
    return moving(past, now)


def shaped_class(sent: int, rate: float) -> Any:
    past = classes.Row("wan0", "1:10", "1:", True, rate, rate, 9000, 0)
    return moving(past, replace(past, bytes=1500 * sent))


@pytest.mark.parametrize(("protocol", "queues", "shaped", "kind"), [
    ("tcp", filled("tbf", 1600, 40, 20e6), [], "normal"),
    ("tcp", filled("fq_codel", 1600, 40, None, "1:10"), shaped_class(1600, 20e6), "normal"),
    ("tcp", filled("pfifo", 1600, 40, None, "1:10"), shaped_class(1600, 20e6), "loss"),
    ("tcp", filled("tbf", 1600, 200, 20e6), [], "loss"),  # more than TCP needs to be told
    ("tcp", filled("tbf", 800, 20, 20e6), [], "loss"),  # it never reaches its rate
    ("udp", filled("tbf", 1600, 40, 20e6), [], "loss"),  # datagrams are not sent again
])  # fmt: skip
def test_a_full_shaper_that_slows_tcp_down_loses_nothing(
    protocol: str, queues: list[Any], shaped: list[Any], kind: str
) -> None:
    """What is forwarded came by lan0, and wan0 drops it."""
    row = drop_reasons.Row(
        "QDISC_DROP", "__dev_queue_xmit", "here", "2", protocol, "9000", 40, WIDTH
    )
    (found,) = joined(
        drop_reasons=moving(None, row),
        links=[Entry(link("lan0", 2))],
        qdiscs=queues,
        classes=shaped,
    ).more["drop"]
    assert (found.kind, "of wan0" in found.means) == (kind, True)


@pytest.mark.parametrize(("queues", "named"), [
    ([queue("htb", "root", "1:", 40), queue("pfifo", "1:10", "10:", 40, "30 packets"),
      queue("pfifo", "1:20", "20:", 0)], "pfifo 10: of eth0, parent 1:10, limit 30 packets"),
    ([queue("mq", "root", "0:", 40), queue("fq_codel", ":2", "0:", 40)],
     "fq_codel 0: of eth0, parent :2"),
    ([queue("fq_codel", "root", "0:", 40, "10,240 packets")],
     "fq_codel 0: of eth0, limit 10,240 packets"),
    ([queue("fq_codel", "root", "0:", 0)], ""),
    ([queue("tbf", "root", "1:", 15, before=15, rate=4e6)], "tbf 1: of eth0, 4 Mb/s"),
    ([queue("pfifo", "1:10", "10:", 9, before=9), queue("pfifo", "1:20", "20:", 4, before=4)], ""),
])  # fmt: skip
def test_the_qdisc_that_drops_is_named(queues: list[Any], named: str) -> None:
    (found,) = joined(
        drop_reasons=drops("QDISC_DROP"), links=[Entry(link("eth0", 2))],
        qdiscs=[one for each in queues for one in each],
    ).more["drop"]  # fmt: skip
    known = f" (dropping: {named})" if named else ""
    assert found.means == f"The queueing discipline did not take the packet{known}"
    assert (found.rule == "shaper-limits") == named.endswith("b/s")


@pytest.mark.parametrize(("reason", "through"), [("UNHANDLED_PROTO", 30.0), ("NO_SOCKET", None)])
def test_beside_frames_that_nothing_reads_all_others_of_the_interface_count(
    reason: str, through: float | None
) -> None:
    kept = [drop_reasons.Row(reason, "f", "here", "2", "0x88b5", "", number, WIDTH)
            for number in (0, 40)]  # fmt: skip
    nic = SimpleNamespace(name="eth0", per_s=SimpleNamespace(rx_packets=50.0))
    facts: Any = SimpleNamespace(host=SimpleNamespace(ip_in=None, udp_in=None), nics=(nic,))
    tables = {"drop_reasons": tuple(moving(*kept)), "links": (Entry(link("eth0", 2)),)}
    (found,) = drop.build(Frame(0.0, 0.0, tables), facts)
    assert (found.unread, found.nic, found.through) == (through is not None, "eth0", through)
