"""Connections that come and go between two readings."""

from __future__ import annotations

from typing import Any

import pytest
from flow_tables import socket

from nettop.facts.brief import Brief
from nettop.frame.rates import Entry, Frame


def served(cookie: int, **more: Any) -> Any:
    known = {"bytes_acked": 92_160, "min_rtt": 40_000, "state": "fin-wait-1", **more}
    return socket(cookie, local_port=80, remote="10.0.0.9", remote_port=4000 + cookie, **known)


def seen(name: str, *readings: Any) -> str:
    brief = Brief(name)
    for rows in readings:
        brief.add(Frame(0.0, 0.0, {"sockets_tcp": tuple(map(Entry, rows))}))
    return brief.words()


def test_short_connections_of_a_port_are_told_as_one() -> None:
    told = seen(":80", [served(1)], [served(2)], [], [served(3, bytes_acked=10)])
    assert "no lasting flow from or to :80 is active, but short ones pass" in told
    assert "at 2 of 3 readings there was a new connection, with up to 90 KiB moved" in told
    assert "round trip 40 ms" in told
    assert "from or to 10.0.0.9:4002 is active" in seen("10.0.0.9:4002", [], [served(2)])


@pytest.mark.parametrize(("name", "row"), [
    (":81", served(2)), (":0", served(2)), ("", served(2)), ("10.0.0.9:40", served(2)),
    (":80", served(2, bytes_acked=0)), (":80", socket(3, state="listen", local_port=80)),
])  # fmt: skip
def test_what_moves_nothing_or_has_another_end_is_not_told(name: str, row: Any) -> None:
    assert seen(name, [], [row]) == ""


def test_what_was_there_at_first_may_last() -> None:
    assert seen(":80", [served(1)], []) == ""
