"""Why losses of a joined flow are not counted, and joined flows that end, are each said."""

from collections import deque
from dataclasses import replace
from typing import Any

import pytest
from pair_looks import look

from nettop.advice.judge.inline_facts import facts
from nettop.facts.limits import Limit
from nettop.facts.pair import Joined, model, words
from nettop.facts.pair.losses import Counts
from nettop.facts.pair.model import Model, Sides

NAME = ("10.0.0.1", 5001, "10.0.0.2", 40001)
FLOW = "10.0.0.1:5001>10.0.0.2:40001"
HOSTS = ("web1", "web2")
EMPTY = facts({}, "server", 0.0)


def moment(at: float, sent: int, **altered: Any) -> model._Moment:
    """Here sends; `altered`: fields of the row of `near` or `far`."""
    rows = look(at, sent=sent)
    early, late = (replace(row, **altered.get("near", {})) for row in rows.sender)
    far = replace(rows.receiver[0], **altered.get("far", {}))
    none: Any = {("here", "eth0"): Counts(), ("there", "eth0"): Counts()}
    return model._Moment(
        at,
        {NAME: (early, late)},
        {NAME: far},
        {NAME: ("eth0", "eth0")},
        none,
        none,
        {NAME: ("a", "b")},
    )


@pytest.mark.parametrize(
    ("first", "last", "why"),
    [
        ({}, {}, ""),
        ({}, {"far": {"data_segs_in": None}},
         "the kernel of web2 does not count data_segs_in"),
        ({}, {"near": {"bytes_sent": None, "bytes_retrans": None}},
         "the kernel of web1 does not count bytes_sent, bytes_retrans"),
        ({"near": {"cookie": 7}}, {"near": {"cookie": 8}},
         "another connection has these addresses now"),
    ],
)  # fmt: skip
def test_why_losses_are_not_counted(first: Any, last: Any, why: str) -> None:
    known = Model(HOSTS, deque([moment(0.0, 1000, **first), moment(5.0, 9000, **last)]))
    found, because = known._losses(NAME, sends=True)
    assert because == why
    assert (found is None) == bool(why)


def test_a_short_look_is_no_count() -> None:
    known = Model(HOSTS, deque([moment(0.0, 1000), moment(0.5, 9000)]))
    assert known._losses(NAME, sends=True) == (None, "both ends were seen for less than 1 s")


def test_a_joined_flow_without_its_connection_has_ended_for_ten_seconds() -> None:
    known, one = Model(HOSTS), Joined(Limit("flow", FLOW, "tx", 1e8), "a", "b")
    assert known._ended(moment(0.0, 1000), (one,)) == ()
    gone = replace(moment(1.0, 1000), near={})
    assert known._ended(gone, ()) == (FLOW,)
    half = moment(2.0, 1000, near={"state": "fin-wait-2"})
    assert known._ended(half, ()) == (FLOW,)
    assert known._ended(half, (one,)) == ()  # the other direction goes on
    assert known._ended(moment(2.0, 1000), ()) == ()  # it rests
    assert known._ended(replace(gone, at=12.5), ()) == ()


def test_the_sentences() -> None:
    flow = Joined(Limit("flow", FLOW, "tx", 1e8), "a", "b", uncounted="the kernel is old")
    text = "\n".join(words.flow(flow, HOSTS))
    assert "  losses are not counted: the kernel is old" in text
    many = tuple(f"{FLOW}{n}" for n in range(5))
    rows = list(words.gone(Sides(EMPTY, EMPTY, ended=many)))
    assert rows[1] == f"{FLOW}0 ended while it was watched"
    assert rows[-1] == "and 2 flows more that ended"
