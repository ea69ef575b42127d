"""What a rule looks up in sets and maps, intervals, and queues to programs."""

from typing import Any

from folded import folded
from way_filters import ACCEPT, DROP, PORT80, ruled
from way_tables import FAR, NEAR, frame, switches, went

from nettop.collect.nft_hooks import Row as Hook
from nettop.collect.nft_rules import Row as Rule
from nettop.collect.nft_sets import Row as Set
from nettop.collect.program_queues import Row as Queue
from nettop.facts.way import HIDDEN

LOOKED = (("payload", 1, 2, 2, 2), ("lookup", "open", 1, 0))
NOT_IN = (("payload", 1, 2, 2, 2), ("lookup", "open", 1, 1))
MAPPED = (("payload", 1, 2, 2, 2), ("lookup", "open", 1, 0, 0))
STATES = (("ct", 0, 1), ("lookup", "open", 1, 0, 0))
WEB = ("0050", "005a")  # ports 80 to 90


@folded(("rule", "elements", "drops", "stops"), [
    ((*LOOKED, DROP), [(*WEB, "")], False, True),
    ((*LOOKED, DROP), [("0051", "005a", "")], False, False),
    ((*LOOKED, DROP), [], False, False),
    ((*NOT_IN, DROP), [(*WEB, "")], False, False),
    ((*NOT_IN, DROP), [], False, True),
    ((*LOOKED, ACCEPT), [(*WEB, "")], True, False),
    ((*LOOKED, ACCEPT), [("0016", "0016", "")], True, True),
    (MAPPED, [(*WEB, "0:")], False, True),
    (MAPPED, [(*WEB, "1:")], True, False),
    (MAPPED, [("0016", "0016", "1:")], True, True),
    (MAPPED, [(*WEB, "-3:d")], False, True),  # to a chain that drops
    (MAPPED, [(*WEB, "-3:other")], False, False),
    (STATES, [("08000000", "08000000", "0:")], False, True),  # ct state vmap
    (STATES, [("02000000", "02000000", "0:")], False, False),
])  # fmt: skip
def test_a_set_that_a_rule_looks_up_decides(
    rule: tuple[Any, ...], elements: list[Any], *, drops: bool, stops: bool
) -> None:
    known = [Set("inet", "t", "open", tuple(elements)), Set("inet", "u", "open", ((*WEB, "0:"),))]
    chain = [Rule("inet", "t", "d", 9, (DROP,))]
    way = went(FAR, ruled(rule, drops=drops, more=chain, nft_sets=known), port=80)
    assert (way.decider is not None, way.of(HIDDEN)[1:]) == (stops, ())


@folded(
    ("elements", "change"),
    [
        ([("0a000002", "0a000002", "")], "nft delete element inet t open '{ 10.0.0.2 }'"),
        ([("0a000000", "0a0000ff", "")], "nft delete rule inet t"),  # part of a range
    ],
)
def test_the_element_of_a_set_is_what_is_deleted(elements: list[Any], change: str) -> None:
    rule = (("payload", 1, 1, 16, 4), ("lookup", "open", 1, 0), DROP)
    known = [Set("inet", "t", "open", tuple(elements))]
    step = went(FAR, ruled(rule, nft_sets=known), port=80).decider
    assert step is not None
    assert step.change.startswith(change)
    assert (": its set open has 10.0.0.2" in step.saw) is ("element" in change)


def test_a_set_that_is_not_read_decides_nothing() -> None:
    for rule in ((*LOOKED, DROP), MAPPED):
        way = went(FAR, ruled(rule), port=80)
        assert way.decider is None
        assert any("drops these packets" in one.saw for one in way.of(HIDDEN))
    rest = [Set("inet", "t", "open", (), "0:")]
    assert went(FAR, ruled(MAPPED, nft_sets=rest), port=80).decider is not None


@folded(("rule", "stops"), [
    ((("payload", 1, 2, 2, 2), ("range", 1, 0, *WEB), DROP), True),
    ((("payload", 1, 2, 2, 2), ("range", 1, 1, *WEB), DROP), False),
    ((("payload", 1, 2, 2, 2), ("range", 1, 0, "0016", "0016", *WEB), DROP), True),
    ((("payload", 1, 2, 2, 2), ("cmp", 1, 5, "0050"), ("cmp", 1, 3, "005a"), DROP), True),
    ((("payload", 1, 2, 2, 2), ("cmp", 1, 4, "0050"), DROP), False),
    ((("payload", 1, 2, 2, 2), ("cmp", 1, 2, "0050"), DROP), False),
    ((("payload", 1, 1, 16, 4), ("payload", 9, 2, 2, 2), ("lookup", "both", 1, 0), DROP), True),
    ((("payload", 1, 1, 16, 4), ("ct", 5, 9), ("lookup", "both", 1, 0), DROP), False),
])  # fmt: skip
def test_intervals_orders_and_several_fields(rule: tuple[Any, ...], *, stops: bool) -> None:
    both = Set("inet", "t", "both", (("0a000002" + "00500000",) * 2 + ("",),))
    way = went(FAR, ruled(rule, nft_sets=[both]), port=80)
    assert (way.decider is not None) is stops


@folded(("queue", "rows", "outcome"), [
    (("queue", 3, 1, 0), [], "stops"),
    (("queue", 3, 1, 0), [("nfqueue", 4)], "stops"),
    (("queue", 3, 2, 0), [("nfqueue", 4)], "hidden"),
    (("queue", 3, 1, 0), [("nfqueue", 3)], "hidden"),
    (("queue", 3, 1, 0), [("route", 3)], "stops"),
    (("queue", 3, 1, 1), [], "hidden"),  # bypass
    (("queue", "?"), [], "hidden"),  # scrubbed
])  # fmt: skip
def test_a_queue_that_no_program_reads_drops(
    queue: tuple[Any, ...], rows: list[tuple[str, int]], outcome: str
) -> None:
    read = [Queue(kind, number, 1, 0) for kind, number in rows]
    way = went(FAR, ruled((*PORT80, queue), program_queues=read), port=80)
    (step,) = [one for one in way.steps if "NFQUEUE" in one.saw]
    assert step.outcome == outcome
    assert went(FAR, ruled((*PORT80, queue), program_queues=read), port=81).decider is None


def test_a_queue_in_a_chain_that_another_leads_to_drops_too() -> None:
    leads = (("immediate", 0, "-3:d"),)
    chain = [Rule("inet", "t", "d", 9, (*PORT80, ("queue", 3, 1, 0)))]
    decider = went(FAR, ruled(leads, more=chain, program_queues=[]), port=80).decider
    assert decider is not None
    assert decider.saw == (
        "rule of handle 9 in chain d (hook output, inet t) hands packets to NFQUEUE 3, which no "
        "program reads, so they are dropped"
    )
    assert decider.change == (
        "start the program that reads NFQUEUE 3, or nft delete rule inet t d handle 9"
    )


LOCAL = (("fib", 1, 3, 2), ("cmp", 1, 0, "02000000"))


@folded(("to", "arrives", "rule", "stops"), [
    (NEAR, "b0", (*LOCAL, DROP), True), (FAR, "b0", (*LOCAL, DROP), False),
    (FAR, "b0", (LOCAL[0], ("cmp", 1, 1, "02000000"), DROP), True),
    (NEAR, "b0", (("fib", 1, 1, 2), LOCAL[1], DROP), None),  # an interface, not a type
])  # fmt: skip
def test_an_address_of_this_host_is_known(
    to: str, arrives: str, rule: tuple[Any, ...], stops: bool | None
) -> None:
    seen = ruled(rule, hook="prerouting")
    way = went(to, seen, port=80, origin="10.1.0.9", arrives=arrives)
    assert (way.decider is not None and "rule of handle 2" in way.decider.saw) is bool(stops)
    assert any("drops these packets" in one.saw for one in way.of(HIDDEN)) is (stops is None)


PORTS = (("payload", 1, 2, 2, 2), ("lookup", "to", 1, 1, 0))


@folded(("data", "nat", "saw"), [
    ("0a010002" + "1f90", ("nat", 1, 1, 9), "sends these packets to 10.1.0.2:8080"),
    ("0a010002", ("nat", 1, 1), "sends these packets to 10.1.0.2:80"),
    ("1f90", ("redir", 1), "sends these packets to 10.0.0.1:8080"),
])  # fmt: skip
def test_a_map_says_where_packets_are_sent(data: str, nat: tuple[Any, ...], saw: str) -> None:
    hooks = [Hook("ip", "t", "c", "prerouting", -100, "nat", drops=False)]
    rules = [Rule("ip", "t", "c", 2, (*PORTS, nat))]
    known = [Set("ip", "t", "to", ((*WEB[:1], *WEB[:1], data),))]
    on = [switches("all", 1), switches("a0", 1), switches("b0", 1)]
    for sets, sent in ((known, True), ([], False)):
        seen = frame(nft_hooks=hooks, nft_rules=rules, nft_sets=sets, interface_sysctls=on)
        way = went(NEAR, seen, port=80, origin="10.0.0.9", arrives="a0")
        assert any(saw in one.saw for one in way.steps) is sent
        changes = "changes the addresses of these packets"
        assert any(changes in one.saw for one in way.of(HIDDEN)) is not sent
