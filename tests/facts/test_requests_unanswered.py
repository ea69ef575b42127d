"""Requests by TCP that the other end acknowledges and does not answer, from sockets to the fact."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from asleep import asleep
from flow_tables import socket
from folded import folded

from nettop.collect import failed_calls, socket_owners, sockets_tcp, tcp_questions, threads
from nettop.collect._table import Memory, recall
from nettop.facts.kinds.attempt import Request, requests
from nettop.frame.rates import Entry, Frame

SERVER = "10.0.0.9"
LEFT = b"\x02" + (80).to_bytes(2, "big") + bytes((10, 0, 0, 9)) + bytes(12)


def asks(cookie: int = 1, sent: int = 40_000, opened: int = 40_000, **more: Any) -> Any:
    """A connection whose last data was sent `sent` ms ago, opened so long ago."""
    plain: dict[str, Any] = {
        "remote": SERVER, "remote_port": 80, "bytes_sent": 60, "unacked": 0, "bytes_received": 0,
        "last_sent": sent, "last_received": opened,
    }  # fmt: skip
    return socket(cookie, **{**plain, **more})


def last(*readings: Sequence[Any], left: int = 0, every: float = 1.0) -> Any:
    """The only row after the last reading, if any; `left`: connections that were closed here."""
    memory: Memory = {}
    recall(memory, threads.Moving).holders = {101: 7}
    rows: Sequence[Any] = ()
    for number, sockets in enumerate(readings):
        known = recall(memory, sockets_tcp.Known)
        known.reading = number + 1
        known.seen = {bytes([one.cookie]): (0, 0, one) for one in sockets}
        known.left = {bytes([one]): LEFT for one in range(1, left + 1)} if number else {}
        source: Any = SimpleNamespace(now=lambda at=number * every: 1000.0 + at)
        rows = tcp_questions.update(source, memory)
    last.asking = recall(memory, threads.Moving).asking  # type: ignore[attr-defined]
    return next(iter(rows), None)


def test_a_request_that_was_sent_at_once_and_never_answered_waits() -> None:
    row = last([asks()])
    assert (row.server, row.port, row.waiting, row.fresh) == (SERVER, 80, 1, 1)
    assert (row.longest, row.inodes, row.answered) == (pytest.approx(40), (101,), False)
    assert last.asking == (7,)  # type: ignore[attr-defined]


def test_the_wait_of_a_socket_that_does_not_change_grows() -> None:
    one = asks()
    assert last([one], [one], [one]).longest == pytest.approx(42)


@folded("one", [
    asks(sent=100, opened=100),  # just now
    asks(unacked=1),  # on its way
    asks(send_q=60),
    asks(notsent=60),
    asks(recv_q=9),
    asks(bytes_received=9, sent=40_000, opened=30_000),  # the answer came after it
    asks(bytes_received=9, sent=30_000, opened=40_000),  # what wants a push asks, too
    asks(rcv_ooopack=1),  # a part of the answer came: the rest is lost on the way
    asks(bytes_sent=0),  # nothing was asked
    asks(state="close-wait"),
    asks(inode=0),
])  # fmt: skip
def test_what_is_no_request_without_an_answer(one: Any) -> None:
    assert last([one]) is None


def test_a_connection_that_this_end_accepted_asks_nothing() -> None:
    assert last([socket(2, state="listen"), asks(local_port=5001)]) is None


def test_who_sends_again_and_again_on_one_connection_may_want_no_answer() -> None:
    row = last([asks(sent=9_000, opened=300_000)])
    assert (row.waiting, row.fresh) == (1, 0)


def test_data_of_another_connection_to_the_same_end_is_an_answer() -> None:
    other = asks(2, sent=900, opened=800, bytes_received=9)
    assert last([asks(), other]).answered


@folded(("left", "counted"), [(1, 1), (0, None)])
def test_a_request_is_given_up_if_the_other_end_has_not_closed_either(
    left: int, counted: int | None
) -> None:
    row = last([asks(sent=500, opened=500)], [], left=left)
    assert (row.given_up if row else None) == counted


def test_all_that_the_other_end_left_open_are_counted_beside_one_that_was_given_up() -> None:
    row = last([asks(sent=500, opened=500)], [asks(2, sent=2_500, opened=2_500)], left=1)
    assert (row.given_up, row.left, row.waiting) == (1, 1, 1)
    assert last([asks(sent=500, opened=500)], [], [], left=1, every=11.0) is None  # long ago


def fact(row: Any, *rows: Any, **tables: Any) -> Request:
    tables = {"tcp_questions": [row], "waits": rows, **tables}
    tables.setdefault("socket_owners", [socket_owners.Row(101, 7, "app")])
    made = {name: tuple(map(Entry, every)) for name, every in tables.items()}
    (found,) = requests(Frame(0.0, 0.0, made), None)  # type: ignore[arg-type]
    return found


ROW = tcp_questions.Row(SERVER, 80, 1, 1, 40.0, 1, 12, inodes=(101,))


@folded(("call", "kind", "more", "reading"), [
    ("recvfrom", "input", {"object": "socket:[101]"}, 1),
    ("recvfrom", "input", {"object": "socket:[102]"}, 0),
    ("poll", "events", {"ends": True}, 1),
    ("poll", "events", {}, 0),
    ("epoll_wait", "events", {"ends": True}, 0),
])  # fmt: skip
def test_a_thread_that_waits_for_the_answer_is_seen(
    call: str, kind: str, more: dict[str, Any], reading: int
) -> None:
    found = fact(ROW, asleep(7, 7, 1, "app", "S", call, kind, **more))
    assert (found.id, found.who, found.reading) == (f"{SERVER}:80", "app[7]", reading)
    assert (found.asked, found.peers) == (13, (f"tcp {SERVER}:80",))


def test_who_opened_a_connection_that_is_younger_than_the_list_of_descriptors() -> None:
    opened = failed_calls.Row("connection", "0", 7, "here", SERVER, "80", "app", 3)
    owners = [socket_owners.Row(55, 7, "app")]
    found = fact(ROW, asleep(7, 7, 1, "app", "S", "poll", "events", ends=True),
                 failed_calls=[opened], socket_owners=owners)  # fmt: skip
    assert (found.who, found.reading) == ("app[7]", 1)


def test_the_program_of_this_host_that_does_not_answer_is_named() -> None:
    door = socket(3, state="listen", local_port=80, inode=9)
    owners = [socket_owners.Row(9, 12, "db"), socket_owners.Row(101, 7, "app")]
    row = tcp_questions.Row("127.0.0.1", 80, 1, inodes=(101,))
    assert fact(row, sockets_tcp=[door], socket_owners=owners).served == "db[12]"
    assert not fact(ROW, sockets_tcp=[door], socket_owners=owners).served


def test_the_end_of_a_socket_in_a_message_is_read() -> None:
    assert sockets_tcp.other_end(LEFT) == (SERVER, 80)
