"""What holds a program: one state for each, with the file that shows it and what helps."""

from types import SimpleNamespace
from typing import Any

import pytest
from flow_tables import socket
from held_programs import facts, program, thread

from nettop.collect import (
    failed_calls,
    program_states,
    socket_owners,
    sockets_udp,
    threads,
    waits,
)
from nettop.collect.program_states import states
from nettop.facts.kinds.program import Program, build
from nettop.frame.fields import altered
from nettop.frame.rates import Entry, Frame


def call(name: str, error: str = "EAGAIN", where: str = "here") -> failed_calls.Row:
    return failed_calls.Row(name, error, 9, where, "", "", "app", 5)


V1, V2 = "/sys/fs/cgroup/freezer/x/freezer.state", "/sys/fs/cgroup/x/cgroup.freeze"
FULL: dict[str, Any] = {"full": "/sys/fs/cgroup/x", "tasks": 4, "room": 0}
ROOM: dict[str, Any] = {**FULL, "room": 2}
FORK = Frame(0.0, 0.0, {"failed_calls": (Entry(failed_calls.Row(
    "fork", "EAGAIN", 9, "here", "", "", "app", 5)),)})  # fmt: skip


@pytest.mark.parametrize(("row", "tables", "state", "words"), [
    (program(thaw=V1), {}, "frozen", f"echo THAWED > {V1}"),
    (program(thaw=V2), {"waits": [thread(state="D")]}, "frozen", f"echo 0 > {V2}"),
    (program(), {"waits": [thread(state="T")]}, "stopped", "kill -CONT 9"),
    (program(state="T"), {}, "stopped", "kill -CONT 9"),  # no client: its threads are not read
    (program(tracer=40), {"waits": [thread(state="t")]}, "traced", "ps -p 40"),
    (program(**FULL), {"failed_calls": [call("clone3")]}, "forks", "/sys/fs/cgroup/x/pids.max"),
    (program(tasks_of_user=50), {"failed_calls": [call("fork")]}, "forks", "--nproc --pid 9"),
    (program(), {"waits": [thread(call="fsync", kind="sync", object="/log")]}, "disk", "iostat"),
    (program(), {"waits": [thread(call="recvfrom", kind="input", object="socket:[4]")]}, "reads",
     "limit of idle time"),
    (program(), {"waits": [thread(call="nanosleep", kind="timer")]}, "sleeps", "only fills later"),
    (program(), {"waits": [thread(call="futex", kind="lock")]}, "locked", "/proc/9/task"),
    (program(), {"waits": [thread(call="epoll_wait", kind="events")]}, "events", "limit"),
    (program(), {"waits": [thread(call="pause", kind="pause")]}, "parked", "kill 9"),
])  # fmt: skip
def test_the_state_of_a_program_names_what_to_do(
    row: program_states.Row, tables: Any, state: str, words: str
) -> None:
    found = facts(row, **tables)[9]
    assert (found.state, found.held) == (state, states()[state].held)
    assert found.halted == (state in ("frozen", "stopped", "traced"))
    assert words in found.cure
    assert "{" not in found.does + found.cure
    assert found.connections == 9
    assert found.listens == "port 5001"


@pytest.mark.parametrize(("row", "tables"), [
    (program(), {}),
    (program(state="S"), {}),
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
])  # fmt: skip
def test_behind_a_full_pipe_its_reader_is_named(reader: Any, words: str, helps: str) -> None:
    writer = thread(call="write", kind="output", object="pipe:[5]", drains=(12,))
    found = facts(program(), program(12, "log"), waits=[writer, *reader])[9]
    assert (found.state, found.held) == ("blocked", True)
    assert words in found.does
    assert helps in found.cure


@pytest.mark.parametrize(("waited", "helps"), [(0.0, "nettop profile 12"), (0.8, "remove its pin")])
def test_who_is_faster_than_the_reader_of_its_pipe_is_not_held(waited: float, helps: str) -> None:
    """The reader works: it is no fault of it, and to restart it would end what it works at."""
    writer = thread(call="write", kind="output", object="pipe:[5]", drains=(12,))
    pauses = thread(12, call="futex", kind="lock")
    known: dict[str, Any] = {"pid": 12, "tid": 13, "started": 1, "name": "zstd", "state": "S"}
    time = Entry(threads.Row(**known, ran=0.6 - waited / 2, waited=waited),
                 before=threads.Row(**known, ran=0.0, waited=0.0), seconds=1.0)  # fmt: skip
    found = facts(program(), program(12, "zstd"), waits=[writer, pauses], threads=[time])[9]
    assert (found.state, found.held) == ("outrun", False)
    runs = facts(program(), program(12, "zstd"), waits=[writer, thread(12, state="R")])[9]
    assert runs.state == "outrun"  # of which the CPU time is not known
    assert "its reader zstd[12]" in found.does
    assert helps in found.cure
    assert "restart" not in found.cure


@pytest.mark.parametrize(("kind", "state"), [("output", "blocked"), ("input", "")])
def test_who_writes_into_a_named_pipe_that_nobody_reads_is_blocked(kind: str, state: str) -> None:
    """One that opens it to read waits for commands."""
    opens = thread(call="openat", kind=kind, type="pipe", word=4096)
    found = facts(program(), waits=[opens])[9]
    assert found.state == state
    if state:
        assert found.does.endswith("by a named pipe: nobody has opened it to read")
        assert "/proc/9/mem bs=1 skip=4096" in found.cure


@pytest.mark.parametrize("received", [0, 9000])
def test_connections_wait_for_a_program_of_another_namespace(received: int) -> None:
    queue = socket(2, state="listen", inode=8, local_port=80, recv_q=14, namespace=5)
    past = socket(3, inode=9, namespace=5, bytes_received=0, bytes_acked=0)
    served = altered(past, bytes_received=received)
    frame = Frame(0.0, 1.0, {
        "program_states": (Entry(program(12, "web", thaw=V1)),),
        "socket_owners": tuple(Entry(socket_owners.Row(inode, 12, "web")) for inode in (8, 9)),
        "netns_tcp": (Entry(queue), Entry(served, before=past, seconds=1.0)),
    })  # fmt: skip
    known: Any = SimpleNamespace(more={"listener": ()}, processes=(), flows=())
    (found,) = build(frame, known)
    assert (found.state, found.held, found.connections, found.ports) == ("frozen", True, 14, (80,))
    assert found.moved == received


def test_who_holds_the_lock_of_a_file_is_named() -> None:
    waiting = thread(call="flock", kind="lock", object="/run/lock", holders=(12,))
    found = facts(program(), program(12, "compactor"), waits=[waiting])[9]
    assert found.does == "waits for the lock of /run/lock, held by compactor[12] (flock)"
    assert (found.state, found.held) == ("flock", True)
    assert "lslocks -p 12" in found.cure


def test_two_that_wait_for_each_other_have_an_end() -> None:
    one = thread(call="write", kind="output", object="pipe:[5]", drains=(12,))
    other = thread(12, call="write", kind="output", object="pipe:[6]", drains=(9,))
    assert facts(program(), program(12, "log"), waits=[one, other])[9].state == "blocked"


def test_of_processes_with_one_socket_the_one_that_is_held_decides() -> None:
    rows = [socket_owners.Row(7, pid, "app") for pid in (9, 10, 11)]
    found = facts(program(), program(10), program(11, thaw=V2), socket_owners=rows)
    assert found[9].state == "frozen"


@pytest.mark.parametrize(("now", "before", "drops", "state"), [
    (9000, 9000, 90.0, "events"),  # full, and stays so
    (0, 9000, 90.0, ""), (4000, 9000, 90.0, ""), (9000, 4000, 90.0, ""),  # it reads in bursts
    (4000, 9000, 0.0, "events"),  # nothing is lost
])  # fmt: skip
def test_a_program_that_reads_its_datagrams_takes_what_waits(
    now: int, before: int, drops: float, state: str
) -> None:
    row = sockets_udp.Row(4, "0.0.0.0", 5004, "0.0.0.0", 0, False, 0, now, 0, int(drops))
    entry = Entry(row, before=altered(row, recv_q=before, drops=0), seconds=1.0)
    frame = Frame(0.0, 0.0, {
        "program_states": (Entry(program()),), "sockets_udp": (entry,),
        "socket_owners": (Entry(socket_owners.Row(4, 9, "app")),),
        "waits": (Entry(thread(call="poll", kind="events")),),
    })  # fmt: skip
    known: Any = SimpleNamespace(more={}, processes=(), flows=(), nics=())
    assert [one.state for one in build(frame, known)] == [state]


HOST: dict[str, Any] = {"all_tasks": 300, "pid_max": 32768, "threads_max": 9000}


@pytest.mark.parametrize(("known", "refused", "limit", "cure"), [
    ({**FULL, "tasks_of_user": 50}, 0, "pids.max of /sys/fs/cgroup/x is 4", "echo 4096"),
    ({**ROOM, "tasks_of_user": 50}, 3, "pids.max of /sys/fs/cgroup/x is 4", "echo 4096"),
    ({**ROOM, **HOST, "tasks_of_user": 50}, 0, "RLIMIT_NPROC of its user, 50, is reached",
     "prlimit --nproc --pid 9"),
    ({**HOST, "pid_max": 310, "tasks_of_user": 9000}, 0, "kernel.pid_max is reached",
     "`sysctl kernel.pid_max`"),
    ({**HOST, "tasks_of_user": 400, "threads_max": 400}, 0,
     "RLIMIT_NPROC of its user, 400, or kernel.threads-max is reached", "threads-max"),
    ({"tasks_of_user": 50}, 0,
     "RLIMIT_NPROC of its user, 50, or kernel.pid_max or kernel.threads-max is reached", "sysctl"),
    ({**HOST, "unseen": "/x", "tasks_of_user": 900}, 0, "pids.max of cgroup /x is reached",
     "cat /proc/9/cgroup"),
    ({**HOST, "unseen": "/..", "tasks_of_user": 50}, 3, "pids.max of cgroup /.. is reached",
     "on the host"),
    ({**HOST, "tasks_of_user": 900}, 0, "a limit that is not visible here is reached", "limits"),
])  # fmt: skip
def test_of_the_limits_of_processes_those_that_may_be_reached_are_named(
    known: dict[str, Any], refused: int, limit: str, cure: str
) -> None:
    now, before = (program(**{**known, "refused": count}) for count in (refused, 0))
    states = (Entry(now, before=before, seconds=1.0),)
    none: Any = SimpleNamespace(more={}, processes=(), flows=())
    (found,) = build(Frame(0.0, 0.0, {**FORK.tables, "program_states": states}), none)
    assert found.does == f"cannot start a process or thread: {limit}"
    assert cure in found.cure


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


OURS: dict[str, Any] = {
    "local_port": 40001, "remote": "10.0.0.9", "remote_port": 5432, "inode": 4,
    "bytes_acked": 10, "bytes_received": 5,
}  # fmt: skip
ASKED = {**OURS, "last_sent": 900, "last_received": 5000}
SHUT = {**OURS, "send_q": 9000, "snd_wnd": 0}


def stands(
    waiting: waits.Row, *sockets: Any, moved: int = 0, ran: float = 0.0, new: Any = (),
    other: waits.Row = thread(12, call="futex", kind="lock"),  # noqa: B008
) -> Program:  # fmt: skip
    """The program app[9], with connections that moved so many bytes since the reading before."""
    times: dict[str, Any] = {"pid": 9, "tid": 9, "started": 1, "name": "app", "state": "S"}
    run = Entry(threads.Row(**times, ran=ran, waited=0.0),
                before=threads.Row(**times, ran=0.0, waited=0.0), seconds=1.0)  # fmt: skip
    tcp = [socket(1, state="listen", inode=7, local_port=80)]
    tcp += [socket(2 + place, **one) for place, one in enumerate(sockets)]
    past = [one._replace(bytes_acked=(one.bytes_acked or 0) - moved) for one in tcp]
    frame = Frame(0.0, 0.0, {
        "sockets_tcp": tuple(Entry(one, before=old, seconds=1.0)
                             for one, old in zip(tcp, past, strict=True)) + new,
        "program_states": (Entry(program()), Entry(program(12, "db"))),
        "socket_owners": tuple(Entry(socket_owners.Row(inode, pid, name)) for inode, pid, name
                               in ((7, 9, "app"), (4, 9, "app"), (6, 9, "app"), (8, 9, "app"),
                                       (5, 12, "db"))),
        "waits": (Entry(waiting), Entry(other)),
        "threads": (run,),
    })  # fmt: skip
    known: Any = SimpleNamespace(more={}, processes=(), flows=(), nics=())
    return next(one for one in build(frame, known) if one.pid == 9)


READS = thread(call="recvfrom", kind="input", object="socket:[4]")
SENDS = thread(call="sendto", kind="output", object="socket:[4]")
POLLS = thread(call="poll", kind="events")


@pytest.mark.parametrize(("waiting", "connection", "does", "cure"), [
    (READS, ASKED, "waits in recvfrom() for an answer of 10.0.0.9:5432", "On 10.0.0.9, see"),
    (READS, OURS, "waits in recvfrom() for an answer of 10.0.0.9:5432", "at port 5432"),
    (POLLS, ASKED, "waits for an answer of 10.0.0.9:5432", "a timeout"),
    (READS, {**ASKED, "send_q": 8, "snd_wnd": 9}, "waits in recvfrom() for an answer of",
     "`nettop why --to 10.0.0.9:5432` walks"),
    (SENDS, SHUT, "waits in sendto() until 10.0.0.9:5432 takes more: its window is closed", "On"),
    (SENDS, {**SHUT, "snd_wnd": 99}, "takes more: it acknowledges nothing", "why --to"),
])  # fmt: skip
def test_who_does_not_answer_or_read_is_named(
    waiting: waits.Row, connection: dict[str, Any], does: str, cure: str
) -> None:
    found = stands(waiting, connection)
    assert found.held
    assert found.does.startswith(does) or does in found.does
    assert cure in found.cure
    assert "{" not in found.does + found.cure


FIRST = {**OURS, "bytes_received": 0, "last_sent": 9000, "last_received": 9000}  # at once
CLIENT = {"local_port": 80, "remote": "10.0.0.7", "inode": 6, "bytes_acked": 0,
          "bytes_received": 18, "last_sent": 5000, "last_received": 5000}  # fmt: skip
GONE = {**CLIENT, "state": "close-wait", "recv_q": 1}
FLOCK = thread(call="flock", kind="lock", object="/run/lock", holders=(12,))


@pytest.mark.parametrize(("waiting", "clients", "connections"), [
    (FLOCK, [CLIENT], 1),
    (FLOCK, [{**CLIENT, "bytes_acked": 90, "last_sent": 9000}], 1),  # its second question
    (FLOCK, [GONE, {**GONE, "inode": 8}], 2),  # they gave up, and nobody has seen that
    (FLOCK, [{**CLIENT, "recv_q": 18}], 1),
    (FLOCK, [CLIENT, {**CLIENT, "inode": 8}], 1),  # one thread waits: the other may only send
    (FLOCK, [{**CLIENT, "bytes_acked": 90, "last_sent": 4000}], 0),  # it was answered
    (FLOCK, [{**CLIENT, "last_received": 200}], 0),  # a moment ago
    (FLOCK, [{**CLIENT, "bytes_received": 0}], 0),  # it asked nothing
    (thread(state="T"), [CLIENT, {**CLIENT, "inode": 8}], 2),
    (READS, [CLIENT, {**GONE, "inode": 8}], 0),  # the server may answer late by design
    (POLLS, [CLIENT], 0),
])  # fmt: skip
def test_clients_without_an_answer_wait_for_a_program_that_is_held_up(
    waiting: waits.Row, clients: list[dict[str, Any]], connections: int
) -> None:
    assert stands(waiting, FIRST, *clients).connections == connections


@pytest.mark.parametrize(("client", "connections"), [
    ({}, 1), ({"last_received": 200, "last_sent": 200}, 0), ({"local_port": 81}, 0),
])  # fmt: skip
def test_a_client_that_came_since_the_last_reading_waits_for_who_listens(
    client: dict[str, Any], connections: int
) -> None:
    new = socket(9, **{**CLIENT, "inode": 99, **client})  # its descriptor is not listed yet
    assert stands(FLOCK, FIRST, new=(Entry(new),)).connections == connections


@pytest.mark.parametrize(("waiting", "other", "connections"), [
    (READS, thread(12, call="flock", kind="lock", object="/run/lock", holders=(13,)), 1),
    (POLLS, thread(12, state="T"), 1),
    (READS, thread(12, call="futex", kind="lock"), 0),
    (READS, thread(12, call="poll", kind="events"), 0),
])  # fmt: skip
def test_clients_wait_too_behind_a_program_that_waits_for_one_that_is_held_up(
    waiting: waits.Row, other: waits.Row, connections: int
) -> None:
    theirs = {"local_port": 5432, "remote": "10.0.0.1", "remote_port": 40001, "inode": 5,
              "bytes_received": 9, "recv_q": 9}  # fmt: skip
    found = stands(waiting, {**FIRST, "remote": "10.0.0.1"}, theirs, CLIENT, other=other)
    assert found.connections == connections


@pytest.mark.parametrize(("waiting", "sockets", "state"), [
    (READS, (FIRST, CLIENT), "asks"),
    (POLLS, (FIRST, CLIENT), "asks"),
    (FLOCK, (CLIENT,), "flock"),
    (FLOCK, (), "flock"),  # it does nothing else
    (thread(call="flock", kind="lock", object="/run/lock", holders=(9,)), (CLIENT,), "locked"),
])  # fmt: skip
def test_what_its_clients_wait_for_is_told(waiting: waits.Row, sockets: Any, state: str) -> None:
    assert stands(waiting, *sockets).state == state


def test_a_thread_that_waits_for_its_turn_holds_nobody() -> None:
    rows = [FLOCK, altered(thread(call="epoll_wait", kind="events"), tid=10)]
    assert facts(program(), program(12, "leader"), waits=rows)[9].state != "flock"


@pytest.mark.parametrize(("waiting", "connection", "more", "state"), [
    (READS, ASKED, {"moved": 8}, "reads"),  # it is answered
    (READS, ASKED, {"ran": 0.2}, "reads"),  # other threads work
    (READS, {**ASKED, "local_port": 80}, {}, "reads"),  # an idle client
    (READS, {**OURS, "last_sent": 5000, "last_received": 900}, {}, "reads"),  # a subscription
    (POLLS, OURS, {}, "events"),  # nothing was asked, as far as is known
    (SENDS, {**SHUT, "snd_wnd": 99}, {"moved": 8}, ""),  # a transfer
    (POLLS, {**SHUT, "local_port": 80}, {}, "events"),  # one client of many does not read
])  # fmt: skip
def test_a_connection_that_moves_or_was_accepted_holds_nothing(
    waiting: waits.Row, connection: dict[str, Any], more: Any, state: str
) -> None:
    assert stands(waiting, connection, **more).state == state


def test_a_program_of_this_host_that_does_not_answer_is_named_with_what_it_waits_for() -> None:
    ours = {**ASKED, "remote": "10.0.0.1"}
    theirs = {"local_port": 5432, "remote": "10.0.0.1", "remote_port": 40001, "inode": 5}
    found = stands(READS, ours, theirs)
    assert found.does == (
        "waits in recvfrom() for an answer of 10.0.0.1:5432, db[12], which waits for a lock or "
        "another thread (futex)"
    )
    assert "/proc/12/task" in found.cure


def test_behind_a_connection_that_is_not_accepted_is_the_program_that_listens() -> None:
    ours = {**ASKED, "local": "127.0.0.1", "remote": "127.0.0.1", "local_port": 40001}
    theirs = {"local": "127.0.0.1", "local_port": 5432, "remote": "127.0.0.1",
              "remote_port": 40001, "inode": 0}  # fmt: skip
    door = {"state": "listen", "local": "0.0.0.0", "local_port": 5432, "inode": 5}
    found = stands(READS, ours, theirs, door, other=thread(12, state="T"))
    assert found.does == (
        "waits in recvfrom() for an answer of 127.0.0.1:5432, db[12], which is stopped by a signal "
        "(state T)"
    )
    assert found.behind == 12
    alone = stands(READS, ours)
    assert alone.behind is None
    assert alone.cure.startswith("`ss -tlnp sport = :5432` shows who does not answer on this host")


def test_who_waits_is_told_once_in_a_chain() -> None:
    ours = {**ASKED, "remote": "10.0.0.1"}
    theirs = {"local_port": 5432, "remote": "10.0.0.1", "remote_port": 40001, "inode": 5}
    busy = thread(12, call="flock", kind="lock", object="/run/lock", holders=(30,))
    found = stands(READS, ours, theirs, other=busy)
    assert found.cure.count("Until then") == 1


def test_a_client_that_waits_for_data_is_not_told_to_end_its_idle_clients() -> None:
    hears = {**OURS, "last_sent": 5000, "last_received": 900}  # it asked nothing
    found = stands(READS, hears)
    assert found.does == "waits in recvfrom() for data of 10.0.0.9:5432, to which it is connected"
    assert found.cure.startswith("On 10.0.0.9, see what holds the program at port 5432")
