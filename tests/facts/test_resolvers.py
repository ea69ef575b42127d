"""Questions to name servers that wait for an answer, from the first reading to the last."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from folded import folded

from nettop.collect import socket_owners, sockets_udp, threads, udp_questions
from nettop.collect._table import Memory, recall
from nettop.collect.failed_calls import Row as Call
from nettop.facts.kinds import resolver
from nettop.facts.kinds.attempt import Attempt
from nettop.frame.pairs import entries
from nettop.frame.rates import Entry, Frame


def socket(inode: int, remote: str = "10.0.0.9", port: int = 53, unread: int = 0) -> Any:
    return sockets_udp.Row(inode, "10.0.0.1", 40000, remote, port, False, 0, unread, 0, 0)


def last(readings: Sequence[list[Any]], every: float = 1.0) -> Sequence[udp_questions.Row]:
    """The rows after the last reading."""
    memory: Memory = {}
    rows: Sequence[udp_questions.Row] = ()
    for number, sockets in enumerate(readings):
        known = recall(memory, sockets_udp.Known)
        known.rows, known.at = sockets, number * every
        rows = udp_questions.update(None, memory)  # type: ignore[arg-type]
    return rows


def late(*readings: list[Any], every: float = 1.0) -> dict[str, tuple[int, int]]:
    """What waits at each name server after the last reading, and what waited for long."""
    return {row.server: (row.waiting, row.late) for row in last(readings, every)}


ONE, TWO = [socket(1)], [socket(2)]


@folded(("readings", "counted"), [
    ([[], ONE, ONE, ONE], 1),  # it waits still
    ([[], ONE, ONE, ONE, ONE, ONE], 1),  # and is counted once
    ([[], ONE, ONE, ONE, []], 1),
    ([ONE, ONE, ONE, TWO], 1),  # it was there before the first reading, and gave up
    ([ONE, ONE, ONE, ONE], 0),  # a forwarder keeps its sockets
    ([ONE, ONE, TWO, TWO], 0),  # a second each
    ([[], ONE, [], TWO], 0),
    ([ONE, ONE, [socket(1, unread=80)], ONE, []], 0),  # answers came
    ([[], *[[socket(1, port=123)]] * 4], 0),  # of another service
    ([[], *[[socket(0)]] * 4], 0),  # closed, not yet removed
])  # fmt: skip
def test_a_question_that_waits_for_two_seconds_is_counted(
    readings: list[list[Any]], counted: int
) -> None:
    assert sum(number for _, number in late(*readings).values()) == counted


@folded(("readings", "counted"), [
    ([ONE, TWO, [socket(3)], [socket(4)]], 2),  # a second each; the last waits still
    ([[], ONE, [socket(1, unread=80)], []], 0),
    ([ONE, []], 0),  # a forwarder's
])  # fmt: skip
def test_a_question_that_was_closed_without_an_answer_is_unheard(
    readings: list[list[Any]], counted: int
) -> None:
    assert sum(row.unheard for row in last(readings)) == counted


@folded(("readings", "held"), [
    ([ONE, ONE, TWO, TWO, TWO], (2, 1.0)),  # one program, name after name
    ([ONE, [], TWO, [], []], (2, 0.4)),
    ([ONE, ONE, ONE, ONE], (1, None)),  # too few
    ([*[ONE] * 5, *[TWO] * 10], (1, 1.0)),  # ten seconds are enough
])  # fmt: skip
def test_how_long_questions_wait_one_after_the_other(
    readings: list[list[Any]], held: tuple[int, float | None]
) -> None:
    assert [(row.asked, row.held) for row in last(readings)] == [held]


def test_a_question_that_waits_for_another_server_is_seen() -> None:
    rows = [Entry(udp_questions.Row(name, asked=1)) for name in ("10.0.0.8", "10.0.0.9")]
    for tables, alone in ((rows, [False, False]), (rows[:1], [True])):
        frame = Frame(1.0, 1.0, {"udp_questions": tables})
        assert [one.alone for one in resolver.build(frame, None)] == alone  # type: ignore[arg-type]


def test_sockets_that_were_not_read_again_do_not_age() -> None:
    memory: Memory = {}
    for at, rows in ((0.0, []), (1.0, ONE), (1.0, ONE), (1.0, ONE)):
        known = recall(memory, sockets_udp.Known)
        known.rows, known.at = rows, at
        found = udp_questions.update(None, memory)  # type: ignore[arg-type]
    assert [(row.waiting, row.late) for row in found] == [(1, 0)]


def test_the_name_servers_are_told_with_the_processes_that_asked() -> None:
    memory: Memory = {}
    recall(memory, sockets_udp.Known).rows = [socket(1), socket(2), socket(3)]
    recall(memory, sockets_udp.Known).at = 1.0
    recall(memory, threads.Moving).holders = {1: 9, 2: 8}
    recall(memory, socket_owners.Known).held = {
        str(pid): socket_owners._ProcessSockets(name) for pid, name in ((9, "app"), (8, "curl"))
    }
    (row,) = udp_questions.update(None, memory)  # type: ignore[arg-type]
    assert (row.waiting, row.processes) == (3, ("app[9]", "curl[8]"))


def test_a_name_server_has_the_rate_of_what_waited() -> None:
    now, before = (udp_questions.Row("10.0.0.9", 2, n, n, ("app[9]",)) for n in (3, 1))
    other = Entry(udp_questions.Row("fd00::8"))
    tables = {"udp_questions": [Entry(now, before=before, seconds=1.0), other]}
    found = resolver.build(Frame(1.0, 1.0, tables), None)  # type: ignore[arg-type]
    assert [(one.id, one.waiting, one.late, one.unheard, one.processes) for one in found] == [
        ("10.0.0.9:53", 2, 2.0, 2.0, ("app[9]",)), ("[fd00::8]:53", 0, None, None, ()),
    ]  # fmt: skip


def test_a_question_of_a_young_socket_is_that_of_the_only_program_that_asked() -> None:
    memory: Memory = {}
    known, moving = recall(memory, sockets_udp.Known), recall(memory, threads.Moving)
    moving.holders = {1: 9}
    held = recall(memory, socket_owners.Known).held
    for pid in ("9", "12"):
        held[pid] = socket_owners._ProcessSockets(name="app")
    waiters = []
    for at, sockets in enumerate((ONE, TWO, [socket(3)], TWO)):
        if at == 2:
            moving.holders[3] = 12
        known.rows, known.at = sockets, float(at)
        (row,) = udp_questions.update(None, memory)  # type: ignore[arg-type]
        waiters.append(row.waiters)
    assert waiters == [(9,), (9,), (12,), ()]


def failed(error: str, port: str = "53", call: str = "connection", where: str = "here") -> Call:
    return Call(call, error, 7, where, "10.9.0.53", port, "app", 3)


@folded(("rows", "tries", "said"), [
    ([failed("ECONNREFUSED")], (), [("10.9.0.53:53", 3, ("ECONNREFUSED",), ("app[7]",))]),
    ([failed("GIVEN_UP")], [Attempt("10.9.0.53:53", 2, processes=("b[8]",))],
     [("10.9.0.53:53", 5, ("GIVEN_UP",), ("app[7]", "b[8]"))]),
    ([], [Attempt("10.9.0.53:53", 2), Attempt("10.9.0.53:443", 2)],
     [("10.9.0.53:53", 2, (), ())]),
    ([failed("0"), failed("ECONNREFUSED", "80"), failed("ECONNREFUSED", where="elsewhere"),
      failed("ECONNREFUSED", call="sendto")], (), []),
])  # fmt: skip
def test_connections_for_answers_that_are_too_long_for_a_datagram(
    rows: list[Call], tries: list[Attempt], said: list[Any]
) -> None:
    seen: Any = SimpleNamespace(more={"attempt": tries})
    found = resolver.repeated(Frame(0.0, 0.0, {"failed_calls": entries(rows, (), 1.0)}), seen)
    assert [(one.id, one.failed, one.errors, one.processes) for one in found] == said
