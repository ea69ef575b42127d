"""A table that is too slow for each sample: `advise` says how often it was read."""

from __future__ import annotations

from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.judge import Judgement
from nettop.frame.rates import Frame
from nettop.views.enough import not_read
from nettop.views.observer import Observation


def said(**waits: float) -> list[str]:
    frame = Frame(1.0, 1.0, {}, cost={"sockets_tcp": 1.24, "links": 0.01})
    return list(not_read(Observation(frame, facts({}, "server", 1.0), Judgement(), waits)))


def test_how_often_a_slow_table_was_read_is_said() -> None:
    text = "sockets_tcp: read every 20 s and at the end only; a reading took 1.2 s"
    assert said(sockets_tcp=20.0) == [text]
    assert said(sockets_tcp=20.0, bql=20.0) == [text]  # this one could not be read
    assert said() == []
