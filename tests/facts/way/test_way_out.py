"""The way of packets that this host sends: each step on tables that are made up."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
import way_tables as host
from way_tables import FAR, SOUND, answer, frame, link, route, rule, went

from nettop.collect import neighbour_states
from nettop.collect.nft_hooks import Row as Hook
from nettop.collect.sysctls import Row as Sysctl
from nettop.facts.way import HIDDEN, PASSES, SUSPECT

ELSEWHERE = "198.51.100.7"


def others(table: str, name: str) -> list[Any]:
    return [row for row in SOUND[table] if row.interface != name]


def neighbour(state: str, hardware: str | None = None) -> list[Any]:
    return [neighbour_states.Row("a0", FAR, 4, state, hardware)]


class Case(NamedTuple):
    """Tables in other words than those of the sound host, and the decider."""

    to: str
    place: str
    saw: str
    change: str
    tables: dict[str, Sequence[Any]]


STOPS = {
    "a blackhole": Case(
        "10.2.0.5", "route", "route 10.2.0.0/24 is a blackhole",
        "ip route del blackhole 10.2.0.0/24",
        {"fib": [*SOUND["fib"], route("10.2.0.0/24", None, kind="blackhole")]},
    ),
    "a nexthop object that is a blackhole": Case(
        "10.2.0.5", "route", "route 10.2.0.0/24 leads to nexthop 7, which is a blackhole",
        "ip nexthop replace id 7 via GATEWAY dev INTERFACE",
        {"fib": [*SOUND["fib"], replace(route("10.2.0.0/24", None, kind="blackhole"), nexthop=7)]},
    ),
    "an unreachable network of a table that a mark chooses": Case(
        "10.2.0.5", "route", "route 0.0.0.0/0 of table 9 is unreachable, where rule 10 from all to "
        "10.2.0.0/16 looks",
        "ip route del unreachable 0.0.0.0/0 table 9",
        {
            "fib": [*SOUND["fib"], route("0.0.0.0/0", None, kind="unreachable", table=9)],
            "routing_rules": [rule(10, 9, to="10.2.0.0/16"), *SOUND["routing_rules"]],
        },
    ),
    "a rule": Case(
        "10.2.0.5", "rule", "rule 10 from all to 10.2.0.0/16 is prohibit",
        "ip rule del priority 10",
        {"routing_rules": [rule(10, 0, action="prohibit", to="10.2.0.0/16"),
                           *SOUND["routing_rules"]]},
    ),
    "a rule that only the kernel evaluates": Case(
        FAR, "route", "a route or rule for 10.0.0.2 is prohibit (EACCES)",
        "",
        {"ways": [answer(FAR, "EACCES")],
         "routing_rules": [rule(10, 0, action="prohibit", more=True), *SOUND["routing_rules"]]},
    ),
    "no route": Case(
        ELSEWHERE, "route", f"no route leads to {ELSEWHERE} (ENETUNREACH)",
        f"ip route add {ELSEWHERE} via GATEWAY, or a default route",
        {"fib": SOUND["fib"][:-1], "ways": [answer(ELSEWHERE, "ENETUNREACH")]},
    ),
    "a rule that takes no default route": Case(
        ELSEWHERE, "rule", f"no route leads to {ELSEWHERE} (ENETUNREACH): rule 100 from all passes "
        "over route 0.0.0.0/0 of table 254 (suppress_prefixlength 0), and no later rule finds one",
        "ip rule del priority 100, or give a table that a later rule looks up the route",
        {"ways": [answer(ELSEWHERE, "ENETUNREACH")],
         "routing_rules": [rule(0, 255), rule(100, 254, suppress=0), rule(200, 51)]},
    ),
    "the kernel's answer is better than the tables": Case(
        FAR, "route", f"no route leads to {FAR} (ENETUNREACH)",
        f"ip route add {FAR} via GATEWAY, or a default route",
        {"ways": [answer(FAR, "ENETUNREACH")]},
    ),
    "a dead next hop": Case(
        ELSEWHERE, "route", "the next hop of route 0.0.0.0/0, 10.0.0.254 dev a0, is dead: "
        "a0 is down", "ip link set a0 up",
        {"fib": [route("0.0.0.0/0", "a0", "10.0.0.254", dead=True)],
         "links": [SOUND["links"][0], link("a0", 2, up=False)]},
    ),
    "a next hop without carrier, and the kernel ignores such routes": Case(
        ELSEWHERE, "route", "the next hop of route 0.0.0.0/0, 10.0.0.254 dev a0, is dead: "
        "a0 has no carrier", "bring up the other end of a0, in its namespace",
        {"fib": [route("0.0.0.0/0", "a0", "10.0.0.254", dead=True, linkdown=True)],
         "links": [SOUND["links"][0], link("a0", 2, carrier=False, kind="veth")],
         "ways": [answer(ELSEWHERE, "ENETUNREACH")]},
    ),
    "a route into lo": Case(
        "10.6.0.5", "device", "route 10.6.0.0/24 leads into lo, which no packet leaves",
        "ip route del 10.6.0.0/24 dev lo",
        {"fib": [*SOUND["fib"], route("10.6.0.0/24", "lo", source=host.NEAR)]},
    ),
    "a qdisc that loses each packet": Case(
        FAR, "queue", "qdisc netem of a0 drops every packet", "tc qdisc del dev a0 root",
        {"qdiscs": [host.qdisc("a0", "netem", largest=0)]},
    ),
    "a burst below a SYN": Case(
        FAR, "queue", "qdisc tbf of a0 drops frames above 60 bytes, its burst; those of a0 have up "
        "to 1514", "tc qdisc replace dev a0 root tbf … with a burst of 1514 bytes or more",
        {"qdiscs": [host.qdisc("a0", "tbf", largest=60)]},
    ),
    "a queue of bytes without room for one frame": Case(
        FAR, "queue", "qdisc bfifo of a0 drops frames above 60 bytes, its limit; those of a0 have "
        "up to 1514", "tc qdisc replace dev a0 root bfifo … with a limit of 1514 bytes or more",
        {"qdiscs": [host.qdisc("a0", "bfifo", largest=60)]},
    ),
    "a queue of bytes, in which packets of GSO wait whole": Case(
        FAR, "queue", "qdisc bfifo of a0 drops frames above 60 bytes, its limit; those of a0 have "
        "up to 1514", "tc qdisc replace dev a0 root bfifo … with a limit of 131072 bytes or more "
        "(packets of GSO, up to 65536 bytes, wait there uncut)",
        {"qdiscs": [host.qdisc("a0", "bfifo", largest=60)],
         "links": [*others("links", "a0"), link("a0", 2, gso_max_size=65536)]},
    ),
    "a token bucket, which cuts packets of GSO": Case(
        FAR, "queue", "qdisc tbf of a0 drops frames above 60 bytes, its burst; those of a0 have up "
        "to 1514", "tc qdisc replace dev a0 root tbf … with a burst of 1514 bytes or more",
        {"qdiscs": [host.qdisc("a0", "tbf", largest=60)],
         "links": [*others("links", "a0"), link("a0", 2, gso_max_size=65536)]},
    ),
    "the interface is down": Case(
        FAR, "device", "no route leads to 10.0.0.2: a0, with 10.0.0.1/24, is down",
        "ip link set a0 up",
        {"fib": [], "links": [*others("links", "a0"), link("a0", 2, up=False, carrier=None)]},
    ),
    "no carrier": Case(
        FAR, "device", "the interface a0 has no carrier",
        "bring up the other end of a0, in its namespace",
        {"links": [*others("links", "a0"), link("a0", 2, carrier=False)]},
    ),
    "no carrier of a device": Case(
        FAR, "device", "the interface a0 has no carrier",
        "check the cable and the other end: ethtool a0",
        {"links": [*others("links", "a0"), link("a0", 2, carrier=False, kind=None)]},
    ),
    "no program at a tunnel": Case(
        FAR, "device", "the interface a0 has no carrier", "start the program that reads a0",
        {"links": [*others("links", "a0"), link("a0", 2, carrier=False, kind="tun")]},
    ),
    "no address": Case(
        FAR, "source", "a0 has no IPv4 address for the source",
        "ip addr add ADDRESS/LENGTH dev a0",
        {"addresses": others("addresses", "a0"), "fib": [route("10.0.0.0/24", "a0")]},
    ),
    "no neighbour": Case(
        FAR, "neighbour", "no neighbour answers for 10.0.0.2 on a0", "the host with 10.0.0.2 must "
        "answer ARP: there, its interface up and without NOARP, the address on it, and no filter "
        "on the way back to this host (rp_filter); or 10.0.0.2 is behind a router, and the prefix "
        "of 10.0.0.0/24 on a0 is too short: compare it with that of the router",
        {"neighbour_states": neighbour("failed")},
    ),
    "lo is down": Case(
        "127.0.0.1", "device", "the interface lo is down", "ip link set lo up",
        {"links": [*others("links", "lo"), link("lo", 1, type=772, kind="", up=False)]},
    ),
    "a VLAN on an interface that is down": Case(
        FAR, "device", "the interface a0, below v5, is down", "ip link set a0 up",
        {
            "fib": [route("10.0.0.0/24", "v5", source="10.0.0.1")],
            "links": [link("v5", 5, kind="vlan", link="a0"), link("a0", 2, up=False, carrier=None)],
        },
    ),
    "a VLAN with a larger MTU": Case(
        FAR, "device", "the MTU of a0 (1500) is below that of v5 (9000)",
        "nettop set link.mtu@v5 1500",
        {
            "fib": [route("10.0.0.0/24", "v5", source="10.0.0.1")],
            "links": [link("v5", 5, kind="vlan", link="a0", mtu=9000), link("a0", 2)],
        },
    ),
    "a bond without a port that carries": Case(
        FAR, "device", "no port of bond0 has a carrier: p1, p2", "",
        {
            "fib": [route("10.0.0.0/24", "bond0", source="10.0.0.1")],
            "links": [link("bond0", 5, kind="bond"), link("p1", 6, master="bond0", carrier=False),
                      link("p2", 7, master="bond0", up=False)],
        },
    ),
    "a bridge without ports, and nobody answers there": Case(
        "10.4.0.5", "bridge", "nothing is behind the bridge br0: it has no port",
        "ip link set PORT master br0 up; if 10.4.0.5 is not in the network 10.4.0.0/16 of br0: ip "
        "route add 10.4.0.5 via 10.0.0.254, or remove the address of br0",
        {
            "fib": [*SOUND["fib"], route("10.4.0.0/16", "br0", source="10.4.0.1")],
            "links": [*SOUND["links"], link("br0", 9, kind="bridge")],
            "neighbour_states": [neighbour_states.Row("br0", "10.4.0.5", 4, "failed")],
        },
    ),
    "no carrier, and a default route elsewhere": Case(
        "10.1.0.5", "device", "the interface b0 has no carrier",
        "bring up the other end of b0, in its namespace; if 10.1.0.5 is not in the network "
        "10.1.0.0/24 of b0: ip route add 10.1.0.5 via 10.0.0.254, or remove the address of b0",
        {"links": [*others("links", "b0"), link("b0", 3, carrier=False)]},
    ),
    "a bridge whose port does not forward": Case(
        FAR, "bridge", "the port p1 of the bridge br0 is disabled",
        "bridge link set dev p1 state 3",
        {
            "fib": [route("10.0.0.0/24", "br0", source="10.0.0.1")],
            "links": [link("br0", 5, kind="bridge", carrier=False),
                      link("p1", 6, master="br0", slave_kind="bridge", port_state="disabled")],
        },
    ),
    "the address is on a port of a bridge": Case(
        FAR, "bridge", "a0 is a port of the bridge br0: what it receives goes to the bridge, not "
        "to the addresses of the port", "move the addresses and routes of a0 to br0",
        {"links": [*others("links", "a0"), link("br0", 5, kind="bridge"),
                   link("a0", 2, master="br0", slave_kind="bridge", port_state="forwarding")]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STOPS)
def test_the_first_thing_that_cannot_carry_the_flow_is_named_with_its_change(name: str) -> None:
    case = STOPS[name]
    decider = went(case.to, frame(**case.tables)).decider
    assert decider is not None
    assert (decider.place, decider.saw, decider.change) == (case.place, case.saw, case.change)
    assert decider.command


def test_a_sound_host_passes_every_step() -> None:
    way = went(FAR, frame(ways=[answer(FAR, kind="unicast", network="10.0.0.0/24", table=254,
                                       interface="a0", address="10.0.0.1")]))  # fmt: skip
    assert (way.decider, way.suspect, way.of(HIDDEN)) == (None, None, ())
    assert way.headline == "nothing visible here stops 10.0.0.2"
    assert [one.place for one in way.steps] == ["route", "source", "neighbour", "device"]


def test_without_the_kernels_answer_the_tables_answer_and_that_is_said() -> None:
    way = went(ELSEWHERE, frame())
    assert way.decider is None
    assert "the kernel's route answer" in way.of(HIDDEN)[0].saw
    assert any("route 0.0.0.0/0 via 10.0.0.254 dev a0" in one.saw for one in way.of(PASSES))


def test_a_table_that_was_not_read_is_not_taken_for_empty() -> None:
    assert went(FAR, frame("fib")).decider is None
    assert went(FAR, frame("neighbour_states")).decider is None
    hidden = [one.saw for one in went(FAR, frame("routing_rules", "neighbour_states")).of(HIDDEN)]
    assert any("the routing rules (not permitted)" in one for one in hidden)
    assert any("the neighbour entries: not permitted" in one for one in hidden)


def test_a_permanent_entry_is_a_suspect() -> None:
    way = went(FAR, frame(neighbour_states=neighbour("permanent", "02:00:00:00:00:99")))
    assert way.decider is None
    assert way.suspect is not None
    assert way.suspect.outcome == SUSPECT
    assert way.suspect.change == "ip neigh del 10.0.0.2 dev a0"


@pytest.mark.parametrize("locked", [False, True])
def test_a_route_whose_mtu_is_locked_hears_nothing_of_a_smaller_one(locked: bool) -> None:
    way = went(FAR, frame(ways=[answer(FAR, kind="unicast", network="10.0.0.0/24", table=7,
                                       interface="a0", mtu=9000, locked=locked)]))  # fmt: skip
    said = [one for one in way.steps if "locks the MTU at 9000" in one.saw]
    assert [(one.outcome, one.command) for one in said] == (
        [(SUSPECT, "ip route show 10.0.0.0/24 table 7")] if locked else []
    )


@pytest.mark.parametrize("interface", [{"noarp": True, "kind": "ipvlan"}, {"type": 65534}])
def test_an_interface_without_arp_needs_no_entry(interface: dict[str, Any]) -> None:
    links = [*others("links", "a0"), link("a0", 2, **interface)]
    assert went(FAR, frame(links=links, neighbour_states=neighbour("failed"))).decider is None


def test_an_ethernet_interface_without_arp_sends_to_itself_but_for_a_fixed_entry() -> None:
    links = [*others("links", "a0"), link("a0", 2, noarp=True)]
    decider = went(FAR, frame(links=links)).decider
    assert decider is not None
    assert decider.saw.startswith("a0 is NOARP: it asks for no hardware address")
    fixed = neighbour("permanent", "02:00:00:00:00:99")
    assert went(FAR, frame(links=links, neighbour_states=fixed)).decider is None
    modem = [*others("links", "a0"), link("a0", 2, noarp=True, kind="")]
    assert went(FAR, frame(links=modem)).suspect is not None


def test_the_answers_come_in_through_the_filter() -> None:
    """A policy of drop for what arrives, and no rule that lets answers pass."""
    hook = Hook("inet", "t", "c", "input", 0, "filter", drops=True)
    decider = went(FAR, frame(nft_hooks=[hook], nft_rules=[])).decider
    assert decider is not None
    assert decider.saw.startswith("the policy of chain c (hook input, inet t) drops answers")
    assert "ct state established,related" in decider.change


def test_connect_looks_for_the_route_again_with_its_address() -> None:
    """So a rule that asks for the source counts, though the program names none."""
    own = rule(30, 0, source="10.0.0.1/32", action="prohibit")
    rules = [*SOUND["routing_rules"], own]
    said = [
        answer(FAR, kind="unicast", network="10.0.0.0/24", table=254, interface="a0",
               address="10.0.0.1"),
        answer(FAR, "EACCES", source="10.0.0.1"),
    ]  # fmt: skip
    decider = went(FAR, frame(routing_rules=rules, ways=said)).decider
    assert decider is not None
    assert decider.saw == "rule 30 from 10.0.0.1/32 is prohibit"


def test_what_takes_packets_by_itself_is_not_visible() -> None:
    filters = went(FAR, frame(qdiscs=[host.qdisc("a0", "clsact", root=False)]))
    assert any("filters of clsact on a0" in one.saw for one in filters.of(HIDDEN))
    links = [*others("links", "a0"), link("a0", 2, kind="openvswitch")]
    switch = went(FAR, frame(links=links))
    assert any("Open vSwitch" in one.saw for one in switch.of(HIDDEN))
    assert "not visible" in switch.headline


def test_a_dead_next_hop_of_several_is_a_suspect() -> None:
    hops = [route("10.2.0.0/24", "a0", "10.0.0.254", hop=0),
            route("10.2.0.0/24", "b0", "10.1.0.9", hop=1)]  # fmt: skip
    silent = neighbour_states.Row("b0", "10.1.0.9", 4, "failed")
    seen = frame(fib=[*SOUND["fib"], *hops], neighbour_states=[*SOUND["neighbour_states"], silent])
    way = went("10.2.0.5", seen)
    assert way.decider is None
    assert way.suspect is not None
    assert way.suspect.saw == (
        "1 of 2 next hops of route 10.2.0.0/24 is dead (10.1.0.9 dev b0): a part of the flows goes "
        "there"
    )
    assert way.suspect.neighbours == ("10.1.0.9@b0",)
    assert went("10.2.0.5", frame(fib=[*SOUND["fib"], *hops])).suspect is None


def test_a_dead_next_hop_that_the_kernel_chooses_is_a_suspect_too() -> None:
    """Others of the flows take the next hop that lives."""
    hops = [route("10.2.0.0/24", "b0", "10.1.0.9", hop=0),
            route("10.2.0.0/24", "a0", "10.0.0.254", hop=1)]  # fmt: skip
    silent = neighbour_states.Row("b0", "10.1.0.9", 4, "failed")
    seen = frame(fib=[*SOUND["fib"], *hops], neighbour_states=[*SOUND["neighbour_states"], silent])
    way = went("10.2.0.5", seen)
    assert way.decider is None
    assert way.suspect is not None


def test_a_burst_below_the_longest_frame_is_a_suspect() -> None:
    way = went(FAR, frame(qdiscs=[host.qdisc("a0", "tbf", largest=600)]))
    assert way.decider is None
    assert way.suspect is not None
    assert "drops frames above 600 bytes" in way.suspect.saw
    assert went(FAR, frame(qdiscs=[host.qdisc("a0", "tbf", largest=1514)])).suspect is None


@pytest.mark.parametrize(
    ("limit", "to", "says"),
    [
        (1, ELSEWHERE, "1 (net.ipv4.ip_default_ttl): the first router drops them"),
        (3, ELSEWHERE, "3 (net.ipv4.ip_default_ttl): they pass 2 routers"),
        (1, FAR, None),  # no router is on the way
        (64, ELSEWHERE, None),
    ],
)
def test_a_small_ttl_ends_at_a_router(limit: int, to: str, says: str | None) -> None:
    way = went(to, frame(sysctls=[Sysctl("net.ipv4.ip_default_ttl", str(limit))]))
    step = way.decider or way.suspect
    assert (step and step.saw) == (says and f"packets leave with the TTL {says}")
    assert not step or step.change == "nettop set sysctl.net.ipv4.ip_default_ttl 64"


def test_a_small_hop_limit_ends_at_a_router() -> None:
    routes = [*SOUND["fib"], route("::/0", "a0", "fe80::9", source="fd00::1")]
    rules = [*SOUND["routing_rules"], *(replace(one, family=6) for one in SOUND["routing_rules"])]
    on = [host.switches("a0", hop_limit=1)]
    way = went("2001:db8::7", frame(fib=routes, routing_rules=rules, interface_sysctls=on))
    assert way.decider is not None
    assert way.decider.change == "nettop set sysctl.net.ipv6.conf.a0.hop_limit 64"


@pytest.mark.parametrize(("more", "doubt"), [
    ({"carrier": False}, True), ({"carrier": None}, False), ({}, False), ({"kind": "bridge"}, True),
])  # fmt: skip
def test_a_source_address_of_an_interface_behind_which_nothing_is_is_doubted(
    more: dict[str, Any], *, doubt: bool
) -> None:
    tables = {
        "links": [*others("links", "b0"), link("b0", 3, **more)],
        "fib": [*SOUND["fib"][:-1], route("0.0.0.0/0", "a0", host.GATEWAY, source="10.1.0.1")],
    }
    doubts = [one for one in went(ELSEWHERE, frame(**tables)).of(SUSPECT) if one.place == "source"]
    assert len(doubts) == doubt
    for one in doubts:
        assert one.saw.startswith("packets leave by a0 with the source address 10.1.0.1 of b0")
        assert one.change.startswith(f"give the route the source {host.NEAR}")
