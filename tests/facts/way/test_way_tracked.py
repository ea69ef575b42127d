"""Entries of connection tracking: a client beside the server, and an older translation."""

from dataclasses import replace
from ipaddress import ip_address
from types import SimpleNamespace
from typing import Any

import pytest
from folded import folded
from way_tables import FAR, NEAR, SOUND, frame, link, route, switches, went

from nettop.collect import neighbour_states, sockets_tcp, sysctls
from nettop.collect.nft_hooks import Row as Hook
from nettop.collect.nft_rules import Row as Rule
from nettop.collect.translated import Row as Entry
from nettop.facts.kinds.way import WayFact, build
from nettop.facts.way import HIDDEN, Way
from nettop.frame.rates import Frame

SEEN: Any = SimpleNamespace(more={}, flows=())
CLIENT = "10.0.0.3"  # beside FAR, on a0
OUTSIDE = "198.51.100.1"  # an address that rules translate to FAR
TO_FAR = (("immediate", 1, "0a000002"), ("immediate", 2, "1f90"), ("nat", 1, 1, 2))
DNAT = Rule("ip", "nat", "pre", 3, TO_FAR)
HOOKS = [Hook("ip", "nat", "pre", "prerouting", -100, "nat", drops=False),
         Hook("ip", "nat", "post", "postrouting", 100, "nat", drops=False)]  # fmt: skip
MASQUERADE = Rule("ip", "nat", "post", 4, (("masq",),))
OF_A_SET = Rule("ip", "nat", "post", 4, (("lookup", "s", 1), ("masq",)))


def entry(origin: str = CLIENT, to: str = FAR, **more: Any) -> Entry:
    usual = {"sent_port": 8080, "returns_to": origin, "answered": False, "origin_port": 41000}
    return Entry("tcp", origin=origin, to=OUTSIDE, port=80, sent_to=to, **{**usual, **more})


def seen(*entries: Entry, rules: tuple[Rule, ...] = (DNAT,), **tables: Any) -> Frame:
    on = [switches("all", 1), switches("a0", 1), switches("b0", 1)]
    here = neighbour_states.Row("a0", FAR, 4, "reachable", "02:00:00:00:00:02")
    usual = {"interface_sysctls": on, "nft_hooks": HOOKS, "nft_rules": rules,
             "translated": entries, "neighbour_states": [here]}  # fmt: skip
    return frame(**{**usual, **tables})


def asked(*entries: Entry, origin: str = CLIENT, **more: Any) -> Way:
    return went(OUTSIDE, seen(*entries, **more), port=80, origin=origin)


def test_an_answer_within_the_network_of_the_client_does_not_come_back() -> None:
    step = asked().suspect
    assert step is not None
    assert step.saw.startswith(f"{FAR} answers {CLIENT} directly, for both are in 10.0.0.0/24")
    assert step.saw.endswith(f"{CLIENT}, which asked {OUTSIDE}, ignores it")
    assert "oifname a0 masquerade" in step.change


def test_it_is_what_stops_a_flow_of_which_tracking_saw_no_answer() -> None:
    way = asked(entry())
    assert way.decider is not None
    assert (way.decider.place, way.headline.split(":")[0]) == ("hairpin", OUTSIDE)


BRIDGE = [link("lo", 1, type=772, kind=""), link("a0", 2, kind="bridge"), link("b0", 3)]
ROUTED = [link("lo", 1, type=772, kind=""), link("a0", 2, kind="tun", noarp=True), link("b0", 3)]
CALLS = [sysctls.Row("net.bridge.bridge-nf-call-iptables", "1")]


@pytest.mark.parametrize(
    "more",
    [
        {"rules": (DNAT, MASQUERADE)}, {"rules": (DNAT, OF_A_SET)}, {"links": ROUTED},
        {"links": BRIDGE, "sysctls": CALLS}, {"origin": "10.1.0.7"},
    ],
)  # fmt: skip
def test_an_answer_by_this_host_is_translated_back(more: Any) -> None:
    way = asked(**more)
    assert not [one for one in way.steps if one.place == "hairpin"]


@pytest.mark.parametrize("known", [{"answered": True}, {"returns_to": NEAR}])
def test_tracking_that_saw_an_answer_or_another_source_is_believed(known: Any) -> None:
    assert asked(entry(**known)).suspect is None


def test_an_entry_tells_what_a_rule_of_iptables_does() -> None:
    target = Rule("ip", "nat", "pre", 3, (("match", "x"), ("target", "x")))
    masks = Rule("ip", "nat", "post", 4, (("target", "x"),))
    for rules in ((), (target,), (target, masks)):
        way = asked(entry(), rules=rules)
        assert way.decider is not None
        assert way.decider.place == "hairpin"
    assert asked(rules=(DNAT, masks)).suspect is None


def facts(*entries: Entry, **more: Any) -> list[tuple[str, bool]]:
    return [(one.id, one.stops) for one in build(seen(*entries, **more), SEEN)]


def test_connections_without_an_answer_are_found() -> None:
    two = entry(), entry(origin_port=41001)
    assert facts(*two) == [(f"{OUTSIDE}:80", True)]
    assert facts(entry()) == []
    assert facts(*two, rules=(DNAT, MASQUERADE)) == [(f"{OUTSIDE}:80", False)]


def test_a_dead_server_behind_a_translation_is_no_finding_of_this_host() -> None:
    two = (entry("10.1.0.7", origin_port=port) for port in (1, 2))
    assert facts(*two) == []


def test_an_entry_that_is_older_than_the_rule_is_told() -> None:
    way = asked(entry("10.1.0.7", to="10.0.0.9", answered=True), origin="10.1.0.7")
    assert way.suspect is not None
    assert way.suspect.saw == (
        "an entry of connection tracking still sends those of 10.1.0.7:41000 to 10.0.0.9:8080, "
        f"and not to {FAR}:8080"
    )
    assert way.suspect.change == f"conntrack -D -p tcp -s 10.1.0.7 -d {OUTSIDE} --dport 80"
    new = asked(entry("10.1.0.7", answered=True), origin="10.1.0.7")
    assert new.suspect is None


ABROAD = "198.51.100.9"


def named(name: bytes = b"eth9".ljust(16, b"\0")) -> tuple[Any, ...]:
    return ("meta", 7, 1), ("cmp", 1, 0, name.hex())


FOR_GONE = Rule("ip", "nat", "post", 4, (*named(), ("masq",)))
FOR_OTHER = replace(FOR_GONE, does=(*named(b"b0".ljust(16, b"\0")), ("masq",)))
FOR_ALL = Rule("ip", "nat", "post", 5, (("masq",),))


def outward(
    *rules: Rule, routes: tuple[Any, ...] = (), clients: tuple[str, ...] = ("10.1.0.7",),
    **more: Any,
) -> list[WayFact]:  # fmt: skip
    """Of two connections of each client on b0 to a host that the default route by a0 leads to."""
    usual = {"to": ABROAD, "port": 443, "sent_to": ABROAD, "sent_port": 443, "returns_to": INNER}
    rows = [Entry("tcp", client, number, **{**usual, "answered": False, **more})
            for number in (1, 2) for client in clients]  # fmt: skip
    known = {"fib": [*routes, *SOUND["fib"]]}
    return list(build(seen(*rows, rules=rules, **known), SEEN))


INNER = "10.1.0.7"


def test_a_private_address_that_no_rule_translates_is_told() -> None:
    (one,) = outward(FOR_OTHER)
    assert one.decider == (
        f"the private source address {INNER} leaves by a0 as it is: no rule of this host "
        "translates it, and rule of handle 4 in chain post (ip nat) is for what leaves by b0"
    )
    assert one.change == 'nft add rule ip nat post oifname "a0" masquerade'


@folded(("rules", "to", "routes"), [
    ((FOR_GONE,), ABROAD, ()),
    ((replace(FOR_GONE, does=(*named(b"eth9\0"), ("masq",))),), ABROAD, ()),  # by iptables
    ((replace(FOR_GONE, does=(*named(b"eth9\0"), ("nat", 0))),), ABROAD, ()),  # SNAT
    ((FOR_OTHER, FOR_GONE), "10.2.0.9", ()),  # both are private
    ((FOR_GONE,), "10.0.0.9", ()),  # a server beside the router
    ((FOR_GONE,), ABROAD, (route("198.51.100.0/24", "a0", "10.0.0.254"),)),
    ((replace(FOR_GONE, chain="out", does=(("masq",),)),
      replace(FOR_GONE, does=(*named(), ("immediate", 0, "-3:out")))), ABROAD, ()),
])  # fmt: skip
def test_a_rule_that_translates_what_leaves_by_an_absent_interface_is_told(
    rules: Any, to: str, routes: Any
) -> None:
    (one,) = outward(*rules, to=to, sent_to=to, routes=routes)
    assert one.stops
    assert "translates the source of what leaves by eth9, which this host does not have" in (
        one.decider
    )
    assert one.decider.endswith("; packets leave by a0 with their own source")
    assert one.change.startswith("correct eth9 to a0 in that rule, or nft add rule ip nat ")


def test_all_clients_whose_source_is_not_translated_are_one_finding() -> None:
    two = outward(FOR_GONE, clients=(INNER, "10.1.0.8"), to="10.2.0.9", sent_to="10.2.0.9")
    assert [one.stops for one in two] == [True]


@pytest.mark.parametrize(("rules", "more"), [
    ((FOR_OTHER, FOR_ALL), {}),  # it is translated
    ((FOR_GONE, FOR_ALL), {}),
    ((), {"routes": (route("198.51.100.0/24", "a0", "10.0.0.254"),)}),
    ((replace(FOR_GONE, does=(*named(b"eth"), ("masq",))),), {"to": "10.2.0.9"}),  # of several
    ((FOR_OTHER,), {"to": "10.2.0.9"}),  # both are private
    ((FOR_OTHER,), {"routes": (route("198.51.100.0/24", "a0", "10.0.0.254"),)}),  # a partner
])  # fmt: skip
def test_a_private_address_is_no_trouble_where_others_may_know_it(rules: Any, more: Any) -> None:
    assert not [one for one in outward(*rules, **more) if one.stops]


def test_connections_of_a_private_source_without_an_answer_are_told_without_a_rule_too() -> None:
    """Not where an answer from elsewhere shows that another router translates."""
    (one,) = outward()
    assert one.stops
    assert one.decider.endswith(
        f"as it is: no rule of this host translates it, and 2 connections of it to {ABROAD} get no "
        "answer: who is asked there may have no route back to 10.1.0.0/24, or drop private sources"
    )
    assert one.change.startswith(
        "iptables -t nat -A POSTROUTING -s 10.1.0.0/24 -o a0 -j MASQUERADE"
    )
    silent = [Entry("tcp", INNER, port, ABROAD, 443, ABROAD, 443, INNER, answered=False)
              for port in (1, 2)]  # fmt: skip
    other = "198.51.100.7"
    opened = Entry("tcp", INNER, 9, other, 443, other, 443, INNER, answered=True)
    assert facts(*silent, opened, rules=()) == [(f"{ABROAD}:443", False)]


@pytest.mark.parametrize("to", [ABROAD, "10.0.0.9"])
def test_sockets_of_a_container_that_repeat_their_syn_tell_it_without_tracking(to: str) -> None:
    blank: dict[str, Any] = dict.fromkeys(sockets_tcp.Row.__dataclass_fields__)
    row = sockets_tcp.Row(**{**blank, "inode": 70, "local": INNER, "local_port": 1, "remote": to,
                             "remote_port": 443, "state": "syn-sent", "total_retrans": 3,
                             "namespace": 4})  # fmt: skip
    way = went(to, seen(rules=(), netns_tcp=[row]), port=443, origin=INNER)
    assert way.suspect is not None
    assert "1 connection of it to" in way.suspect.saw
    (doubt,) = [one for one in went(to, seen(rules=()), port=443, origin=INNER).of(HIDDEN)
                if one.place == "masked"]  # fmt: skip
    assert doubt.saw.startswith(f"whether {to} has a way back to 10.1.0.0/24: the private source ")


@pytest.mark.parametrize(("source", "suspect", "hidden"), [
    ("10.0.0.77", True, False), (NEAR, False, False), ("203.0.113.5", False, True),
])  # fmt: skip
def test_a_source_that_is_no_address_of_this_host_is_told_with_its_rule(
    source: str, suspect: bool, hidden: bool
) -> None:
    raw = ip_address(source).packed.hex()
    snat = Rule("ip", "nat", "post", 6, (("immediate", 1, raw), ("nat", 0, 1)))
    way = went(ABROAD, seen(rules=(snat,)), port=443, origin=INNER)
    said = f"gives the packets the source {source}, which no interface of this host has"
    assert bool(way.suspect and said in way.suspect.saw) is suspect
    assert any(said in one.saw for one in way.of(HIDDEN)) is hidden
    told = outward(snat, returns_to=source)
    assert [one.stops for one in told] == ([True] if source != NEAR else [])
