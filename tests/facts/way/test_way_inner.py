"""What comes from other namespaces through this one: unanswered connections, and policies."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from way_tables import SOUND, frame, link, listener, route, switches

from nettop.collect import addresses, netns_links, routes, snmp, sysctls
from nettop.collect.link_stats import Row as Counters
from nettop.collect.namespaces import Row as Space
from nettop.collect.nft_hooks import Row as Hook
from nettop.collect.nftables import Row as Policy
from nettop.collect.socket_owners import Row as Owner
from nettop.facts.kinds.way import KIND, WayFact, build
from nettop.facts.way.trouble import asked
from nettop.frame.pairs import entries
from nettop.frame.rates import Frame

SEEN: Any = SimpleNamespace(more={}, flows=())
LINKS = [*SOUND["links"], link("br0", 4, kind="bridge"),
         link("v0", 5, master="br0", slave_kind="bridge", peer=2, port_state="forwarding"),
         link("tun0", 6, kind="vxlan", type=1)]  # fmt: skip
ROUTES = [
    routes.Row("172.17.0.0/16", "br0", 0, 254),
    routes.Row("10.9.1.0/24", "tun0", 0, 254, gateway="10.9.1.0"),
    routes.Row("0.0.0.0/0", "a0", 0, 254, gateway="10.0.0.254"),
]
FIB = [*SOUND["fib"], route("172.17.0.0/16", "br0", source="172.17.0.1"),
       route("10.9.1.0/24", "tun0", "10.9.1.0"),
       route("172.17.0.1/32", "br0", table=255, kind="local")]  # fmt: skip
OWN = [*SOUND["addresses"], addresses.Row("br0", "172.17.0.1", 16, 4, "global")]
ON = [switches(name, 1) for name in ("all", "a0", "b0", "br0", "tun0")]
FORWARD = Hook("ip", "filter", "FORWARD", "forward", 0, "filter", drops=True)


def waits(local: str = "172.17.0.2", **more: Any) -> Any:
    usual = {"namespace": 7, "remote": "192.0.2.7", "remote_port": 443, "state": "syn-sent",
             "total_retrans": 3, "inode": 71}  # fmt: skip
    return listener(local, 40000, **{**usual, **more})


def seen(*sockets: Any, **tables: Any) -> Frame:
    usual = {"links": LINKS, "routes": ROUTES, "fib": FIB, "addresses": OWN, "netns_tcp": sockets,
             "namespaces": [Space(7, "web", 3, 1)], "interface_sysctls": ON,
             "netns_links": [end(2, 5)]}  # fmt: skip
    return frame(**{**usual, **tables})


def end(index: int, peer: int | None) -> netns_links.Row:
    return netns_links.Row(7, "eth0", index, 0, 0, 0, 0, 0, 0, 0, 0, peer)


def facts(*sockets: Any, **tables: Any) -> list[WayFact]:
    return list(build(seen(*sockets, **tables), SEEN))


def test_the_way_of_what_a_container_sends_is_walked_here() -> None:
    (one,) = facts(waits(), interface_sysctls=[switches("all"), switches("br0")])
    assert one.decider == "this host does not forward ipv4 packets from br0"
    assert one.what == "the connection of a process in web to 192.0.2.7:443 gets no answer"
    assert (one.id, one.space, one.share) == ("192.0.2.7:443 from 172.17.0.2", "web", 1.0)
    assert one.asks == "192.0.2.7:443 --from 172.17.0.2%br0"
    assert KIND.target(one) == "192.0.2.7:443-from-172.17.0.2"


def test_what_one_thing_stops_is_told_once() -> None:
    two = waits(), waits(remote="192.0.2.8"), waits("172.17.0.3")
    (one,) = facts(*two, interface_sysctls=[switches("all"), switches("br0")])
    assert one.sockets == 2
    assert len(facts(*two)) == 2


def test_where_nothing_stops_it_what_was_passed_is_known() -> None:
    (one,) = facts(waits(), waits(state="established", total_retrans=0))
    assert (one.stops, one.share) == (False, 0.5)
    assert "route 0.0.0.0/0 via 10.0.0.254 dev a0" in one.passed


@pytest.mark.parametrize(
    ("socket", "tables"),
    [
        (waits(total_retrans=1), {}),  # one may be lost by chance
        (waits("10.0.0.9"), {}),  # no veth on that interface: another host of that name
        (waits("172.17.0.1"), {}),  # the address of this host
        (waits("198.51.100.9"), {}),  # behind a gateway
        (waits(), {"netns_links": [end(2, 9)]}),  # of a namespace inside another one
    ],
)
def test_what_does_not_enter_here_is_not_walked(socket: Any, tables: dict[str, Any]) -> None:
    assert facts(socket, **tables) == []
    assert asked(seen(socket, **tables), SEEN) == ()


def test_a_connection_that_gets_no_answer_any_more_is_one() -> None:
    open_ = waits(state="established", total_retrans=0)
    stuck: Any = SimpleNamespace(
        more={}, flows=[SimpleNamespace(protocol="tcp", namespace="web", inode=71, id="f",
                                        window=65535, mss=1448, lost=1, send_q=1, tx_per_s=0.0,
                                        probes=0, backoff=3)])  # fmt: skip
    (one,) = build(seen(open_), stuck)
    assert one.what.endswith("gets no answer any more")
    assert (one.stops, one.asks, one.explains[0]) == (False, "192.0.2.7:443", "f")


def test_a_pod_behind_a_veth_meets_the_blackhole_that_covers_its_service() -> None:
    pod, service = "10.42.17.5", "10.43.0.0/23"
    more: dict[str, Any] = {
        "links": [*LINKS, link("cali1", 7, peer=2)], "netns_links": [end(2, 7)],
        "routes": [routes.Row(f"{pod}/32", "cali1", 0, 254), *ROUTES],
        "fib": [*FIB, route(f"{pod}/32", "cali1"), route(service, None, kind="blackhole"),
                route("10.42.17.0/26", None, kind="blackhole")],
        "interface_sysctls": [*ON, switches("cali1", 1)],
    }  # fmt: skip
    (one,) = facts(waits(pod, remote="10.43.0.1"), **more)
    assert (one.decider, one.asks) == (
        "route 10.43.0.0/23 is a blackhole", "10.43.0.1:443 --from 10.42.17.5%cali1"
    )  # fmt: skip
    assert facts(**more) == []  # a node has such routes by purpose


CALLS = sysctls.Row("net.bridge.bridge-nf-call-iptables", "0")


def test_a_published_port_whose_client_is_on_the_same_bridge_is_a_doubt() -> None:
    asks = waits(remote="10.0.0.1", remote_port=80)
    (one,) = facts(asks, sysctls=[CALLS], socket_owners=[Owner(70, 7, "docker-proxy")])
    assert one.decider.startswith("10.0.0.1:80 is a published port (docker-proxy[7])")
    assert one.change == "nettop set sysctl.net.bridge.bridge-nf-call-iptables 1"
    assert [one.stops for one in facts(asks, sysctls=[CALLS])] == [False]
    on = sysctls.Row(CALLS.name, "1")
    assert not facts(asks, sysctls=[on], socket_owners=[Owner(70, 7, "docker-proxy")])[0].stops


TWICE = [*FIB, route("0.0.0.0/0", "a0", "10.0.0.254", metric=100, source="10.0.0.9")]
SECOND = addresses.Row("a0", "10.0.0.9", 24, 4, "global")


def test_an_interface_that_is_configured_twice_is_a_doubt() -> None:
    (one,) = facts(waits(), fib=TWICE, addresses=[*OWN, SECOND])
    assert one.decider.startswith("a0 is configured twice, as by a file and by DHCP: it has 10.0.0")
    assert "ip addr del 10.0.0.9/24 dev a0" in one.change
    assert facts(waits(), addresses=[*OWN, SECOND])[0].place == "masked"  # it moves between hosts
    assert facts(waits(), fib=TWICE)[0].place == "masked"


@pytest.mark.parametrize(("mode", "stops"), [(0, False), (1, True)])
def test_two_ports_in_one_network_lose_answers_at_a_strict_filter(mode: int, stops: bool) -> None:
    two = [*FIB, route("0.0.0.0/0", "b0", "10.0.0.254", metric=600)]
    own = [*OWN, addresses.Row("b0", "10.0.0.9", 24, 4, "global")]
    on = [switches(name, 1, mode) for name in ("all", "a0", "b0", "br0")]
    ways = facts(waits(), fib=two, addresses=own, interface_sysctls=on)
    assert [one.place == "twice" for one in ways] == [stops]


def test_a_bridge_that_takes_the_address_of_another_port_is_a_doubt() -> None:
    lent = [replace(one, address="02:00:00:00:00:0" + "31"[one.interface == "a0"]) for one in LINKS]
    same = seen(waits(), links=lent)
    assert [one.place for one in build(same, SEEN)] == ["masked"]
    before = [replace(one, address="02:00:00:00:00:04") for one in lent]
    moved = entries(lent, entries(before, (), 1.0), 1.0)
    (one,) = build(Frame(0.0, 1.0, {**same.tables, "links": moved}, same.missing), SEEN)
    assert one.decider.startswith(
        "the hardware address of br0 changed from 02:00:00:00:00:04 to 02:00:00:00:00:03"
    )


def counted(rate: int = 1, **tables: Any) -> list[WayFact]:
    """The policy of FORWARD drops so many packets a second."""
    taken = seen(**{"nft_hooks": [FORWARD], **tables})
    policy = [Policy("ip", "filter", "FORWARD", "policy", "forward", packets=at)
              for at in (1000 + 10 * rate, 1000)]  # fmt: skip
    moved = entries(policy[:1], entries(policy[1:], (), 1.0), 10.0)
    return list(build(Frame(0.0, 10.0, {**taken.tables, "nftables": moved}, taken.missing), SEEN))


def test_a_policy_that_drops_what_other_nodes_send_is_told() -> None:
    found = {one.id: one for one in counted()}
    inwards, outwards = found["172.17.0.2"], found["192.0.2.1"]
    assert inwards.decider.startswith("the policy of chain FORWARD")
    assert inwards.change == 'nft add rule ip filter FORWARD iifname "tun0" accept'
    assert (inwards.meant, outwards.meant) == (False, True)
    assert counted(0) == []
    other = replace(FORWARD, chain="other")
    accepts = replace(FORWARD, drops=False)
    ways = counted(nft_hooks=[accepts, other])  # that policy drops it, and its counter is at rest
    assert [one.stops for one in ways] == [False, False]


def test_a_router_without_namespaces_drops_on_purpose() -> None:
    assert counted(links=LINKS[:3]) == []


def foreign(rate: int, received: int) -> list[WayFact]:
    off = [switches("all"), switches("br0")]
    taken = seen(interface_sysctls=off)
    none: dict[str, Any] = dict.fromkeys(snmp.Row.__dataclass_fields__)
    rows = [snmp.Row(**{**none, "ip_foreign": at}) for at in (100 + 10 * rate, 100)]
    zero: dict[str, Any] = dict.fromkeys(Counters.__dataclass_fields__, 0)
    links = [Counters(**{**zero, "interface": "br0", "index": 4, "rx_packets": at})
             for at in (100 + 10 * received, 100)]  # fmt: skip
    moved: dict[str, Any] = {"snmp": entries(rows[:1], entries(rows[1:], (), 1.0), 10.0),
             "link_stats": entries(links[:1], entries(links[1:], (), 1.0), 10.0)}  # fmt: skip
    return list(build(Frame(0.0, 10.0, {**taken.tables, **moved}, taken.missing), SEEN))


def test_packets_for_others_of_a_bridge_from_which_nothing_is_forwarded() -> None:
    (one,) = foreign(3, 6)
    assert one.decider == "this host does not forward ipv4 packets from br0"
    assert one.what == "3 pps arrive for other hosts"
    assert not one.meant
    assert foreign(0, 6) == []
    assert foreign(6, 3) == []  # others send them
