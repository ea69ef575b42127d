"""Answers that leave by another interface than that on which the packets arrive."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from folded import folded
from way_tables import FAR, GATEWAY, NEAR, SOUND, answer, frame, link, listener, route, rule, went

from nettop.collect import addresses, half_open, snmp
from nettop.collect.neighbour_states import Row as Neighbour
from nettop.facts.kinds.way import WayFact, build
from nettop.facts.way import HIDDEN, SUSPECT, Step
from nettop.frame.pairs import entries

CLIENT = "10.9.0.7"
ASIDE = route("0.0.0.0/0", "b0", "10.1.0.254", table=100)
RULES = [rule(100, 100, source=f"{NEAR}/32"), *SOUND["routing_rules"]]
AWAY = {"fib": [*SOUND["fib"], ASIDE], "routing_rules": RULES}


def waits(count: int = 3, client: str = CLIENT) -> half_open.Row:
    return half_open.Row(NEAR, 80, count, unheard=count, client=client)


def served(remote: str) -> list[Any]:
    """The listening socket, and 27 connections to it."""
    opened = [
        listener(NEAR, 80, cookie=number, remote=remote, remote_port=4000 + number,
                 state="established") for number in range(27)
    ]  # fmt: skip
    return [listener(NEAR, 80), *opened]


def aside(**changed: Any) -> list[Step]:
    way = went(NEAR, frame(**changed), port=80, origin=CLIENT, arrives="a0")
    return [one for one in way.steps if one.place == "answers"]


def facts(**changed: Any) -> list[WayFact]:
    known: Any = SimpleNamespace(more={"attempt": ()}, flows=())
    return [one for one in build(frame(**changed), known) if one.stops]


def test_the_rule_and_the_table_that_send_answers_elsewhere_are_named() -> None:
    (step,) = aside(**AWAY)
    assert step.saw == (
        "10.0.0.1 is an address of a0, and its answers to 10.9.0.7 leave by b0 "
        "(rule 100 from 10.0.0.1/32, table 100)"
    )
    assert step.outcome == HIDDEN  # it may be so on purpose
    assert step.change == (
        "ip route replace default via GATEWAY dev a0 table 100; or ip rule del priority 100"
    )


def test_an_address_of_another_interface() -> None:
    on = [one for one in SOUND["addresses"] if one.address != NEAR]
    vip = addresses.Row("lo", NEAR, 32, 4, "global")
    (step,) = aside(**AWAY, addresses=[*on, vip])
    assert step.saw.startswith("what 10.9.0.7 sends to 10.0.0.1 arrives on a0, and is answered on")


def test_it_is_a_doubt_where_answers_are_repeated() -> None:
    (step,) = aside(**AWAY, half_open=[waits()])
    assert step.outcome == SUSPECT


def test_a_default_route_by_another_interface() -> None:
    fib = [*SOUND["fib"][:-1], route("0.0.0.0/0", "b0", "10.1.0.254")]
    (step,) = aside(fib=fib)
    assert step.saw.endswith("leave by b0 (route 0.0.0.0/0)")
    assert step.change.endswith("; ip rule add from 10.0.0.1 lookup T")


def test_answers_by_the_same_interface_are_right() -> None:
    assert aside() == []
    hops = [route("0.0.0.0/0", name, f"10.{n}.0.254", hop=n) for n, name in enumerate(("a0", "b0"))]
    by_hash = answer(CLIENT, source=NEAR, kind="unicast", interface="b0", network="0.0.0.0/0")
    assert aside(fib=[*SOUND["fib"][:-1], *hops], ways=[by_hash]) == []
    vrf = link("a0", 2, master="red", slave_kind="vrf")
    assert aside(**AWAY, links=[SOUND["links"][0], vrf, SOUND["links"][2]]) == []


def test_connections_that_do_not_open_are_in_trouble() -> None:
    (one,) = facts(**AWAY, half_open=[waits()])
    assert f"{one.decider}: {one.what}" == (
        "10.0.0.1 is an address of a0, and its answers to 10.9.0.7 leave by b0 (rule 100 from "
        "10.0.0.1/32, table 100): the SYN-ACKs of 3 connections to 10.0.0.1:80, most from "
        "10.9.0.7, are repeated without an answer"
    )
    assert (one.id, one.asks, one.sockets, one.share) == (
        "10.0.0.1:80", "10.0.0.1:80 --from 10.9.0.7%a0", 3, 1.0,
    )  # fmt: skip


EMPTY = {"fib": [*SOUND["fib"][:-1], route("0.0.0.0/0", "b0", "10.1.0.254")],
         "routing_rules": RULES}  # fmt: skip
IS_EMPTY = "(route 0.0.0.0/0; rule 100 from 10.0.0.1/32 leads to table 100, which is empty)"


def test_a_rule_whose_table_lost_its_routes_is_named() -> None:
    (one,) = facts(**EMPTY, half_open=[waits()])
    assert one.decider == (
        f"10.0.0.1 is an address of a0, and its answers to 10.9.0.7 leave by b0 {IS_EMPTY}"
    )
    assert one.change == (
        "ip route replace default via GATEWAY dev a0 table 100, and let what sets the routes of "
        "a0 do so each time that it comes up"
    )
    (step,) = aside(**EMPTY)  # also before a client comes
    assert step.outcome == SUSPECT


@folded(("more", "said"), [
    (EMPTY, IS_EMPTY),
    ({**EMPTY, "routing_rules": SOUND["routing_rules"]}, ""),  # nothing leads to a0
    ({**EMPTY, "routing_rules": SOUND["routing_rules"], "half_open": [waits()]},
     "(route 0.0.0.0/0)"),
    ({**EMPTY, "routing_rules": [rule(100, 100), *RULES[1:]]}, ""),  # for all packets: a VPN is off
    ({**EMPTY, "routing_rules": [rule(100, 100, source="10.7.0.1/32"), *RULES[1:]]}, ""),
    ({**EMPTY, "fib": SOUND["fib"]}, ""),  # leaves by a0 all the same
    (AWAY, ""),
])  # fmt: skip
def test_what_this_host_sends_from_an_address_of_another_interface(
    more: dict[str, Any], said: str
) -> None:
    way = went(CLIENT, frame(**more), port=443, origin=NEAR)
    told = [one.saw for one in way.steps if one.outcome == SUSPECT]
    begins = "10.0.0.1 is an address of a0, and what it sends to 10.9.0.7 leaves by b0 "
    assert told == ([begins + said] if said else [])


def test_others_that_are_answered_the_same_way_tell_that_it_works() -> None:
    (one,) = facts(**AWAY, half_open=[waits()], sockets_tcp=served(CLIENT))
    assert one.share == 0.1
    to = [*SOUND["fib"], route("10.9.0.0/24", "b0", "10.1.0.254")]  # of this client alone
    (one,) = facts(fib=to, half_open=[waits()], sockets_tcp=served("10.8.0.7"))
    assert one.share == 1.0


def test_clients_that_are_gone_are_no_trouble_of_this_host() -> None:
    assert facts(half_open=[waits(90)]) == []
    assert facts(**AWAY, half_open=[waits(1)]) == []
    assert facts(fib=AWAY["fib"], half_open=[waits(client=FAR)]) == []


def test_a_loopback_address_is_none() -> None:
    lo = half_open.Row("127.0.0.1", 80, 9, unheard=9, client="127.0.0.1")
    assert facts(**AWAY, half_open=[lo]) == []


@pytest.mark.parametrize(("dropped", "full", "named"), [
    (0, 0, [True]),
    (50, 50, [True]),  # an accept queue is full: its clients are real
    (50, 0, []),  # a flood of SYNs: clients of forged addresses never answer
])  # fmt: skip
def test_the_entry_of_a_client_is_no_cause_while_syns_flood(
    dropped: int, full: int, named: list[bool]
) -> None:
    def counted(drops: int, overflows: int) -> list[Any]:
        return [replace(snmp.row({}), listen_drops=drops, listen_overflows=overflows)]

    wrong = [Neighbour("a0", FAR, 4, "permanent", "02:00:00:00:00:99")]
    seen = frame(half_open=[waits(client=FAR)], neighbour_states=wrong)
    rates = entries(counted(dropped, full), entries(counted(0, 0), (), 0.0), 1.0)
    seen = replace(seen, tables={**seen.tables, "snmp": rates})
    known: Any = SimpleNamespace(more={"attempt": ()}, flows=())
    assert [one.stops for one in build(seen, known) if one.stops] == named


GATE = {"fib": [*SOUND["fib"], route("0.0.0.0/0", "a0", GATEWAY, table=100)],
        "routing_rules": RULES}  # fmt: skip


def test_answers_to_a_neighbour_that_a_table_leads_to_a_gateway() -> None:
    """Its table has the default route and not that of the network."""
    (one,) = facts(**GATE, half_open=[waits(client=FAR)])
    assert one.decider == (
        f"{FAR} is in 10.0.0.0/24 on a0, and its answers go to {GATEWAY} instead: rule 100 from "
        "10.0.0.1/32 leads to table 100, which has no route to that network"
    )
    assert one.change == "ip route add 10.0.0.0/24 dev a0 table 100"
    there = [*GATE["fib"], route("10.0.0.0/24", "a0", table=100)]
    assert not facts(**{**GATE, "fib": there}, half_open=[waits(client=FAR)])
    assert not facts(**GATE, half_open=[])
