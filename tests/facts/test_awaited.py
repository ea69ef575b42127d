"""The ends for which programs with clients of their own wait, from sockets to the fact."""

from typing import Any

import pytest
from flow_tables import frames, socket
from folded import folded

from nettop.collect import socket_owners
from nettop.facts.kinds import awaited
from nettop.facts.limits.interfaces import waited

DOOR = socket(1, state="listen", local_port=80, remote="0.0.0.0", remote_port=0)
UNKNOWN: Any = None


def client(cookie: int = 2, received: int = 500, sent: int = 510, **more: Any) -> Any:
    """A connection that was accepted; its request came `received` ms ago."""
    plain: dict[str, Any] = {
        "local_port": 80, "last_received": received, "last_sent": sent, "bytes_received": 100,
        "bytes_acked": 0,
    }  # fmt: skip
    return socket(cookie, **{**plain, **more})


def asks(cookie: int = 3, sent: int = 490, received: int = 495, **more: Any) -> Any:
    """A connection that was opened; its question was sent `sent` ms ago."""
    plain: dict[str, Any] = {
        "local_port": 40000 + cookie, "remote": "10.0.0.9", "remote_port": 8080, "bytes_sent": 100,
        "last_received": received, "last_sent": sent, "bytes_received": 0, "unacked": 0,
        "min_rtt": 10_000,
    }  # fmt: skip
    return socket(cookie, **{**plain, **more})


def found(*moments: tuple[Any, ...], held: tuple[int, ...] = ()) -> Any:
    """What is awaited at last; `held`: sockets of proxy[7], beside the one that listens."""
    owned = [socket_owners.Row(100 + cookie, 7, "proxy") for cookie in (1, *held)]
    *_, last = frames(*({"sockets_tcp": rows, "socket_owners": owned} for rows in moments))
    return next(iter(awaited.build(last, UNKNOWN)), None)


@folded("held", [(), (2, 3)])
def test_a_request_waits_for_an_answer_of_another_end(held: tuple[int, ...]) -> None:
    one = found((DOOR, client(), asks()), held=held)
    assert (one.id, one.talks, one.asks, one.clients, one.who) == (
        "10.0.0.9:8080", 1, 1, 1, "proxy",
    )  # fmt: skip
    assert (one.longest, one.peers) == (pytest.approx(0.48), ("tcp 10.0.0.9:8080",))


def test_a_kept_connection_counts_if_an_answer_came_since_the_last_reading() -> None:
    before = (DOOR, client(), asks(bytes_received=9))
    one = found(before, (DOOR, client(), asks(bytes_received=9)), held=(2, 3))
    assert one is None
    one = found(before, (DOOR, client(), asks(bytes_received=99)), held=(2, 3))
    assert (one.asks, one.clients) == (1, 1)


@folded("rows", [
    (client(received=300), asks()),  # the program asked before: for something else
    (client(sent=400, bytes_acked=9), asks()),  # answered
    (client(received=900), asks()),  # another program's, as far as is known
    (client(bytes_received=0), asks()),  # connected only
    (client(), asks(sent=0, unacked=1)),  # the question is on its way
    (client(), asks(sent=500, received=490, bytes_received=9)),  # the answer came
])  # fmt: skip
def test_nobody_waits_with_it(rows: tuple[Any, ...]) -> None:
    one = found((DOOR, *rows))
    assert (one.clients, one.longest) == (0, None)


def test_a_host_without_listener_serves_nobody() -> None:
    assert found((client(), asks())) is None


def test_the_end_whose_answer_is_late_is_told() -> None:
    facts: Any = type("Known", (), {"more": {}})()
    assert not waited(facts)
    facts.more["awaited"] = (found((DOOR, client(), asks())),)
    assert waited(facts) == "proxy waits for answers of 10.0.0.9:8080"
    facts.more["awaited"] = (found((DOOR, client(received=90), asks(sent=80, received=85))),)
    assert not waited(facts)
