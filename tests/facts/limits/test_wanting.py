"""Which way a flow wants to move data, for every kind of what it moves and holds."""

from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import pytest
from folded import folded

from nettop.facts.flow_words import QUIET
from nettop.facts.limits import Limit, Reading
from nettop.facts.limits.interfaces import SHARE, Interfaces, flow_key, foremost
from nettop.facts.limits.judge import _rank
from nettop.facts.limits.ladder import ABOUT, bounded
from nettop.facts.limits.looks import wanting

BYTES = (0.0, QUIET / 16, QUIET / 8 - 1, QUIET / 8, QUIET)  # a second
OFTEN = (0.0, 0.49, 0.5, 1.0)


@dataclass
class Flow:
    """What a look says of its socket."""

    rates: dict[str, float | None]
    often_: dict[str, float]
    tcp: tuple[str, ...] = ("row",)
    direction: str = ""
    rate: float = 0.0
    named: list[str] = field(default_factory=list)

    def rated(self, name: str) -> float | None:
        return self.rates[name]

    def often(self, name: str) -> float:
        return self.often_[name]


def way(tx: float | None, rx: float | None, held: float, unread: float, lost: float | None) -> Any:
    rates = {"bytes_acked": tx, "bytes_received": rx, "total_retrans": lost}
    look: Any = Flow(rates, {"notsent": held, "recv_q": unread})
    return [(one.direction, one.rate) for one in wanting(look)]


@folded(("tx", "rx"), list(product(BYTES, BYTES)))
def test_a_flow_has_one_way_unless_it_rests(tx: float, rx: float) -> None:
    for held, unread, lost in product(OFTEN, OFTEN, (0.0, 0.1)):
        waits, waiting = held >= 0.5 or lost > 0, unread >= 0.5
        found = way(tx, rx, held, unread, lost)
        if not waits and not waiting and 8 * tx < QUIET and 8 * rx < QUIET:
            assert found == []
        elif waits or (tx >= rx and not waiting):
            assert found == [("tx", 8 * tx)]
        else:
            assert found == [("rx", 8 * rx)]


def test_what_is_not_known_moves_nothing() -> None:
    assert way(None, None, 0.0, 0.0, None) == []
    assert way(None, QUIET, 0.0, 0.0, None) == [("rx", 8 * QUIET)]
    assert way(QUIET, None, 0.0, 0.0, None) == [("tx", 8 * QUIET)]
    nothing: Any = Flow({}, {}, tcp=())
    assert wanting(nothing) == []


def test_a_receiver_that_repeats_a_small_answer_still_receives() -> None:
    """sshd while it writes to a slow disk: it repeats messages of its own, about one a second."""
    assert way(1e4, 2e7, 0.0, 0.0, 1.0) == [("rx", 1.6e8)]
    assert way(1e6, 2e7, 0.0, 0.0, 1.0) == [("tx", 8e6)]
    assert way(0.0, 2e7, 0.0, 0.0, 1.0) == [("tx", 0.0)]  # nothing that it sends arrives
    assert way(1e4, 2e7, 0.6, 0.0, 1.0) == [("tx", 8e4)]


# Capacities that the rate refutes, and the flow that stands for an interface.


G = 1e9


def reading(stage: str, capacity: tuple[float, float] | None, held: float = 0.0) -> Reading:
    return Reading(stage, "here", stage, "computed", "x", 1.0, capacity, held)


def limit(rate: float, *ladder: Reading, later: Reading | None = None) -> Limit:
    return Limit("flow", "a>b", "tx", rate, 0.0, ladder[0], (), later, ladder)


def test_a_capacity_above_the_rate_stays() -> None:
    one = limit(G, reading("qdisc", (0.9 * G, G), 1.0), reading("wire", (8 * G, 9 * G)))
    assert bounded(one) is one


def test_a_model_that_the_rate_refutes_has_no_capacity_and_no_utilisation() -> None:
    one = bounded(limit(G, reading("thread", None, 0.9), reading("path", (0.2 * G, 0.4 * G))))
    assert one.ladder[1] == replace(reading("path", None), utilisation=None)


@pytest.mark.parametrize(("times", "known"), [(1.01, True), (ABOUT, True), (ABOUT + 0.01, False)])
def test_a_stage_that_binds_carries_what_passes_if_that_is_about_its_capacity(
    times: float, known: bool
) -> None:
    one = bounded(limit(times * G, reading("cwnd", (0.6 * G, G), 1.0)))
    assert one.stage.capacity == ((0.6 * G, times * G) if known else None)
    assert one.stage.utilisation == 1.0
    assert one.ladder[0] == one.stage


def test_a_limit_carries_no_more_than_the_next() -> None:
    later = reading("qdisc", (0.9 * G, G))
    one = bounded(limit(0.5 * G, reading("cwnd", (0.8 * G, 1.6 * G), 1.0), later, later=later))
    assert one.stage.capacity == (0.8 * G, G)
    assert one.ladder[0] == one.stage


def test_a_next_stage_below_the_rate_is_none() -> None:
    later = reading("qdisc", (0.1 * G, 0.2 * G))
    assert bounded(limit(G, reading("cwnd", None, 1.0), later, later=later)).next is None


def test_the_flow_that_stands_for_an_interface_stays_while_it_moves_half_as_much() -> None:
    one, other = (replace(limit(G, reading("cwnd", None)), target=name) for name in ("a", "b"))
    assert foremost([], flow_key(one)) is None
    assert foremost([one, other], flow_key(other)) is other
    small = replace(other, rate=SHARE * G - 1)
    assert foremost([one, small], flow_key(small)) is one
    pod = replace(one, namespace="pod", rate=0.9 * G)  # another flow of the same addresses
    assert foremost([one, pod], flow_key(pod)) is pod
    assert foremost([pod, one], flow_key(one)) is one
    nic = replace(one, over="nic", target="eth0", stage=Reading("unknown", "there"))
    memory = Interfaces()
    assert [found.flow for found in memory.build([nic], [one, other])] == ["a"]
    assert [found.flow for found in memory.build([nic], [other, replace(one, rate=0.6 * G)])] == [
        "a"
    ]


def test_a_busy_core_alone_does_not_hide_what_the_program_does() -> None:
    thread, program = (Reading(name, "here", held=1.0) for name in ("thread", "application"))
    assert _rank(program) < _rank(thread)
    assert _rank(replace(thread, kind="measured")) < _rank(program)
    assert _rank(thread) < _rank(Reading("peer", "there", held=1.0))
