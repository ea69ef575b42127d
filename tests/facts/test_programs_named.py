"""The programs that are told with a held one, and where one loses packets."""

from types import SimpleNamespace
from typing import Any

from held_programs import facts, program, thread

from nettop.collect import threads, tun_readers
from nettop.facts.kinds.program import build
from nettop.frame.fields import altered
from nettop.frame.rates import Entry, Frame


def test_whose_data_a_unix_socket_lacks_is_told() -> None:
    waiting = thread(call="recvfrom", kind="input", object="socket:[4]", feeds=(12,))
    found = facts(program(), program(12, "db"), waits=[waiting, thread(12, state="T")])[9]
    assert (
        found.does
        == "waits in recvfrom() for data of db[12], which is stopped by a signal (state T)"
    )
    assert "kill -CONT 12" in found.cure


def test_a_program_behind_a_tun_interface_has_its_losses() -> None:
    nic = SimpleNamespace(
        name="tun0", driver="tun", per_s=SimpleNamespace(tx_packets=0.0, tx_dropped=90.0)
    )
    frame = Frame(0.0, 0.0, {
        "program_states": (Entry(program()),), "tun_readers": (Entry(tun_readers.Row("tun0", 9)),),
    })  # fmt: skip
    known: Any = SimpleNamespace(more={}, processes=(), flows=(), nics=(nic,))
    (found,) = build(frame, known)
    assert (found.nic, found.taken, found.dropped) == ("tun0", 0.0, 90.0)


def test_a_writer_that_runs_between_is_not_blocked() -> None:
    """Its reader is slow: whoever is woken when there is room goes on by itself."""
    writer = thread(call="write", kind="output", object="pipe:[5]", drains=(12,))
    row = threads.Row(9, 9, 1, "app", "S", 1.0, 0.0, runs=40)
    ran = Entry(row, before=altered(row, runs=20), seconds=1.0)
    known = facts(program(), waits=[writer])[9]
    assert known.state == "blocked"
    frame = Frame(0.0, 0.0, {
        "program_states": (Entry(program()),), "waits": (Entry(writer),), "threads": (ran,),
    })  # fmt: skip
    none: Any = SimpleNamespace(more={}, processes=(), flows=(), nics=())
    assert build(frame, none)[0].state == ""


def test_who_reads_the_pipe_is_named_and_not_who_waits_for_that_one() -> None:
    writer = thread(call="write", kind="output", object="pipe:[5]", drains=(12, 13))
    waiter, reader = thread(12, call="wait4", kind="child"), thread(13, call="futex", kind="lock")
    states = program(), program(12, "timeout"), program(13, "log")
    found = facts(*states, waits=[writer, waiter, reader])[9]
    assert "log[13]" in found.does
    assert "timeout" not in found.does + found.cure
