"""Who leaves a program without an answer beside its open connections, and who holds its threads."""

from types import SimpleNamespace
from typing import Any

import pytest
from asleep import asleep
from flow_tables import socket

from nettop.collect import (
    failed_calls,
    program_states,
    socket_owners,
    sockets_udp,
    udp_questions,
    waits,
)
from nettop.facts.kinds.program import Program, build
from nettop.frame.fields import altered
from nettop.frame.rates import Entry, Frame

DNS = "10.0.0.53"


def thread(call: str, kind: str, tid: int = 9, **known: Any) -> waits.Row:
    return asleep(9, tid, 1, "app", "S", call, kind, **known)


def facts(
    *rows: waits.Row, sockets: Any = (), waiters: tuple[int, ...] = (), failed: Any = (),
    udp: Any = (), others: Any = (), young: Any = (), **queue: Any,
) -> Program:  # fmt: skip
    """The program app[9], which listens at port 80 and holds the sockets 4 to 6."""
    tcp = [socket(1, state="listen", inode=7, local_port=80, **queue), *sockets]
    asked = [udp_questions.Row(DNS, waiting=1, waiters=waiters)] if waiters else []
    frame = Frame(0.0, 0.0, {
        "sockets_tcp": (*(Entry(one, before=one, seconds=1.0) for one in tcp), *map(Entry, young)),
        "program_states": (Entry(program_states.Row(9, "app", "")),),
        "socket_owners": tuple(Entry(socket_owners.Row(inode, 9, "app")) for inode in (4, 5, 6, 7))
        + tuple(map(Entry, others)),
        "waits": tuple(map(Entry, rows)),
        "udp_questions": tuple(map(Entry, asked)),
        "failed_calls": tuple(map(Entry, failed)),
        "sockets_udp": tuple(Entry(one, before=one, seconds=1.0) for one in udp),
    })  # fmt: skip
    known: Any = SimpleNamespace(more={}, processes=(), flows=(), nics=())
    return next(iter(build(frame, known)))


POLLS = thread("poll", "events", ends=True)


@pytest.mark.parametrize("waiting", [
    POLLS, thread("recvfrom", "input", object="socket:[99]"),
])  # fmt: skip
def test_a_program_that_waits_for_a_name_server_is_told_with_it(waiting: waits.Row) -> None:
    found = facts(waiting, waiters=(9,))
    assert found.does == f"waits in {waiting.call}() for an answer of name server {DNS}:53"
    assert (found.state, found.held) == ("asks", True)
    assert f"`nettop why --udp --to {DNS}:53`" in found.cure


@pytest.mark.parametrize(("waiting", "waiters"), [
    (thread("epoll_wait", "events", ends=True), (9,)),  # an event loop serves others meanwhile
    (thread("poll", "events"), (9,)),  # a question has a time
    (POLLS, (12,)),  # another program asks
    (POLLS, ()),
])  # fmt: skip
def test_a_program_that_may_wait_for_others_is_not_held_by_a_question(
    waiting: waits.Row, waiters: tuple[int, ...]
) -> None:
    assert facts(waiting, waiters=waiters).state == "events"


@pytest.mark.parametrize("waiting", [thread("connect", "opens", object="socket:[4]"), POLLS])
def test_an_attempt_to_connect_without_an_answer_holds_a_program(waiting: waits.Row) -> None:
    attempt = socket(2, state="syn-sent", inode=4, remote="10.0.0.9", remote_port=5432)
    found = facts(waiting, sockets=[attempt])
    assert found.does == (
        f"waits in {waiting.call}() for an answer of 10.0.0.9:5432 to its attempt to connect"
    )
    assert "`nettop why --to 10.0.0.9:5432` walks the way" in found.cure


def test_who_made_a_young_attempt_is_known_by_those_that_ended() -> None:
    attempt = socket(2, state="syn-sent", inode=99, remote="10.0.0.9", remote_port=5432)
    assert facts(POLLS, sockets=[attempt]).state == "events"
    ended = failed_calls.Row("connection", "GIVEN_UP", 9, "here", "10.0.0.9", "5432", "app", 2)
    found = facts(POLLS, sockets=[attempt], failed=[ended])
    assert found.does.endswith("10.0.0.9:5432 to its attempt to connect")


def test_a_thread_that_reads_a_datagram_socket_waits_for_the_other_end_of_it() -> None:
    row = sockets_udp.Row(99, "10.0.0.1", 4000, "10.0.0.9", 1812, False, 0, 0, 0, 0)
    reads = thread("recvfrom", "input", object="socket:[99]")
    assert facts(reads, udp=[row]).does == "waits in recvfrom() for an answer of 10.0.0.9:1812"
    assert not facts(reads, udp=[altered(row, remote_port=0)]).state  # it waits for clients
    assert facts(POLLS, udp=[row]).state == "events"  # it may send there only


def test_a_program_at_a_unix_socket_that_was_not_looked_at_is_where_to_look() -> None:
    waiting = thread("recvfrom", "input", object="socket:[98]", feeds=(12,))
    found = facts(waiting)
    assert found.cure == "See what holds process 12: `sudo nettop why 12`"
    found = facts(waiting, others=[socket_owners.Row(98, 12, "db")])
    assert found.does == "waits in recvfrom() for data of db[12]"


def test_the_client_whose_idle_connections_hold_the_threads_is_named() -> None:
    rows = [thread("read", "input", tid, object=f"socket:[{tid}]") for tid in (4, 5, 6)]
    clients = ("10.0.0.7", "10.0.0.8", "10.0.0.7")
    sockets = [socket(tid, local_port=80, inode=tid, remote=host, bytes_acked=0, bytes_received=0)
               for tid, host in zip((4, 5, 6), clients, strict=True)]  # fmt: skip
    found = facts(*rows, sockets=sockets)
    assert found.does == (
        "waits in read() for data of 2 idle connections of 10.0.0.7 and of 1 connection of others"
    )
    one = facts(*rows, sockets=[one._replace(remote="10.0.0.7") for one in sockets])
    assert one.does.endswith("for data of 3 idle connections of 10.0.0.7")


@pytest.mark.parametrize(("others", "queue", "state"), [
    ((), {"recv_q": 17, "send_q": 16}, "asks"),
    ((), {"recv_q": 3, "send_q": 16}, "events"),  # it may have asked just now
    ((12,), {"recv_q": 17, "send_q": 16}, "events"),  # whose connection it is is not known
])  # fmt: skip
def test_whose_accept_queue_is_full_waits_for_what_it_asks_on_a_new_connection(
    others: tuple[int, ...], queue: dict[str, Any], state: str
) -> None:
    ask = socket(3, inode=99, remote="10.0.0.9", remote_port=7000, bytes_sent=23,
                 last_sent=120, last_received=120)  # fmt: skip
    made = [failed_calls.Row("connection", failed_calls.OPENED, pid, "here", "10.0.0.9", "7000",
                             "app", 3) for pid in (9, *others)]  # fmt: skip
    found = facts(POLLS, young=[ask], failed=made, **queue)
    assert found.state == state
    assert ("for an answer of 10.0.0.9:7000" in found.does) is (state == "asks")
