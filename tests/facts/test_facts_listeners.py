"""The facts of a listening socket: its queue, those beside it, and the process that is meant."""

import pytest
from flow_tables import HOST, frames, joined, socket

from nettop.collect import socket_owners, sockets_tcp, tcp_files
from nettop.facts.connections import closer, leak


def test_listeners_of_one_port_know_the_queues_of_each_other_and_the_files_of_their_process() -> (
    None
):
    def listen(inode: int, waiting: int, port: int = 443) -> sockets_tcp.Row:
        row: sockets_tcp.Row = socket(cookie=inode, inode=inode, state="listen", local="::",
                                      local_port=port, recv_q=waiting, send_q=128)  # fmt: skip
        return row

    tables = {
        **HOST,
        "sockets_tcp": [listen(1, 90), listen(2, 3), listen(3, 5, 80), socket(cookie=9, inode=4)],
        "socket_owners": [socket_owners.Row(1, 70, "nginx")],
        "tcp_files": [tcp_files.Row(70, 60, 64)],
    }
    first, second, alone = joined(tables, tables).more["listener"]
    assert (first.port, first.waiting, first.backlog, first.group, first.others) == (
        443,
        90,
        128,
        2,
        3,
    )
    assert (first.pid, first.process, first.files, first.files_max) == (70, "nginx", 60, 64)
    assert (second.others, second.pid, second.files) == (90, None, None)
    assert (alone.group, alone.others) == (1, 0)


def test_of_the_processes_that_share_a_listener_the_one_that_cannot_accept_is_meant() -> None:
    door = socket(cookie=1, inode=1, state="listen", local="::", local_port=443, recv_q=9, send_q=8)
    taken = [socket(cookie=n, inode=n, local_port=443) for n in (5, 6)]
    parent, worker = socket_owners.Row(1, 70, "hitch"), socket_owners.Row(1, 76, "hitch")
    spare = socket_owners.Row(1, 78, "hitch")

    def owner(*more: socket_owners.Row) -> tuple[int | None, int | None]:
        tables = {
            **HOST,
            "sockets_tcp": [door, *taken],
            "socket_owners": [parent, worker, *more],
            "tcp_files": [tcp_files.Row(70, 12, 64), tcp_files.Row(76, 63, 64),
                          tcp_files.Row(78, 20, 64)],
        }  # fmt: skip
        (one,) = joined(tables, tables).more["listener"]
        return one.pid, one.files

    assert owner() == (70, 12)  # none of both is known to accept
    assert owner(socket_owners.Row(5, 76, "hitch")) == (76, 63)
    both = (socket_owners.Row(5, 76, "hitch"), spare, socket_owners.Row(6, 78, "hitch"))
    assert owner(*both) == (70, 12)  # another worker still accepts


@pytest.mark.parametrize(("files", "closed", "told"), [
    (16, 12, "used up: 12 are connections that 10.0.0.9:7000 has closed, and the program"),
    (16, 2, "used up"),  # few
    (10, 12, "used up"),  # files are left: no rule
])  # fmt: skip
def test_what_a_program_without_files_does_not_close_is_told(
    files: int, closed: int, told: str
) -> None:
    door = socket(cookie=1, inode=1, state="listen", local="::", local_port=443, recv_q=9, send_q=8)
    gone = [socket(cookie=n, inode=n, state="close-wait", remote="10.0.0.9", remote_port=7000)
            for n in range(2, 2 + closed)]  # fmt: skip
    tables = {
        **HOST,
        "sockets_tcp": [door, *gone],
        "socket_owners": [socket_owners.Row(one.inode, 70, "api") for one in (door, *gone)],
        "tcp_files": [tcp_files.Row(70, files, 16)],
    }
    (one,) = joined(tables, tables).more["listener"]
    assert one.leak.partition(" has not")[0] == told
    assert bool(one.cure) is (told != "used up")
    assert leak(frames(tables)[0], 71) == ""


def test_who_ends_connections_is_named_where_one_alone_may() -> None:
    web = socket(cookie=1, inode=1, state="listen", local_port=80)
    ssh = socket(cookie=2, inode=2, state="listen", local_port=22)
    unread = socket(cookie=3, inode=3, local_port=80, recv_q=900)
    held = [socket_owners.Row(1, 7, "web"), socket_owners.Row(2, 8, "sshd")]

    def told(*rows: object) -> str:
        tables = {**HOST, "sockets_tcp": list(rows), "socket_owners": held}
        return closer(frames(tables)[0])

    assert told(web) == "This host (web[7] at port 80)"
    assert told(web, ssh, unread) == "This host (perhaps web[7] at port 80)"
    assert told(web, ssh) == told(unread) == "This host"
