"""Rules of policy routing on the way out: by user, protocol and port, mark, and prefix length."""

from types import SimpleNamespace
from typing import Any

import pytest
from way_filters import ACCEPT, PORT80, ruled
from way_tables import FAR, NEAR, SOUND, frame, listener, route, rule, went

from nettop.collect import neighbour_states
from nettop.collect.drop_reasons import Row as Drop
from nettop.collect.failed_calls import Row as Call
from nettop.collect.nft_hooks import Row as Hook
from nettop.facts.kinds.way import build
from nettop.facts.way import HIDDEN, Flow, walk

ELSEWHERE = "192.0.2.7"


def test_a_rule_for_other_users_is_a_suspect_where_calls_fail_and_decides_what_they_send() -> None:
    rules = [*SOUND["routing_rules"], rule(30, 0, users=(1500, 1600), action="prohibit")]
    said = "rule 30 from all users 1500-1600 is prohibit"
    way = went(FAR, frame(routing_rules=rules))
    assert (way.decider, way.suspect) == (None, None)
    assert any(said in one.saw for one in way.of(HIDDEN))
    failed = Call("connect", "EACCES", address=FAR, pid=7, where="here", port="443",
                  process="app", events=4)  # fmt: skip
    way = went(FAR, frame(routing_rules=rules, failed_calls=[failed]))
    assert way.suspect is not None
    assert way.suspect.saw == said
    theirs = walk(Flow(FAR, user=1500), frame(routing_rules=rules)).decider
    assert theirs is not None
    assert theirs.change == "ip rule del priority 30"


def test_a_table_for_other_users_is_told_with_its_rule_and_the_question() -> None:
    rules = [*SOUND["routing_rules"], rule(30, 200, users=(33, 33))]
    routes = [*SOUND["fib"], route("0.0.0.0/0", None, table=200, kind="unreachable")]
    failed = Call("connect", "EHOSTUNREACH", address=FAR, pid=7, where="here", port="443",
                  process="app", events=4)  # fmt: skip
    seen = frame(routing_rules=rules, fib=routes, failed_calls=[failed])
    facts: Any = SimpleNamespace(more={}, flows=())
    (one,) = build(seen, facts)
    assert one.decider == (
        "route 0.0.0.0/0 of table 200 is unreachable, where rule 30 from all users 33-33 looks"
    )
    assert one.asks == f"{FAR}:443 --user 33"


def test_a_rule_for_a_port_is_told_with_all_its_conditions_and_its_end() -> None:
    rules = [*SOUND["routing_rules"], rule(30, 200, protocol="tcp", ports=(5432, 5432))]
    tables: dict[str, Any] = {
        "routing_rules": rules,
        "fib": [*SOUND["fib"], route("0.0.0.0/0", "a0", "10.0.0.9", table=200)],
        "neighbour_states": [
            *SOUND["neighbour_states"],
            neighbour_states.Row("a0", "10.0.0.9", 4, "failed"),
        ],
    }
    decider = went(FAR, frame(**tables), port=5432).decider
    assert decider is not None
    assert decider.saw == (
        "no neighbour answers for 10.0.0.9 on a0, the gateway of table 200, to which rule 30 from "
        "all ipproto tcp dport 5432 leads"
    )
    cure = "ip rule del priority 30, without which route 10.0.0.0/24 of table 254 leads to 10.0.0.2"
    assert decider.change.startswith(f"{cure}; or the host with 10.0.0.9 must answer ARP")
    for other in ({"port": 443}, {"port": 5432, "protocol": "udp"}):
        assert went(FAR, frame(**tables), **other).decider is None
    unknown = went(FAR, frame(**tables))  # no port is asked for
    assert unknown.decider is None
    assert any("only the kernel evaluates" in one.saw for one in unknown.of(HIDDEN))
    alone = frame(**{**tables, "fib": tables["fib"][-1:]})
    decider = went(FAR, alone, port=5432).decider
    assert decider is not None
    assert decider.change.startswith("the host with 10.0.0.9 must answer ARP")


def test_a_mark_chooses_the_rule() -> None:
    rules = [rule(10, 0, action="blackhole", mark=5, mask=0xFF), *SOUND["routing_rules"]]
    assert went(FAR, frame(routing_rules=rules), mark=0x105).decider is not None
    assert went(FAR, frame(routing_rules=rules)).decider is None


def test_a_table_that_only_the_default_route_of_is_suppressed_is_passed_over() -> None:
    rules = [rule(10, 254, suppress=0), rule(20, 0, action="prohibit"), *SOUND["routing_rules"]]
    assert went(FAR, frame(routing_rules=rules)).decider is None
    assert went(ELSEWHERE, frame(routing_rules=rules)).decider is not None


MARKING = (*PORT80, ("immediate", 1, "12000000"), ("meta", 3))


def refused(*does: tuple[Any, ...], **more: Any) -> Any:
    """What decides about packets that rules of the packet filter mark for table 112."""
    rules = [*SOUND["routing_rules"], rule(50, 112, mark=0x12, mask=0xFFFF_FFFF)]
    routes = [*SOUND["fib"], route("0.0.0.0/0", None, table=112, kind="unreachable")]
    ruled_host = ruled(*does, hook="prerouting", routing_rules=rules, fib=routes)
    return went("10.1.0.2", ruled_host, origin=FAR, arrives="a0", **more).decider


def test_the_mark_of_a_rule_chooses_the_route_of_what_is_forwarded() -> None:
    decider = refused(MARKING, port=80)
    assert decider is not None
    assert decider.saw == (
        "route 0.0.0.0/0 of table 112 is unreachable, where rule 50 from all fwmark 0x12 looks; "
        "rule of handle 2 in chain c (hook prerouting, inet t) gives packets the mark 0x12"
    )
    assert decider.change == (
        "bring back the way that this mark is for, such as a VPN; or, where packets may go without "
        "it, nft delete rule inet t c handle 2, or ip route del unreachable 0.0.0.0/0 table 112"
    )
    assert refused(MARKING, port=443) is None
    kept = (("meta", 3, 1), ("bitwise", 1, 1, "ffffff00", "12000000"), ("meta", 3))
    assert refused(kept, port=80) is None  # the rest of the mark is not known
    assert refused((ACCEPT,), MARKING, port=80) is None


SKUID = (("meta", 10, 1), ("cmp", 1, 0, "dc050000"), ("immediate", 1, "12000000"), ("meta", 3))
ROUTED = {
    "nft_hooks": [Hook("inet", "t", "c", "output", -150, "route", drops=False)],
    "routing_rules": [*SOUND["routing_rules"], rule(50, 112, mark=0x12, mask=0xFFFF_FFFF)],
    "fib": [*SOUND["fib"], route("0.0.0.0/0", None, table=112, kind="unreachable")],
}
GIVEN_UP = Call("connection", "GIVEN_UP", address=FAR, pid=7, where="here", port="443",
                process="app", events=4)  # fmt: skip


def marked(does: tuple[Any, ...], *, dropped: int = 0, uid: int = 0) -> Any:
    """What is told of connections that are given up, and a rule that marks some for table 112."""
    waits = listener(NEAR, 40000, state="syn-sent", remote=FAR, remote_port=443, uid=uid)
    drops = [Drop("NETFILTER_DROP", "nf_hook_slow", "here", "2", "tcp", "443", dropped, 1.0,
                  source=NEAR, to=FAR, to_port=443)]  # fmt: skip
    facts: Any = SimpleNamespace(more={}, flows=())
    tables: dict[str, Any] = {"sockets_tcp": [waits], "failed_calls": [GIVEN_UP],
              "drop_reasons": drops if dropped else [], **ROUTED}  # fmt: skip
    (one,) = build(ruled(does, **tables), facts)
    return one


def test_what_a_rule_marks_by_its_sender_is_routed_again() -> None:
    one = marked(SKUID, uid=1500)
    assert one.decider == (
        "route 0.0.0.0/0 of table 112 is unreachable, where rule 50 from all fwmark 0x12 looks; "
        "rule of handle 2 in chain c (hook output, inet t) gives packets the mark 0x12"
    )
    assert one.asks == f"{FAR}:443 --user 1500"
    assert not marked(SKUID, uid=1501).stops
    assert not marked(SKUID).stops  # it is not known who sends


@pytest.mark.parametrize("tests", [SKUID[:2], (("meta", 11, 1), SKUID[1]), (("ct", 3, 1),)])
def test_what_a_hook_drops_a_rule_of_unknown_conditions_may_have_marked(
    tests: tuple[Any, ...],
) -> None:
    does = (*tests, *(SKUID[2:] if tests[0][0] == "meta" else SKUID[3:]))
    one = marked(does, dropped=5)
    assert "in chain c (hook output, inet t) may give packets the mark 0x12" in one.decider
    assert one.asks == f"{FAR}:443 --mark 0x12"
    assert "NETFILTER_DROP/nf_hook_slow" in one.explains
    assert not marked(does).stops  # nothing is dropped: the mark is not the cause
