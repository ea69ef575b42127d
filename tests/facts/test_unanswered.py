"""What is sent and not answered, received and not taken: attempts, neighbours, bridges, routes."""

from dataclasses import fields, replace
from typing import Any

import pytest
from flow_tables import HOST, joined, socket
from nic_tables import link

from nettop.collect import (
    addresses,
    arp_requests,
    classes,
    fib,
    half_open,
    ipvs,
    nft_rules,
    nftables,
    rivals,
    routes,
    routing_rules,
    snmp,
    socket_owners,
    translated,
    udp_questions,
    unresolved,
)
from nettop.facts import Facts


def still(**tables: Any) -> Facts:
    return joined({**HOST, **tables}, {**HOST, **tables})


def waiting(cookie: int, again: int, **more: Any) -> Any:
    return socket(cookie, state="syn-sent", remote="192.0.2.7", remote_port=443, inode=100 + cookie,
                  total_retrans=again, **more)  # fmt: skip


def test_an_attempt_counts_the_sockets_whose_syn_was_sent_again() -> None:
    open_one = socket(9, remote="192.0.2.7", remote_port=443, total_retrans=7)
    owners = [socket_owners.Row(101, 70, "curl"), socket_owners.Row(102, 70, "curl"),
              socket_owners.Row(0, None, "", 3)]  # fmt: skip
    (one,) = still(
        sockets_tcp=[waiting(1, 4), waiting(2, 2), waiting(3, 0), open_one], socket_owners=owners
    ).more["attempt"]
    assert (one.id, one.sockets, one.retries, one.open) == ("192.0.2.7:443", 2, 4, 1)
    assert one.processes == ("curl[70]",)


def test_what_sends_to_an_absent_neighbour_is_named() -> None:
    rows = [
        unresolved.Row("eth0", address, 4) for address in ("10.2.0.30", "10.2.0.99", "10.2.0.7")
    ]
    nat = (("immediate", 1, "0a02001e"), ("immediate", 2, "1f90"), ("nat",))
    fibs = [fib.Row(4, 100, "0.0.0.0/0", 0, 0, "unicast", "eth0", "10.2.0.99")]
    rules = [routing_rules.Row(4, 900, 1, "lookup", 100, source="10.1.0.3/32")]
    found = {one.address: one for one in still(
        unresolved=rows, nft_rules=[nft_rules.Row("ip", "nat", "pre", 7, nat)], fib=fibs,
        routing_rules=rules,
    ).more["absent"]}  # fmt: skip
    assert "the rule of handle 7 in chain pre (ip nat) translates" in found["10.2.0.30"].what
    assert "table 100 (rule 900 from 10.1.0.3/32)" in found["10.2.0.99"].what
    assert "ip route replace 0.0.0.0/0 via GATEWAY table 100" in found["10.2.0.99"].change
    assert found["10.2.0.7"].what == "10.2.0.7@eth0"


def test_a_host_whose_syns_arrive_and_that_answers_no_arp_is_behind_a_router() -> None:
    ways = [routes.Row("10.2.0.0/16", "eth0", 0, 254),
            routes.Row("0.0.0.0/0", "eth0", 0, 254, gateway="10.2.0.1")]  # fmt: skip
    asks = half_open.Row("10.2.0.5", 80, 2, unheard=2, client="10.2.21.9")
    rows = [unresolved.Row("eth0", address, 4) for address in ("10.2.21.9", "10.2.0.7")]
    found = {one.address: one for one in still(
        unresolved=rows, routes=ways, half_open=[asks]).more["absent"]}  # fmt: skip
    assert "the prefix of 10.2.0.0/16 takes it for on-link" in found["10.2.21.9"].what
    assert "the router (10.2.0.1)" in found["10.2.21.9"].change
    assert found["10.2.0.7"].what == "10.2.0.7@eth0"
    (alone,) = still(unresolved=rows[:1], routes=ways[:1], half_open=[asks]).more["absent"]
    assert alone.what == "10.2.21.9@eth0"  # without a router there is nothing behind it


def test_a_rule_of_the_older_iptables_is_shown_by_its_own_command() -> None:
    nat = (("immediate", 1, "0a02001e"), ("nat", 1))
    rule = nft_rules.Row("ip", "nat", "PREROUTING", 3, nat, old=True)
    (one,) = still(
        unresolved=[unresolved.Row("eth0", "10.2.0.30", 4)], nft_rules=[rule]
    ).more["absent"]  # fmt: skip
    assert "the rule 3 in chain PREROUTING (table nat of the older iptables) trans" in one.what
    assert "`iptables-legacy -t nat -nvL PREROUTING --line-numbers`" in one.change


def test_an_entry_that_still_translates_to_an_absent_neighbour_is_named() -> None:
    row = translated.Row("udp", "10.1.0.2", 4001, "10.96.0.10", 53, "10.2.0.7", 53, "10.1.0.2",
                         answered=False)  # fmt: skip
    (one,) = still(
        unresolved=[unresolved.Row("eth0", "10.2.0.7", 4)], translated=[row]
    ).more["absent"]  # fmt: skip
    assert "sends what goes from 10.1.0.2:4001 to 10.96.0.10:53" in one.what
    assert "`conntrack -D -p udp -d 10.96.0.10 --dport 53`" in one.change


@pytest.mark.parametrize(("processes", "who"), [
    (("app[9]", "web[7]"), "app[9]"), ((), "a program of this host"),
])  # fmt: skip
def test_a_name_server_that_is_absent_is_told_as_one(processes: tuple[str, ...], who: str) -> None:
    asked = udp_questions.Row("10.2.0.7", 1, 0, 0, processes)
    (found,) = still(
        unresolved=[unresolved.Row("eth0", "10.2.0.7", 4)], udp_questions=[asked]
    ).more["absent"]  # fmt: skip
    assert found.what == f"10.2.0.7@eth0, the name server that {who} asks,"
    assert "/etc/resolv.conf" in found.change


def test_a_gateway_that_is_one_of_several_next_hops_is_told_with_its_route() -> None:
    hops = [routes.Row("10.88.0.0/16", "eth0", 0, 254, gateway=one)
            for one in ("10.2.0.1", "10.2.0.9")]  # fmt: skip
    (found,) = still(unresolved=[unresolved.Row("eth0", "10.2.0.9", 4)], routes=hops).more["absent"]
    assert found.what == "10.2.0.9@eth0, 1 of 2 next hops of route 10.88.0.0/16,"
    assert "`ip route replace 10.88.0.0/16 nexthop via 10.2.0.1`" in found.change
    own = [replace(one, table=9, metric=5, source="10.1.0.2", mtu=1400) for one in hops]
    (found,) = still(unresolved=[unresolved.Row("eth0", "10.2.0.9", 4)], routes=own).more["absent"]
    assert "10.88.0.0/16 metric 5 table 9 src 10.1.0.2 mtu 1400 nexthop via" in found.change
    (found,) = still(
        unresolved=[unresolved.Row("eth0", "10.2.0.9", 4)], routes=hops[1:]
    ).more["absent"]  # fmt: skip
    assert found.what == "10.2.0.9@eth0"


def test_an_absent_neighbour_is_a_gateway_by_its_interface_and_address() -> None:
    rows = [unresolved.Row("eth0", "10.0.0.66", 4), unresolved.Row("eth1", "10.0.0.1", 4)]
    ways = [routes.Row("0.0.0.0/0", "eth1", 0, 254, gateway="10.0.0.1"),
            routes.Row("10.9.0.0/16", "eth1", 0, 254, gateway="10.0.0.66")]  # fmt: skip
    first, second = still(unresolved=rows, routes=ways).more["absent"]
    assert (first.id, first.gateway, first.count) == ("10.0.0.1@eth1", True, 2)
    assert (second.id, second.gateway) == ("10.0.0.66@eth0", False)


@pytest.mark.parametrize(
    ("absent", "hop"),
    [("10.0.0.1", "10.0.0.1@eth1"), ("192.0.2.7", None), ("10.0.0.2", None)],
)
def test_an_attempt_names_the_next_hop_that_does_not_answer(absent: str, hop: str | None) -> None:
    ways = [routes.Row("0.0.0.0/0", "eth0", 9, 254, gateway="10.0.0.2"),
            routes.Row("192.0.2.0/24", "eth1", 0, 254, gateway="10.0.0.1")]  # fmt: skip
    (one,) = still(
        sockets_tcp=[waiting(1, 4)], routes=ways, unresolved=[unresolved.Row("eth1", absent, 4)]
    ).more["attempt"]
    assert one.neighbour == hop


def test_an_attempt_in_a_network_of_this_host_goes_to_the_host_itself() -> None:
    (one,) = still(
        sockets_tcp=[waiting(1, 4)], routes=[routes.Row("192.0.2.0/24", "eth1", 0, 254)],
        unresolved=[unresolved.Row("eth1", "192.0.2.7", 4)],
    ).more["attempt"]  # fmt: skip
    assert one.neighbour == "192.0.2.7@eth1"


def port(name: str, mtu: int, master: str = "br0", **more: Any) -> Any:
    return link(name, mtu=mtu, master=master, slave_kind="bridge", **more)


def test_a_bridge_with_ports_of_two_sizes() -> None:
    rows = [port("eth0", 9000), port("v1", 1500), port("v2", 1500), port("v3", 1400, up=False)]
    (one,) = still(links=rows).more["bridge"]
    assert (one.name, one.least, one.most) == ("br0", 1500, 9000)
    assert (one.small, one.large) == (("v1", "v2"), ("eth0",))


@pytest.mark.parametrize(
    ("states", "held"),
    [(("listening", "forwarding"), ("eth0",)), (("forwarding", "blocking"), ("v1",))],
)
def test_a_port_that_does_not_forward_is_the_way_out_of_its_kind(
    states: tuple[str, str], held: tuple[str, ...]
) -> None:
    rows = [port("eth0", 1500, port_state=states[0], kind=""),
            port("v1", 1500, port_state=states[1], kind="veth")]  # fmt: skip
    (one,) = still(links=rows).more["bridge"]
    assert one.held == held


def test_a_second_way_that_is_blocked_is_no_fault() -> None:
    rows = [port("eth8", 1500, port_state="forwarding"), port("eth9", 1500, port_state="blocking")]
    assert still(links=rows).more["bridge"] == ()


def test_a_disabled_port_is_named_beside_one_that_forwards() -> None:
    rows = [port("eth0", 1500, port_state="forwarding"), port("eth1", 1500, port_state="disabled")]
    (one,) = still(links=rows).more["bridge"]
    assert one.held == ("eth1",)


def test_a_port_with_an_address_of_its_own() -> None:
    links = [link("br0", kind="bridge"), port("eth0", 1500), port("v1", 1500)]
    own = [addresses.Row("eth0", "192.0.2.4", 24, 4, "global"),
           addresses.Row("br0", "192.0.2.5", 24, 4, "global"),
           addresses.Row("v1", "fe80::1", 64, 6, "link")]  # fmt: skip
    (one,) = still(links=links, addresses=own).more["bridge"]
    assert (one.name, one.addressed) == ("br0", ("eth0",))
    assert still(links=links, addresses=own[1:]).more["bridge"] == ()


def over(cwnd: int, **route: Any) -> tuple[Any, ...]:
    ways = [routes.Row("0.0.0.0/0", "eth0", 0, 254, clamp=2),
            routes.Row("192.0.2.0/24", "eth0", 0, 254, **route)]  # fmt: skip

    def at(step: int) -> Any:
        one = socket(1, remote="192.0.2.7", cwnd=cwnd, bytes_acked=step * 10**6, notsent=9000,
                     min_rtt=20000, bytes_received=0)  # fmt: skip
        return {**HOST, "routes": ways, "sockets_tcp": [one]}

    return joined(at(0), at(1)).more["metric"]


def test_a_flow_whose_congestion_window_is_that_of_its_most_specific_route() -> None:
    (one,) = over(4, clamp=4)
    assert (one.to, one.cwnd, one.flows) == ("192.0.2.0/24", 4, 1)
    assert one.rtt == pytest.approx(0.02)
    assert over(3, clamp=4) == ()
    assert over(9) == ()


@pytest.mark.parametrize(("rate", "flows"), [(12000 / 0.02 / 2, 1), (12000 / 0.02 / 3, 0)])
def test_a_flow_that_fills_the_receive_window_of_its_route(rate: float, flows: int) -> None:
    way = routes.Row("192.0.2.0/24", "eth0", 0, 254, window=12000)

    def at(step: int) -> Any:
        one = socket(1, remote="192.0.2.7", bytes_acked=0, bytes_received=int(step * rate),
                     min_rtt=20000)  # fmt: skip
        return {**HOST, "routes": [way], "sockets_tcp": [one]}

    assert len(joined(at(0), at(1)).more["metric"]) == flows


def counted(**more: int) -> snmp.Row:
    names = ("ip_in", "ip_delivers", "ip_forwarded", "ip_no_routes", "ip_foreign", "ip_errors",
             "ip_discards", "reverse_path_drops", "reasm_needed", "reasm_done",
             "ip6_multicast")  # fmt: skip
    none = dict.fromkeys((one.name for one in fields(snmp.Row)), None)
    return snmp.Row(**{**none, **dict.fromkeys(names, 0), **more})


def vanished(filtered: int = 0, hook: str = "input", **more: int) -> float | None:
    rule = nftables.Row("inet", "t", "c", "4", hook, packets=0)
    later = nftables.Row("inet", "t", "c", "4", hook, packets=filtered)
    first = {**HOST, "snmp": [counted()], "nftables": [rule]}
    return joined(first, {**HOST, "snmp": [counted(**more)], "nftables": [later]}).host.ip_vanished


def test_packets_vanish_that_no_counter_explains() -> None:
    assert vanished(ip_in=100, ip_delivers=90) == 10
    assert vanished(ip_in=100, ip_delivers=90, ip_forwarded=4, ip_errors=1) == 5
    assert vanished(ip_in=100, ip_delivers=90, reverse_path_drops=10) == 0
    assert vanished(ip_in=100, ip_delivers=90, ip_foreign=3, ip_no_routes=3, ip_discards=4) == 0
    assert vanished(ip_in=100, ip_delivers=130) == 0
    assert vanished(ip_in=100, ip_delivers=40, ip6_multicast=60) == 0


def test_what_a_rule_counts_has_not_vanished_unless_it_is_behind_ip() -> None:
    assert vanished(10, ip_in=100, ip_delivers=90) == 0
    assert vanished(10, "output", ip_in=100, ip_delivers=90) == 10


def test_what_the_load_balancer_took_has_not_vanished() -> None:
    def at(packets: int, **more: int) -> Any:
        return {**HOST, "snmp": [counted(**more)], "ipvs": [ipvs.Row(0, packets, 0)]}

    assert joined(at(5), at(35, ip_in=100, ip_delivers=60)).host.ip_vanished == 10
    assert joined(at(5), at(95, ip_in=100, ip_delivers=60)).host.ip_vanished == 0


def test_without_a_counter_nothing_is_said_of_packets_that_vanish() -> None:
    rows = (replace(counted(ip_in=count), reasm_done=None) for count in (0, 9))
    assert joined(*({**HOST, "snmp": [row]} for row in rows)).host.ip_vanished is None


def shaped(*rows: tuple[str, str, float, int]) -> list[tuple[str, float | None, int | None]]:
    """Classes as (handle, parent, ceiling, bytes/s); a leaf has 5000 bytes in its queue."""
    parents = {parent for _, parent, _, _ in rows}

    def at(step: int) -> Any:
        return {**HOST, "classes": [
            classes.Row("eth0", handle, parent, handle not in parents, ceiling / 2, ceiling,
                        0 if handle in parents else 5000, step * rate, 0, 0)
            for handle, parent, ceiling, rate in rows
        ]}  # fmt: skip

    found = joined(at(0), at(1)).more["qdisc"]
    return [(one.id, one.load, one.queued) for one in found]


def test_an_inner_class_limits_leaves_that_have_more_room() -> None:
    rows = ("1:1", "root", 8e6, 10**6), ("1:20", "1:1", 8e8, 600_000), ("1:30", "1:1", 8e8, 400_000)
    assert ("eth0/htb-class-1:1", 1.0, 10000) in shaped(*rows)


def test_an_inner_class_is_not_named_beside_the_leaf_that_limits() -> None:
    rows = ("1:1", "root", 8e6, 10**6), ("1:20", "1:1", 8e6, 10**6)
    assert [one for one, _, _ in shaped(*rows)] == ["eth0/htb-class-1:20"]


def test_what_is_to_be_forwarded_and_reaches_no_interface_was_dropped() -> None:
    def unsent(**more: int) -> float | None:
        return joined(*({**HOST, "snmp": [row]} for row in (
            counted(ip_requests=0, ip_transmits=0), counted(**more),
        ))).host.ip_unsent  # fmt: skip

    assert unsent(ip_forwarded=100, ip_requests=20, ip_transmits=90) == 30
    assert unsent(ip_forwarded=10, ip_requests=20, ip_transmits=5) == 10
    assert unsent(ip_forwarded=10, ip_requests=20, ip_transmits=31) == 0
    older = {**HOST, "snmp": [counted()]}
    assert joined(older, {**HOST, "snmp": [counted(ip_forwarded=9)]}).host.ip_unsent is None


def test_rules_that_drop_without_a_counter_are_named_but_not_those_of_what_leaves() -> None:
    rows = [
        nftables.Row("inet", "t", "FORWARD", "policy", "forward"),
        nftables.Row("inet", "t", "out", "policy", "output"),
        nftables.Row("ip", "t", "jumped", "9"),
        nftables.Row("ip", "t", "counts", "7", "input", packets=4),
    ]
    host = joined({**HOST, "nftables": rows}).host
    assert host.silent_drops == ("inet/t/FORWARD/policy", "ip/t/jumped/9")


@pytest.mark.parametrize(("states", "begins"), [
    (("listening", "learning"), True), (("disabled", "learning"), False),
])  # fmt: skip
def test_ports_that_only_begin_forward_by_themselves(states: tuple[str, str], begins: bool) -> None:
    rows = [port("eth0", 1500, port_state=states[0]), port("v1", 1500, port_state=states[1])]
    (one,) = still(links=rows).more["bridge"]
    assert (one.begins, one.held) == (begins, ("eth0", "v1"))


@pytest.mark.parametrize(("mac", "nic", "ours"), [
    ("02:00:00:00:00:09", "a0", True), ("02:00:00:00:00:01", "a0", False),
    ("02:00:00:00:00:09", "b0", False),  # it has the address elsewhere, as a server of a balancer
])  # fmt: skip
def test_another_that_announces_an_address_of_this_host_is_its_rival(
    mac: str, nic: str, ours: bool
) -> None:
    links = [link("a0", 2, address="02:00:00:00:00:01"), link("b0", 3)]
    heard = arp_requests.Row(nic, "10.0.0.1", mac, "10.0.0.1", 1, 5.0)
    tables = {"links": links, "addresses": [addresses.Row("a0", "10.0.0.1", 24, 4, "global")]}
    found = still(arp_requests=[heard], rivals=[], **tables).more["rival"]
    said = f"{mac}, and this host, with 02:00:00:00:00:01"
    assert [(one.id, one.hardware, one.ours) for one in found] == (
        [("10.0.0.1@a0", said, True)] if ours else []
    )


def test_two_that_ask_with_one_address_are_rivals() -> None:
    def asks(
        hardware: str, source: str = "10.0.0.7", nic: str = "br0", seconds: float = 5.0
    ) -> Any:
        return arp_requests.Row(nic, source, hardware, "10.0.0.1", 1, seconds)

    one, other = "02:00:00:00:00:01", "02:00:00:00:00:02"
    rows = [
        asks(other),
        asks(one),
        asks(one, "10.0.0.8"),
        asks(one, nic="br1"),
        asks(one, "10.0.0.6"),
        asks(other, "10.0.0.6", seconds=900.0),
    ]  # it was taken over
    found = still(arp_requests=rows, rivals=[rivals.Row("eth0", "10.0.0.9", one)]).more["rival"]
    assert [(each.id, each.hardware) for each in found] == [
        ("10.0.0.7@br0", f"{one} {other}"), ("10.0.0.9@eth0", one),
    ]  # fmt: skip
