"""Packets that the kernel drops: one of each kind is walked, and its way names the cause."""

from types import SimpleNamespace
from typing import Any

import pytest
from way_tables import FAR, NEAR, SOUND, answer, frame, link, listener, qdisc, route, rule, switches

from nettop.collect.addresses import Row as Address
from nettop.collect.drop_reasons import Row as Drop
from nettop.collect.fdb import Row as Entry
from nettop.collect.nft_hooks import Row as Hook
from nettop.collect.nft_rules import Row as Rule
from nettop.collect.nft_sets import Row as Set
from nettop.collect.nftables import Row as Nftables
from nettop.collect.sysctls import Row as Sysctl
from nettop.collect.xfrm_policies import Row as Policy
from nettop.facts.kinds.way import WayFact, build
from nettop.facts.way.steps.device import silenced
from nettop.facts.way.trouble import MOST, asked, asked_of_packets, troubles

OTHER = "10.0.0.9"
SEEN: Any = SimpleNamespace(more={}, flows=())
POLICY = Policy("in", 8, f"{NEAR}/32", "10.0.0.0/24", 100, 6, 80, blocks=True)
DROPS = ("immediate", 0, "0:")
FILTER = "NETFILTER_DROP", "nft_do_chain"


def drop(
    reason: str = "XFRM_POLICY", place: str = "tcp_v4_rcv", source: str = FAR, to: str = NEAR,
    ports: tuple[int, int] = (40000, 80), **more: Any,
) -> Drop:  # fmt: skip
    known = {"interface": "2", "protocol": "tcp", "packets": 9, "seconds": 3.0, **more}
    return Drop(reason, place, "here", port=str(ports[1]), source=source, source_port=ports[0],
                to=to, to_port=ports[1], **known)  # fmt: skip


def facts(*drops: Drop, **tables: Any) -> tuple[WayFact, ...]:
    return build(frame(drop_reasons=drops, **tables), SEEN)


def test_a_policy_that_blocks_a_port_at_which_a_program_listens() -> None:
    (one,) = facts(drop(), xfrm_policies=[POLICY])
    assert one.decider.startswith("the IPsec policy 10.0.0.0/24 to 10.0.0.1/32 dir in for tcp")
    assert one.what == "9 packets to 10.0.0.1:80 are dropped, such as from 10.0.0.2"
    assert (one.id, one.asks) == ("10.0.0.1:80", "10.0.0.1:80 --from 10.0.0.2%a0")
    assert (one.packets, one.per_s, one.share, one.meant) == (9, 3.0, 1.0, False)
    assert "XFRM_POLICY/tcp_v4_rcv" in one.explains


@pytest.mark.parametrize(
    "tables",
    [
        {"sockets_tcp": []},  # what strangers try
        {"drop_reasons": [drop(source="")]},  # the kernel told no packet of it
        {"drop_reasons": [drop(source=NEAR, to=FAR)]},  # what this host opens fails as a call
        {"drop_reasons": [drop("TCP_FLAGS")]},  # nothing that the walk decides
        {"drop_reasons": [drop(protocol="icmp")]},
    ],
)
def test_packets_that_are_no_trouble(tables: Any) -> None:
    known = {"drop_reasons": [drop()], "xfrm_policies": [POLICY], **tables}
    assert build(frame(**known), SEEN) == ()


def test_what_the_walk_does_not_see_stops_nothing() -> None:
    assert [one.stops for one in facts(drop())] == [False]


def test_the_answers_of_a_service_stand_for_its_flow() -> None:
    back = drop("NETFILTER_DROP", "nft_do_chain", NEAR, FAR, (80, 40000))
    (one,) = troubles(frame(drop_reasons=[back]), SEEN)
    assert (one.flow.name, one.flow.origin, one.flow.arrives) == ("10.0.0.1:80", FAR, "")


@pytest.mark.parametrize(
    ("more", "share"),
    [
        ({"local": "127.0.0.1", "remote": "127.0.0.1"}, 1.0),
        ({"local": NEAR, "state": "syn_recv", "remote": FAR}, 1.0),
        ({"local": NEAR, "remote": FAR}, None),
        ({"local": f"::ffff:{NEAR}", "remote": f"::ffff:{FAR}"}, None),
    ],
)
def test_while_others_are_served_a_policy_may_be_meant(more: Any, share: float | None) -> None:
    other = listener(**{"port": 80, "state": "established", **more})
    rows = [listener("0.0.0.0", 80), other]
    (one,) = facts(drop(), xfrm_policies=[POLICY], sockets_tcp=rows)
    assert one.share == share
    assert one.meant is (share is None)


@pytest.mark.parametrize(("local", "share"), [(NEAR, None), (OTHER, 1.0)])
def test_a_service_at_another_address_tells_nothing_of_rejected_sources(
    local: str, share: float | None
) -> None:
    other = listener(local, 80, state="established", remote=FAR)
    rows = [listener("0.0.0.0", 80), other]
    (one,) = facts(drop("IP_RPFILTER", "ip_rcv_finish_core"), sockets_tcp=rows)
    assert one.share == share


def test_a_finding_is_explained_where_most_of_its_packets_are() -> None:
    rows = drop(), drop(to="10.7.0.1", packets=90)
    found = facts(*rows, xfrm_policies=[POLICY])
    assert ["XFRM_POLICY/tcp_v4_rcv" in one.explains for one in found] == [True, False]


def test_few_are_walked_and_a_destination_once() -> None:
    rows = [drop("NETFILTER_DROP", "nft_do_chain", to=f"10.1.0.{n}") for n in range(2, 20)]
    assert len(troubles(frame(drop_reasons=rows), SEEN)) == MOST
    assert len(troubles(frame(drop_reasons=[drop(), drop("IP_LOCALNET", "f")]), SEEN)) == 2


def ruled(**more: Any) -> dict[str, Any]:
    rules = [Rule("inet", "fw", "c", 5, (("meta", 16, 1), ("cmp", 1, 0, "06"), DROPS))]
    return {"nft_hooks": [Hook("inet", "fw", "c", "input", 0, "filter", drops=False)],
            "nft_rules": rules, **more}  # fmt: skip


def test_a_rule_of_the_filter_may_be_meant() -> None:
    (one,) = facts(drop("NETFILTER_DROP", "nft_do_chain"), **ruled())
    assert one.stops
    assert one.meant
    assert one.decider.startswith("rule of handle 5 in chain c")


def at(side: int, name: str) -> tuple[Any, ...]:
    """The interface of a packet: 6 by which it comes, 7 by which it leaves."""
    return ("meta", side, 1), ("cmp", 1, 0, name.encode().hex().ljust(32, "0"))


@pytest.mark.parametrize(("source", "rules", "told", "meant"), [
    (FAR, [(*at(6, "a0"), *at(7, "eth1"))], True, False),
    ("10.9.0.7", [(*at(6, "a0"), *at(7, "eth1"))], True, True),  # a stranger
    (FAR, [(*at(6, "a0"), *at(7, "eth1")), (*at(6, "b0"), *at(7, "c0"))], True, True),
    (FAR, [(*at(6, "c0"), *at(7, "eth1"))], False, True),  # of what comes elsewhere
    (FAR, [at(7, "eth1")], False, True),  # a rule for all that leaves there
])  # fmt: skip
def test_a_rule_that_accepts_them_at_an_interface_which_is_gone(
    source: str, rules: list[Any], *, told: bool, meant: bool
) -> None:
    accepts = [Rule("ip", "f", "c", n, (*one, ("immediate", 0, "1:"))) for n, one in
               enumerate(rules, 4)]  # fmt: skip
    (one,) = facts(
        drop("NETFILTER_DROP", "nft_do_chain", source, to="10.1.0.9", ports=(40000, 443)),
        nft_hooks=[Hook("ip", "f", "c", "forward", 0, "filter", drops=True)], nft_rules=accepts,
        interface_sysctls=[switches("all", 1), switches("a0", 1), switches("b0", 1)],
    )  # fmt: skip
    gone = "; rule of handle 4 in chain c accepts them on eth1, which this host does not have"
    saw = "the policy of chain c (hook forward, ip f) drops packets to 10.1.0.9:443"
    assert one.decider == saw + f"{gone} (they leave by b0)" * told
    narrow = 'nft add rule ip f c iifname "a0" oifname "b0" ip daddr 10.1.0.9 tcp dport 443 accept'
    assert one.change.endswith(f"correct eth1 in that rule, or {narrow}" if told else narrow)
    assert (one.meant, one.share) == (meant, None if meant else 1.0)


def test_bridged_frames_that_a_policy_for_routed_packets_drops_are_not_meant() -> None:
    ports = [link(f"p{n}", n, master="br0", slave_kind="bridge", port_state="forwarding",
                  isolated=False) for n in (10, 11)]  # fmt: skip
    (one,) = facts(
        drop("NETFILTER_DROP", "nft_do_chain", to=OTHER, interface="10"),
        links=[*SOUND["links"], link("br0", 9, kind="bridge"), *ports],
        nft_hooks=[Hook("ip", "f", "FORWARD", "forward", 0, "filter", drops=True)],
        sysctls=[Sysctl("net.bridge.bridge-nf-call-iptables", "1")],
    )  # fmt: skip
    assert one.stops
    assert not one.meant
    assert one.share is None  # whether others get through is not known
    assert one.asks == "10.0.0.9:80 --from 10.0.0.2%p10"


def test_a_policy_of_ipsec_for_other_hosts_may_be_meant() -> None:
    forwards = [switches("all", 1), switches("a0", 1), switches("b0", 1)]
    shut = Policy("fwd", 8, "10.1.0.0/24", "10.0.0.0/24", 100, blocks=True)
    (one,) = facts(drop(to="10.1.0.7"), xfrm_policies=[shut], interface_sysctls=forwards)
    assert (one.stops, one.meant) == (True, True)


DNAT = (
    ("meta", 16, 1), ("cmp", 1, 0, "06"), ("payload", 1, 2, 2, 2), ("cmp", 1, 0, "0050"),
    ("immediate", 1, "7f000001"), ("immediate", 2, "1f90"), ("nat", 1, 2, 1, 1),
)  # fmt: skip


def test_the_rule_that_leads_packets_to_a_loopback_address_is_named() -> None:
    martian = answer("127.0.0.1", "EINVAL", source=FAR, arrives="a0", port=8080)
    (one,) = facts(
        drop("IP_LOCALNET", "ip_rcv_finish_core", to="127.0.0.1", ports=(40000, 8080)),
        nft_hooks=[Hook("ip", "nat", "pre", "prerouting", -100, "nat", drops=False)],
        nft_rules=[Rule("ip", "nat", "pre", 2, DNAT)], ways=[martian],
        sockets_tcp=[listener("127.0.0.1", 8080)],
    )  # fmt: skip
    assert one.id == "10.0.0.1:80"
    assert one.decider.startswith(
        "rule of handle 2 in chain pre (hook prerouting, ip nat) sends packets to 10.0.0.1:80 to "
        "127.0.0.1:8080, and net.ipv4.conf.a0.route_localnet is 0"
    )
    assert one.change.startswith("nettop set sysctl.net.ipv4.conf.a0.route_localnet 1")
    assert "route_localnet" in one.command


@pytest.mark.parametrize(("up", "stops"), [(False, True), (True, False)])
def test_what_is_redirected_to_an_interface_that_is_down(*, up: bool, stops: bool) -> None:
    (one,) = facts(
        drop("TC_INGRESS", "__netif_receive_skb_core"),
        links=[*SOUND["links"], link("ifb0", 9, kind="ifb", up=up)],
        qdiscs=[qdisc("a0", "ingress", root=False)],
    )  # fmt: skip
    assert one.stops is stops
    if stops:
        assert one.decider == (
            "the filters of ingress on a0 dropped 9 packets to tcp port 80 (ifb0, an ifb, is down)"
        )
        assert one.change == "ip link set ifb0 up"
        assert "a0/ingress-1:" in one.explains


def test_what_is_asked_about_packets_needs_no_facts() -> None:
    seen = frame(drop_reasons=[drop()])
    found = asked_of_packets(seen)
    assert found == asked(seen, SEEN)
    assert {(one.to, one.source, one.arrives) for one in found} >= {(NEAR, FAR, "a0"),
                                                                    (FAR, NEAR, "")}  # fmt: skip


def test_the_way_back_of_packets_that_the_reverse_path_filter_drops() -> None:
    row = drop("IP_RPFILTER", "ip_rcv_finish_core", source="10.1.0.9")
    refused = answer(NEAR, "EXDEV", source="10.1.0.9", arrives="a0", port=80)
    (one,) = facts(row, ways=[refused], interface_sysctls=[switches("a0", 0, 1)])
    assert one.decider == (
        "the reverse path filter of a0 drops packets from 10.1.0.9: the route back to 10.1.0.9 "
        "(10.1.0.0/24) leaves by b0"
    )
    assert "reverse-path-filter-drops" in one.explains  # the counter of the host


BRIDGED_TO = "02:00:00:00:00:09"


def bridged(**more: Any) -> dict[str, Any]:
    ports = [link(f"p{n}", n, master="br0", slave_kind="bridge", port_state="forwarding",
                  isolated=False) for n in (10, 11)]  # fmt: skip
    return {"links": [*SOUND["links"], link("br0", 9, kind="bridge"), *ports], **more}


@pytest.mark.parametrize(("port", "stops"), [("p10", True), ("p11", False)])
def test_a_frame_whose_destination_is_where_it_comes_from(port: str, stops: bool) -> None:
    row = drop("NOT_SPECIFIED", "br_handle_frame_finish", to=OTHER, interface="10",
               hardware=BRIDGED_TO)  # fmt: skip
    entry = Entry(port, BRIDGED_TO, "", 0, master="br0", state="static")
    (one,) = facts(row, **bridged(fdb=[entry]))
    assert one.stops is stops
    if stops:
        assert one.meant
        assert one.decider.startswith(f"frames to {OTHER} ({BRIDGED_TO}) arrive on p10, where")
        assert f"if it is not meant so: bridge fdb del {BRIDGED_TO} dev p10 master" in one.change


def test_the_port_behind_which_the_destination_is_may_be_isolated() -> None:
    ports = [link(f"p{n}", n, master="br0", slave_kind="bridge", port_state="forwarding",
                  isolated=n != 12) for n in (10, 11, 12)]  # fmt: skip
    row = drop("NOT_SPECIFIED", "br_handle_frame_finish", to=OTHER, interface="10",
               hardware=BRIDGED_TO)  # fmt: skip
    tables = {"links": [*SOUND["links"], link("br0", 9, kind="bridge"), *ports]}
    for port, told in (("p11", True), ("p12", False)):
        entry = Entry(port, BRIDGED_TO, "", 0, master="br0", state="learned")
        (one,) = facts(row, **tables, fdb=[entry])
        assert ("p10 and p11 of the bridge br0 are isolated" in one.decider) is told


def test_a_blackhole_for_what_is_forwarded_may_be_meant() -> None:
    row = drop("NOT_SPECIFIED", "ip_error", to="10.7.0.5")
    refused = answer("10.7.0.5", "EINVAL", source=FAR, arrives="a0", port=80)
    fib = [*SOUND["fib"], route("10.7.0.0/24", None, kind="blackhole")]
    on = [switches("a0", 1), switches("all", 1)]
    (one,) = facts(row, ways=[refused], fib=fib, interface_sysctls=on)
    assert one.decider == "route 10.7.0.0/24 is a blackhole"
    assert one.meant


def test_so_may_a_rule_of_policy_routing() -> None:
    row = drop("NOT_SPECIFIED", "ip_error", to="10.7.0.5")
    refused = answer("10.7.0.5", "EACCES", source=FAR, arrives="a0", port=80)
    rules = [rule(10, 0, to="10.7.0.5/32", action="prohibit"), *SOUND["routing_rules"]]
    on = [switches("a0", 1), switches("all", 1)]
    (one,) = facts(row, ways=[refused], routing_rules=rules, interface_sysctls=on)
    assert one.decider == "rule 10 from all to 10.7.0.5/32 is prohibit"


def test_the_mtu_of_the_interface_by_which_packets_leave() -> None:
    row = drop("PKT_TOO_BIG", "ip_forward", to="10.1.0.9")
    links = [*SOUND["links"][:2], link("b0", 3, mtu=1200)]
    (one,) = facts(row, links=links, interface_sysctls=[switches("a0", 1), switches("all", 1)])
    assert one.decider == (
        "packets to 10.1.0.9 are larger than the MTU 1200 of b0, by which they leave, and may not "
        "be cut; a0, where they come in, has 1500"
    )
    assert one.change.startswith("nettop set link.mtu@b0 MTU, if what is behind it takes as much")
    icmp = Drop("NETFILTER_DROP", "nft_do_chain", "here", "", "icmp", "", 4, 2.0, NEAR, 0, FAR, 0)
    table = Nftables("inet", "t", "out", "2", "output")
    mended = facts(row, icmp, links=links, nftables=[table],
                   interface_sysctls=[switches("a0", 1), switches("all", 1)])  # fmt: skip
    told = next(one for one in mended if one.id.startswith("10.1.0.9"))
    assert "the packet filter of this host drops the ICMP that tells the sender" in told.decider
    assert "(inet/t/out/2)" in told.decider
    assert told.change.startswith('let the ICMP "fragmentation needed" of this host pass')
    links[2] = link("b0", 3, mtu=1200, kind="wireguard")
    (one,) = facts(row, links=links, interface_sysctls=[switches("a0", 1), switches("all", 1)])
    assert one.change.startswith("limit the MSS: nft add table inet mss")
    assert one.change.index("maxseg") < one.change.index("nettop set link.mtu@b0")


LISTS = (("payload", 1, 1, 12, 4), ("lookup", "banned", 1, 0), ("immediate", 0, "0:"))
BANNED = ("0a000002", "0a000002", "")


@pytest.mark.parametrize(("drops", "elements", "near"), [
    ([drop(*FILTER)], [BANNED], True),
    ([drop(*FILTER), drop(*FILTER, ports=(40000, 22))], [BANNED], False),  # a scanner
    ([drop(*FILTER)], [("0a000000", "0a0000ff", "")], False),  # part of a range
    ([drop(*FILTER, source="192.0.2.9")], [("c0000209", "c0000209", "")], False),  # a stranger
])  # fmt: skip
def test_a_rule_for_senders_tells_nothing_of_others(
    drops: list[Drop], elements: list[Any], *, near: bool
) -> None:
    """Whether others are served is not known, and what a set lists may be meant so."""
    tables = {
        "nft_hooks": [Hook("inet", "t", "c", "input", 0, "filter", drops=False)],
        "nft_rules": [Rule("inet", "t", "c", 2, LISTS)],
        "nft_sets": [Set("inet", "t", "banned", tuple(elements))],
        "addresses": [Address("a0", NEAR, 24, 4, "global")],
    }
    (one, *_) = facts(*drops, **tables)
    assert (one.stops, one.meant, one.share, one.near) == (True, True, None, near)
    assert ("nft delete element inet t banned" in one.change) is (elements[0][0] == elements[0][1])


def test_of_a_limit_of_a_rate_it_is_not_known_who_never_gets_through() -> None:
    """Who asks again is late: that nobody was served at one moment tells nothing."""
    over = ("limit", 25, 1, 10, 0, 1), DROPS
    hook = Hook("inet", "t", "c", "input", 0, "filter", drops=False)
    (one, *_) = facts(drop(*FILTER), nft_hooks=[hook], nft_rules=[Rule("inet", "t", "c", 2, over)])
    assert "drops what exceeds its limit, 25/second burst 10 packets" in one.decider
    assert (one.stops, one.share) == (True, None)
    (one, *_) = facts(drop(*FILTER), nft_hooks=[hook],
                      nft_rules=[Rule("inet", "t", "c", 2, (DROPS,))])  # fmt: skip
    assert one.share == 1.0


@pytest.mark.parametrize(("row", "to", "cure"), [
    (Nftables("inet", "t", "in", "policy", "input"), NEAR,
     "nft insert rule inet t in ct state related accept"),
    (Nftables("inet", "t", "in", "7", "input"), NEAR,
     "nft insert rule inet t in handle 7 ct state related accept"),
    (Nftables("iptables", "filter", "INPUT", "3", "input"), NEAR,
     "iptables-legacy -t filter -I INPUT 3 -m conntrack --ctstate RELATED -j ACCEPT"),
    (Nftables("inet", "t", "in", "policy", "input"), "10.1.0.9", ""),  # it is forwarded
])  # fmt: skip
def test_what_lets_icmp_about_connections_pass_the_filter_is_told(
    row: Nftables, to: str, cure: str
) -> None:
    icmp = Drop("NETFILTER_DROP", "", "here", "", "icmp", "", 4, 2.0, FAR, 0, to, 0)
    found = silenced(frame(drop_reasons=[icmp], nftables=[row]))
    assert found == (4, row.name if cure else "", cure)
    assert silenced(frame()) == (0, "", "")
