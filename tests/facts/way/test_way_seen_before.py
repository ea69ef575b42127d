"""Causes that a stranger staged: a tunnel without target, a stopped reader, IPv6 without router."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import way_tables as host
from way_tables import FAR, SOUND, answer, frame, link, route, rule, switches, went

from nettop.collect import (
    addresses,
    drop_reasons,
    failed_calls,
    half_open,
    link_stats,
    neighbour_states,
    sockets_udp,
    tun_readers,
)
from nettop.collect.nft_hooks import Row as Hook
from nettop.collect.nft_rules import Row as Rule
from nettop.facts.kinds.call import build as calls
from nettop.facts.kinds.host import HostFact
from nettop.facts.kinds.way import build
from nettop.facts.sums import from_another
from nettop.facts.way import PASSES

FAR6, OWN6 = "2001:db8:9::1", addresses.Row("a0", "2001:db8:1::2", 64, 6, "global")


def absent(to: str = FAR) -> list[Any]:
    return [neighbour_states.Row("a0", to, 6 if ":" in to else 4, "failed")]


def drop(reason: str, place: str, protocol: str, interface: str = "2") -> drop_reasons.Row:
    return drop_reasons.Row(reason, place, "here", interface, protocol, "", 9)


@pytest.mark.parametrize(
    ("dropped", "named"),
    [
        (drop("NO_TX_TARGET", "vxlan_xmit", "arp"), True),
        (drop("NO_TX_TARGET", "vxlan_xmit", "arp", interface="3"), False),
        (drop("NO_TX_TARGET", "vxlan_xmit", "tcp"), False),
        (drop("NEIGH_FAILED", "arp_rcv", "arp"), False),
        (drop("OTHERHOST", "ip_rcv_core", "arp"), False),
    ],
)
def test_a_neighbour_is_silent_because_the_question_is_dropped(dropped: Any, named: bool) -> None:
    decider = went(FAR, frame(neighbour_states=absent(), drop_reasons=[dropped])).decider
    assert decider is not None
    assert decider.command == f"ip neigh show {FAR} dev a0"
    assert ("a0 drops the questions, the tunnel has no target" in decider.saw) is named
    assert ("bridge fdb append" in decider.change) is named
    assert ("must answer ARP" in decider.change) is not named


@pytest.mark.parametrize(
    ("more", "rides"),
    [({"promiscuity": 1}, True), ({"promiscuity": 0}, False), ({}, False),
     ({"promiscuity": 1, "promisc": True}, False), ({"promiscuity": 1, "master": "br0"}, False)],
)  # fmt: skip
def test_a_macvlan_of_this_host_may_be_meant(more: dict[str, Any], rides: bool) -> None:
    links = [SOUND["links"][0], link("a0", 2, **more), *SOUND["links"][2:]]
    decider = went(FAR, frame(neighbour_states=absent(), links=links)).decider
    assert decider is not None
    assert decider.change.startswith(f"if {FAR} is a macvlan on a0 of this host") is rides
    assert f"the host with {FAR} must answer ARP" in decider.change


@pytest.mark.parametrize(
    ("kind", "received", "mute"),
    [("vxlan", 0, True), ("gretap", 0, True), ("vxlan", 9, False), ("veth", 0, False)],
)
def test_of_a_tunnel_through_which_nothing_came_both_ends_are_compared(
    kind: str, received: int, mute: bool
) -> None:
    links = [SOUND["links"][0], link("a0", 2, kind=kind), *SOUND["links"][2:]]
    counts = [link_stats.Row("a0", 2, received, 40, *[0] * 21)]
    tables = {"neighbour_states": absent(), "links": links, "link_stats": counts}
    decider = went(FAR, frame(**tables)).decider
    assert decider is not None
    assert decider.saw.endswith("a tunnel through which nothing has come yet") is mute
    assert decider.change.startswith("compare ") is mute
    assert f"the host with {FAR} must answer ARP" in decider.change


@pytest.mark.parametrize(("sender", "port", "told"), [
    ("198.51.100.9", 4789, True), ("198.51.100.9", 8472, False), ("198.51.100.8", 4789, False),
])  # fmt: skip
def test_the_port_to_which_the_other_end_of_a_tunnel_sends(
    sender: str, port: int, *, told: bool
) -> None:
    tunnel = link("a0", 2, kind="vxlan", tunnel_remote="198.51.100.9", tunnel_port=8472)
    counts = [link_stats.Row("a0", 2, 0, 40, *[0] * 21)]
    missed = drop_reasons.Row("NO_SOCKET", "__udp4_lib_rcv", "here", "3", "udp", str(port), 8, 5.0,
                              source=sender, to="198.51.100.1", to_port=port)  # fmt: skip
    decider = went(FAR, frame(
        neighbour_states=absent(), links=[SOUND["links"][0], tunnel, *SOUND["links"][2:]],
        link_stats=counts, drop_reasons=[missed],
    )).decider  # fmt: skip
    assert decider is not None
    assert decider.change.startswith("make a0 again with dstport 4789, or that end with 8472; else "
                                     "compare VNI") is told  # fmt: skip
    assert (
        decider.saw.endswith(
            "nothing has come yet: 198.51.100.9 sends to UDP port 4789, and a0 takes port 8472"
        )
        is told
    )


@pytest.mark.parametrize(
    ("kind", "port", "out", "hides"),
    [
        ("bridge", "veth", "b0", True), ("bridge", "", "b0", False),
        ("veth", "veth", "b0", False), ("bridge", "veth", "a0", False),
    ],
)  # fmt: skip
def test_the_network_of_a_bridge_of_containers_may_hide_a_real_one(
    kind: str, port: str, out: str, *, hides: bool
) -> None:
    guest = link("v0", 9, kind=port, master="a0")
    links = [SOUND["links"][0], link("a0", 2, kind=kind), link("b0", 3), guest]
    wider = [*SOUND["fib"][:-1], host.route("0.0.0.0/0", out, "10.1.0.254")]
    decider = went(FAR, frame(neighbour_states=absent(), links=links, fib=wider)).decider
    assert decider is not None
    covered = "10.0.0.0/24 there comes before the route by 10.1.0.254"
    assert (covered in decider.saw) is hides
    assert (f"ip route add {FAR} via 10.1.0.254" in decider.change) is hides


@pytest.mark.parametrize(
    ("to", "routes", "wide"),
    [(FAR, SOUND["fib"], True), (FAR, SOUND["fib"][:-1], False),
     (host.GATEWAY, SOUND["fib"], False), ("198.51.100.7", SOUND["fib"], False)],
)  # fmt: skip
def test_a_prefix_may_be_too_short(to: str, routes: Any, wide: bool) -> None:
    silent = absent(host.GATEWAY if to == "198.51.100.7" else to)
    decider = went(to, frame(neighbour_states=silent, fib=routes)).decider
    assert decider is not None
    assert ("the prefix of 10.0.0.0/24 on a0 is too short" in decider.change) is wide


@pytest.mark.parametrize(("state", "stopped"), [("T", True), ("t", True), ("S", False)])
def test_a_tunnel_whose_reader_is_stopped(state: str, stopped: bool) -> None:
    links = [SOUND["links"][0], link("a0", 2, kind="tun", noarp=True), *SOUND["links"][2:]]
    way = went(
        FAR, frame(links=links, processes=[host.process(state)],
                   tun_readers=[tun_readers.Row("a0", 7)]),
    )  # fmt: skip
    if stopped:
        assert way.decider is not None
        assert way.decider.saw == "no program reads a0: app[7] is stopped by a signal"
        assert way.decider.change == "kill -CONT 7"
    else:
        assert way.decider is None
        assert any(step.saw == "a0 is up, mtu 1500" for step in way.of(PASSES))


@pytest.mark.parametrize(
    ("accepts", "forwards", "route6", "deaf"),
    [(1, 1, None, True), (2, 1, None, False), (1, 0, None, False), (1, 1, "::/0", False)],
)
def test_a_router_that_takes_no_advertisements(
    accepts: int, forwards: int, route6: str | None, deaf: bool
) -> None:
    fib = [*SOUND["fib"], *([host.route(route6, "a0", dead=True)] if route6 else [])]
    seen = frame(
        addresses=[*SOUND["addresses"], OWN6], fib=fib, ways=[answer(FAR6, "ENETUNREACH")],
        interface_sysctls=[switches("all"), switches("a0", forwards, accept_ra=accepts)],
    )  # fmt: skip
    decider = went(FAR6, seen).decider
    assert decider is not None
    assert ("it ignores the advertisements of routers (accept_ra 1)" in decider.saw) is deaf
    assert ("net.ipv6.conf.a0.accept_ra 2" in decider.change) is deaf


@pytest.mark.parametrize(("six", "own", "saw", "change"), [
    ({"disabled6": 1}, False, "IPv6 is off on a0", "conf.a0.disable_ipv6 0"),
    ({"accept_ra": 0}, True, "a0 ignores the advertisements", "conf.a0.accept_ra 1"),
    ({"accept_ra": 0, "forwarding": 1}, True, "a0 ignores the adv", "conf.a0.accept_ra 2"),
    ({"accept_ra": 1}, True, "(ENETUNREACH)", "ip -6 route add"),
    ({"accept_ra": 1}, False, "(ENETUNREACH)", "ip -6 addr add ADDRESS/LENGTH dev INTERFACE; then"),
])  # fmt: skip
def test_why_a_host_has_no_way_by_ipv6(
    six: dict[str, int], own: bool, saw: str, change: str
) -> None:
    seen = frame(
        addresses=[*SOUND["addresses"], *([OWN6] if own else [])],
        ways=[answer(FAR6, "ENETUNREACH")], interface_sysctls=[switches("a0", **six)],
    )  # fmt: skip
    decider = went(FAR6, seen).decider
    assert decider is not None
    assert saw in decider.saw
    assert change in decider.change


@pytest.mark.parametrize(("mtu", "told"), [(1200, True), (1280, False)])
def test_an_interface_with_a_small_mtu_has_no_ipv6(mtu: int, told: bool) -> None:
    links = [*SOUND["links"][:1], link("a0", 2, mtu=mtu), *SOUND["links"][2:]]
    seen = frame(
        links=links, ways=[answer(FAR6, "ENETUNREACH")], interface_sysctls=[switches("a0")]
    )
    decider = went(FAR6, seen).decider
    assert decider is not None
    assert ("a0 has no IPv6, for its MTU 1200 is below 1280" in decider.saw) is told
    assert ("nettop set link.mtu@a0 1500" in decider.change) is told


FROM_LO = ("meta", 4, 1), ("cmp", 1, 0, "01000000"), ("immediate", 0, "1:")  # iif lo accept


@pytest.mark.parametrize(
    ("drops", "old", "says", "change"),
    [
        (True, False, "(hook input, inet t) drops router advertisements on a0, by which a default",
         "nft insert rule inet t c icmpv6 type nd-router-advert accept, if a router"),
        (True, True, "(hook input, table t of the older iptables) drops router advertisements",
         "ip6tables-legacy -t t -I c -p icmpv6 --icmpv6-type router-advertisement -j ACCEPT, if"),
        (False, False, "(ENETUNREACH)", "ip -6 route add"),
    ],
)  # fmt: skip
def test_a_filter_that_drops_what_routers_advertise(
    drops: bool, old: bool, says: str, change: str
) -> None:
    chain = Hook("ip6" if old else "inet", "t", "c", "input", 0, "filter", drops, old=old)
    seen = {
        "addresses": [*SOUND["addresses"], OWN6], "ways": [answer(FAR6, "ENETUNREACH")],
        "interface_sysctls": [switches("a0", accept_ra=1)], "nft_hooks": [chain],
        "nft_rules": [Rule(chain.family, "t", "c", 2, FROM_LO, old=old)],
    }  # fmt: skip
    decider = went(FAR6, frame(**seen)).decider
    assert decider is not None
    assert says in decider.saw
    assert change in decider.change
    unread = went(FAR6, frame("nft_rules", **seen)).decider
    assert unread is not None
    assert unread.saw.endswith("(ENETUNREACH)")


@pytest.mark.parametrize(
    ("own", "told"),
    [([], False), ([OWN6], True), ([replace(OWN6, address="fd00::2")], False),
     ([replace(OWN6, address="fe80::2", scope="link")], False)],
)  # fmt: skip
def test_no_route_of_ipv6_is_a_fault_of_a_host_with_a_global_address(
    own: list[Any], told: bool
) -> None:
    failed = failed_calls.Row("connect", "ENETUNREACH", 7, "here", FAR6, "443", "kubelet", 9)
    by_four = replace(failed, call="connection", error="0", address=FAR)
    seen = frame(failed_calls=[failed, by_four], addresses=[*SOUND["addresses"], *own])
    found = calls(seen, SimpleNamespace(host=HostFact("host")))  # type: ignore[arg-type]
    assert bool(found) is told
    assert all(one.means == "No route leads to the address to connect to" for one in found)


def test_a_refused_call_is_walked_with_each_mark_that_rules_look_for() -> None:
    rules = [rule(101, 0, action="prohibit", mark=0x51, mask=0xFF), *SOUND["routing_rules"]]
    failed = failed_calls.Row("connect", "EACCES", 7, "here", FAR, "443", "vpn", 9)
    nothing: Any = SimpleNamespace(more={}, flows=())
    (one,) = build(frame(failed_calls=[failed], routing_rules=rules), nothing)
    assert one.decider == "rule 101 from all fwmark 0x51 is prohibit, for packets with mark 0x51"
    assert one.asks == f"{FAR}:443 --mark 0x51"
    (other,) = build(frame(failed_calls=[replace(failed, error="ETIMEDOUT")],
                           routing_rules=rules), nothing)  # fmt: skip
    assert (other.stops, other.asks) == (False, f"{FAR}:443")


@pytest.mark.parametrize(
    ("local", "remote", "second", "found"),
    [("0.0.0.0", 0, "10.0.0.53", ("53 at 10.0.0.53@a0",)), ("10.0.0.53", 0, "10.0.0.53", ()),
     ("0.0.0.0", 9, "10.0.0.53", ()), ("0.0.0.0", 0, "10.9.0.53", ())],
)  # fmt: skip
def test_a_service_at_all_addresses_answers_from_the_first(
    local: str, remote: int, second: str, found: tuple[str, ...]
) -> None:
    none: dict[str, Any] = dict.fromkeys(sockets_udp.Row.__dataclass_fields__)
    socket = sockets_udp.Row(**{**none, "inode": 1, "local": local, "local_port": 53,
                                "remote": "0.0.0.0", "remote_port": remote})  # fmt: skip
    own = [*SOUND["addresses"], addresses.Row("a0", second, 24, 4, "global")]
    assert from_another(frame(addresses=own, sockets_udp=[socket])) == found


def test_a_host_whose_syns_arrive_is_told_to_be_behind_a_router() -> None:
    ways = [*SOUND["fib"], host.route("0.0.0.0/0", "a0", "10.0.0.254")]
    asks = half_open.Row(host.NEAR, 80, 2, unheard=2, client=FAR)
    for heard in (True, False):
        seen = frame(neighbour_states=absent(), fib=ways, half_open=[asks] if heard else [])
        decider = went(FAR, seen).decider
        assert decider is not None
        assert ("a router (10.0.0.254?), and 10.0.0.0/24 on a0 takes" in decider.saw) is heard
        assert decider.change.startswith("if so, give the address of a0 the prefix") is heard


WIDE: Any = {
    "addresses": [addresses.Row("a0", "10.0.0.1", 16, 4, "global"),
                  addresses.Row("a0", "fd00:1::1", 48, 6, "global")],
    "fib": [route("10.0.0.0/16", "a0", source="10.0.0.1"), route("0.0.0.0/0", "a0", "10.0.0.254"),
            route("fd00:1::/48", "a0"), route("::/0", "a0", "fe80::fe")],
    "routing_rules": [],
}  # fmt: skip


def heard(*known: str, off: str) -> Any:
    """The neighbours that answer, and one that does not."""
    states = {**dict.fromkeys(known, "stale"), off: "failed"}
    return [neighbour_states.Row("a0", one, 6 if ":" in one else 4, state)
            for one, state in states.items()]  # fmt: skip


@pytest.mark.parametrize(("to", "known", "cure"), [
    ("10.0.5.9", ["10.0.0.254"],
     ("10.0.0.0/24, as its router has it, ip addr add 10.0.0.1/24 dev a0 && ip addr del "
      "10.0.0.1/16 dev a0; else the host with 10.0.5.9 must")),
    ("10.0.5.9", ["10.0.0.254", "10.0.3.1"],
     "10.0.0.0/22, as its router has it, ip addr add 10.0.0.1/22 dev a0"),
    ("fd00:1:0:5::9", ["fe80::fe", "fd00:1::7"],
     "fd00:1::/64, as its router has it, ip addr del fd00:1::1/48 dev a0 && ip addr add fd00:1::1"),
    ("fd00:1:0:5::9", ["fe80::fe"], ""),
    ("10.0.5.9", ["10.0.0.254", "10.0.5.1"], ""),  # a neighbour of its own network answers
    ("10.0.5.9", ["10.0.0.7"], ""),  # the gateway does not
    ("10.0.0.99", ["10.0.0.254"], ""),  # a host that is off
])  # fmt: skip
def test_a_netmask_is_doubted_where_all_that_answers_is_in_a_longer_prefix(
    to: str, known: list[str], cure: str
) -> None:
    decider = went(to, frame(**WIDE, neighbour_states=heard(*known, off=to))).decider
    assert decider is not None
    assert decider.place == "neighbour"
    assert ("the netmask may be too wide" in decider.saw) is bool(cure)
    assert decider.change.startswith(f"if the network of a0 is {cure}" if cure else "the host with")
