"""A gateway that answers nobody, while another way to the same place stands unused."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from way_tables import GATEWAY, SOUND, answer, frame, listener, route, rule, went

from nettop.collect import neighbour_states, socket_owners
from nettop.collect.failed_calls import Row as Call
from nettop.collect.nft_hooks import Row as Hook
from nettop.collect.nft_rules import Row as Rule
from nettop.facts.kinds.way import WayFact, build
from nettop.facts.way import Way

ELSEWHERE, OTHER, MUTE = "198.51.100.7", "198.51.100.8", "10.1.0.7"
USER, PID = 3333, 7
FOR_USER = [*SOUND["routing_rules"], rule(90, 77, users=(USER, USER))]
TABLE = [*SOUND["fib"], route("0.0.0.0/0", "b0", MUTE, table=77)]


def call(pid: int = PID, error: str = "GIVEN_UP", to: str = ELSEWHERE) -> Call:
    return Call("connection", error, address=to, pid=pid, where="here", port="443", process="app",
                events=9)  # fmt: skip


def waits(uid: int = USER, to: str = ELSEWHERE, **more: Any) -> Any:
    known = {"state": "syn-sent", "remote": to, "remote_port": 443, "uid": uid, "total_retrans": 2,
             "inode": 71, **more}  # fmt: skip
    return replace(listener("10.0.0.1", 4000), **known)


def fact(*calls: Call, **tables: Any) -> WayFact:
    seen: Any = SimpleNamespace(more={}, flows=())
    (one,) = build(frame(failed_calls=calls, **tables), seen)
    return one


def of_user(*calls: Call, sockets: Any = ()) -> WayFact:
    owners = [socket_owners.Row(71, PID, "app")]
    return fact(
        *calls, fib=TABLE, routing_rules=FOR_USER, socket_owners=owners,
        sockets_tcp=[waits(), *sockets],
    )  # fmt: skip


def test_a_rule_for_the_user_of_the_failing_program_is_the_suspect() -> None:
    one = of_user(call(), call(8, "0"))
    assert one.decider == (
        "rule 90 from all users 3333-3333 leads these packets to table 77, via 10.1.0.7 dev b0, by "
        "which no answer comes; without it they go via 10.0.0.254 dev a0, by which others are "
        "answered"
    )
    assert one.share == 1.0  # what others open there says nothing of this user
    assert one.asks == f"{ELSEWHERE}:443 --user 3333"
    assert "ip rule del priority 90" in one.change


def test_a_gateway_by_which_others_are_answered_is_no_suspect() -> None:
    answered = waits(to=OTHER, state="established", inode=72, backoff=0)
    assert not of_user(call(), sockets=[answered]).stops
    assert not of_user(call(), call(error="0", to=OTHER)).stops


def test_a_program_of_another_user_goes_another_way() -> None:
    one = fact(call(), fib=TABLE, routing_rules=FOR_USER, sockets_tcp=[waits(0)])
    assert not one.stops


SIX, ROUTER, ROGUE = "2001:db8:9::9", "fe80::1", "fe80::6"


def by_router(gateway: str, preference: str = "") -> Any:
    known = {"advertised": True, "preference": preference, "lasts": 1790, "metric": 1024}
    return route("::/0", "a0", gateway, **known)


@pytest.fixture
def routers() -> dict[str, Any]:
    said = answer(SIX, kind="unicast", interface="a0", gateway=ROGUE, network="::/0", table=254,
                  address="2001:db8:1::1")  # fmt: skip
    near = neighbour_states.Row("a0", ROGUE, 6, "reachable", "02:00:00:00:00:06")
    return {
        "fib": [*SOUND["fib"], by_router(ROUTER), by_router(ROGUE, "high")],
        "ways": [replace(said, port=443)],
        "neighbour_states": [*SOUND["neighbour_states"], near],
    }


def test_the_preferred_of_two_routers_that_answers_nobody_is_the_suspect(routers: Any) -> None:
    one = fact(call(to=SIX), **routers)
    assert one.decider == (
        "the route default via fe80::6 dev a0 (by a router advertisement, for 1,790 more seconds, "
        "preference high) is taken, by which no answer comes; the one via fe80::1 dev a0 (by a "
        "router advertisement, for 1,790 more seconds, preference medium) is not used"
    )
    assert "accept_ra_rtr_pref=0" in one.change


def test_without_a_failure_no_route_is_suspected(routers: Any) -> None:
    way: Way = went(SIX, frame(**routers), port=443)
    assert (way.decider, way.suspect) == (None, None)


def test_hops_of_one_route_share_the_flows() -> None:
    hops = [route("0.0.0.0/0", "b0", MUTE, hop=1)]
    one = fact(call(), fib=[*SOUND["fib"], *hops], sockets_tcp=[waits(0)])
    assert not one.stops


def test_a_route_of_lower_metric_that_answers_nobody() -> None:
    spare = route("0.0.0.0/0", "b0", MUTE, metric=200)
    one = fact(call(), fib=[*SOUND["fib"], spare], sockets_tcp=[waits(0)])
    assert one.decider.startswith(f"the route default via {GATEWAY} dev a0 is taken, by which no")
    down = fact(call(), fib=[*SOUND["fib"], replace(spare, dead=True)], sockets_tcp=[waits(0)])
    assert not down.stops


def test_a_rule_for_the_address_to_which_a_socket_is_bound_is_the_suspect() -> None:
    rules = [*SOUND["routing_rules"], rule(90, 77, source="10.1.0.1/32")]
    bound = waits(0, local="10.1.0.1")
    one = fact(call(), fib=TABLE, routing_rules=rules, sockets_tcp=[bound])
    assert one.decider.startswith(
        "rule 90 from 10.1.0.1/32 leads these packets to table 77, via 10.1.0.7 dev b0"
    )
    assert one.asks == f"{ELSEWHERE}:443 --from 10.1.0.1"
    free = fact(call(), fib=TABLE, routing_rules=rules, sockets_tcp=[waits(0)])
    assert not free.stops


def test_a_rule_that_only_the_kernel_evaluates_is_known_by_the_table_of_its_answer() -> None:
    rules = [*SOUND["routing_rules"], rule(90, 77, more=True)]
    said = answer(ELSEWHERE, kind="unicast", interface="b0", gateway=MUTE, network="0.0.0.0/0",
                  table=77, address="10.1.0.1")  # fmt: skip
    answers = [replace(said, port=443, source=source) for source in ("", "10.1.0.1")]
    one = fact(call(), fib=TABLE, routing_rules=rules, ways=answers)
    assert one.decider.startswith("rule 90 from all, for some of its packets, leads these")
    heard = fact(call(), call(8, "0"), fib=TABLE, routing_rules=rules, ways=answers)
    assert not heard.stops


STRANGE = [*SOUND["fib"][:-1], route("0.0.0.0/0", "a0", GATEWAY, source="10.1.0.1", metric=7)]


def from_there(*calls: Call, waiting: Any = (), **tables: Any) -> Any:
    """The step about a source address of b0, of packets that leave by a0."""
    seen = frame(failed_calls=calls, sockets_tcp=waiting, **{"fib": STRANGE, **tables})
    return went(ELSEWHERE, seen, port=443).suspect


def test_a_source_address_of_another_interface_is_doubted_where_no_answer_comes() -> None:
    one = from_there(call())
    assert one.saw == (
        "packets leave by a0 with the source address 10.1.0.1 of b0: who answers may have no way "
        "back to it"
    )
    assert one.change == (
        "give the route the source 10.0.0.1 (ip route change 0.0.0.0/0 via 10.0.0.254 dev a0 "
        "metric 7 src 10.0.0.1); or give the other end a way to 10.1.0.1"
    )
    assert from_there() is None  # nothing is in trouble
    assert from_there(call(), call(error="0", to=OTHER)) is None  # others are answered there
    answered = waits(to=OTHER, state="established", local="10.1.0.1", total_retrans=0)
    assert from_there(call(), waiting=[answered]) is None
    assert from_there(call(), waiting=[replace(answered, local="10.0.0.1")]) == one


def test_a_program_that_binds_such_an_address_is_told_so() -> None:
    one = from_there(waiting=[waits(local="10.1.0.1")], fib=SOUND["fib"])
    assert one.change.startswith("let the program bind to 10.0.0.1, or to no address; or give the")


def test_a_source_address_is_not_doubted_where_it_is_translated_or_none_else_is_there() -> None:
    hooks = [Hook("ip", "t", "c", "postrouting", 100, "nat", drops=False)]
    masks = [Rule("ip", "t", "c", 2, (("masq",),))]
    assert from_there(call(), nft_hooks=hooks, nft_rules=masks) is None
    unnumbered = [one for one in SOUND["addresses"] if one.interface != "a0"]
    assert from_there(call(), addresses=unnumbered) is None
