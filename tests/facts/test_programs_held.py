"""What holds a program: one state for each, with the file that shows it and what helps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from flow_tables import socket

from nettop.collect import failed_calls, program_states, socket_owners, threads, waits
from nettop.facts.kinds import listener
from nettop.facts.kinds.program import STATES, Program, build
from nettop.frame.rates import Entry, Frame


def program(pid: int = 9, name: str = "app", **known: Any) -> program_states.Row:
    return program_states.Row(pid, name, **{"thaw": "", **known})


def thread(
    pid: int = 9, state: str = "S", call: str | None = "", kind: str = "", **known: Any
) -> waits.Row:
    return waits.Row(pid, pid, 1, "app", state, call, kind, **known)


def facts(*states: program_states.Row, **tables: Any) -> dict[int, Program]:
    """The programs of a host where app[9] listens, and nine connections wait."""
    frame = Frame(0.0, 0.0, {
        "sockets_tcp": (Entry(socket(1, state="listen", inode=7, recv_q=9, send_q=128)),),
        "program_states": tuple(map(Entry, states)),
        "socket_owners": (Entry(socket_owners.Row(7, 9, "app")),),
        **{name: tuple(map(Entry, rows)) for name, rows in tables.items()},
    })  # fmt: skip
    known: Any = SimpleNamespace(
        more={"listener": listener.build(frame, None)}, processes=(), flows=()
    )
    return {one.pid: one for one in build(frame, known)}


def call(name: str, error: str = "EAGAIN", where: str = "here") -> failed_calls.Row:
    return failed_calls.Row(name, error, 9, where, "", "", "app", 5)


V1, V2 = "/sys/fs/cgroup/freezer/x/freezer.state", "/sys/fs/cgroup/x/cgroup.freeze"
FULL: dict[str, Any] = {"full": "/sys/fs/cgroup/x", "tasks": 4}


@pytest.mark.parametrize(("row", "tables", "state", "words"), [
    (program(thaw=V1), {}, "frozen", f"echo THAWED > {V1}"),
    (program(thaw=V2), {"waits": [thread(state="D")]}, "frozen", f"echo 0 > {V2}"),
    (program(), {"waits": [thread(state="T")]}, "stopped", "kill -CONT 9"),
    (program(tracer=40), {"waits": [thread(state="t")]}, "traced", "ps -p 40"),
    (program(**FULL), {"failed_calls": [call("clone3")]}, "forks", "/sys/fs/cgroup/x/pids.max"),
    (program(tasks_of_user=50), {"failed_calls": [call("fork")]}, "forks", "--nproc --pid 9"),
    (program(), {"waits": [thread(call="fsync", kind="sync", object="/log")]}, "disk", "iostat"),
    (program(), {"waits": [thread(call="recvfrom", kind="input", object="socket:[4]")]}, "reads",
     "limit of idle time"),
    (program(), {"waits": [thread(call="nanosleep", kind="timer")]}, "sleeps", "only fills later"),
    (program(), {"waits": [thread(call="futex", kind="lock")]}, "locked", "/proc/9/task"),
    (program(), {"waits": [thread(call="epoll_wait", kind="events")]}, "events", "limit"),
])  # fmt: skip
def test_the_state_of_a_program_names_what_to_do(
    row: program_states.Row, tables: Any, state: str, words: str
) -> None:
    found = facts(row, **tables)[9]
    assert (found.state, found.held) == (state, STATES[state].held)
    assert words in found.cure
    assert "{" not in found.does + found.cure
    assert found.connections == 9


@pytest.mark.parametrize(("row", "tables"), [
    (program(), {}),
    (program(**FULL), {}),  # it is full, and starts nothing
    (program(), {"failed_calls": [call("fork", where="elsewhere"), call("fork", "ENOMEM")]}),
    (program(), {"waits": [thread(state="R"), thread(call=None)]}),  # runs, or may not be read
    (program(), {"waits": [thread(state="T"), thread(call="futex")]}),  # one thread goes on
    (program(), {"waits": [thread(call="write", kind="output", object="socket:[5]")]}),
    (program(), {"waits": [thread(call="read", kind="input", object="pipe:[5]")]}),
])  # fmt: skip
def test_nothing_is_told_of_a_program_that_works(row: program_states.Row, tables: Any) -> None:
    assert facts(row, **tables)[9].state == ""


@pytest.mark.parametrize(("reader", "words", "helps"), [
    ([thread(12, state="T")], "which reads it, is stopped", "kill -CONT 12"),
    ([thread(12, call="nanosleep", kind="timer")], "which sleeps by itself", "restart log[12]"),
    ([thread(12, state="R")], "log[12] does not read it", "restart log[12]"),
])  # fmt: skip
def test_behind_a_full_pipe_its_reader_is_named(reader: Any, words: str, helps: str) -> None:
    writer = thread(call="write", kind="output", object="pipe:[5]", drains=(12,))
    found = facts(program(), program(12, "log"), waits=[writer, *reader])[9]
    assert (found.state, found.held) == ("blocked", True)
    assert words in found.does
    assert helps in found.cure


def test_who_holds_the_lock_of_a_file_is_named() -> None:
    waiting = thread(call="flock", kind="lock", object="/run/lock", holders=(12,))
    found = facts(program(), program(12, "compactor"), waits=[waiting])[9]
    assert found.does == "waits for the lock of /run/lock, held by compactor[12] (flock)"


def test_two_that_wait_for_each_other_have_an_end() -> None:
    one = thread(call="write", kind="output", object="pipe:[5]", drains=(12,))
    other = thread(12, call="write", kind="output", object="pipe:[6]", drains=(9,))
    assert facts(program(), program(12, "log"), waits=[one, other])[9].state == "blocked"


def test_of_processes_with_one_socket_the_one_that_is_held_decides() -> None:
    rows = [socket_owners.Row(7, pid, "app") for pid in (9, 10, 11)]
    found = facts(program(), program(10), program(11, thaw=V2), socket_owners=rows)
    assert found[9].state == "frozen"


def test_memory_high_and_the_cpu_are_rates() -> None:
    times: dict[str, Any] = {"pid": 9, "tid": 9, "started": 1, "name": "app", "state": "R"}
    now, before = (program(high="/x", slowed=n) for n in (50, 10))
    run, ran = (threads.Row(**times, ran=n, waited=0.0) for n in (2.0, 1.0))
    frame = Frame(0.0, 0.0, {
        "program_states": (Entry(now, before=before, seconds=1.0),),
        "threads": (Entry(run, before=ran, seconds=1.0),),
    })  # fmt: skip
    known: Any = SimpleNamespace(more={}, processes=(), flows=())
    assert build(frame, known)[0].state == "slowed"
    frame = Frame(0.0, 0.0, {**frame.tables, "program_states": (Entry(program()),)})
    assert build(frame, known)[0].state == "busy"
