"""Who has sockets at a port that moves no data, and which ports are near."""

from typing import Any

from flow_tables import socket

from nettop.collect import namespaces, netns_udp, socket_owners, sockets_udp
from nettop.facts import doors
from nettop.frame.rates import Entry, Frame


def door(port: int, inode: int, **more: Any) -> Any:
    plain = {"state": "listen", "local": "0.0.0.0", "namespace": 0, "send_q": 128}
    return socket(inode, local_port=port, inode=inode, **{**plain, **more})


def frame(*tcp: Any, **tables: Any) -> Frame:
    owners = [socket_owners.Row(inode, pid, name) for inode, pid, name in (
        (5, 12, "web"), (6, 13, "api"), (7, 14, "curl"),
    )]  # fmt: skip
    rows = {"sockets_tcp": tcp, "socket_owners": owners, **tables}
    return Frame(0.0, 0.0, {name: tuple(map(Entry, each)) for name, each in rows.items()})


def test_who_listens_is_told_with_what_waits_and_what_is_open() -> None:
    open_ = socket(8, local_port=80, inode=9, namespace=0, remote_port=4000)
    told = doors.held(frame(door(80, 5, recv_q=3), open_), 80)
    assert told == (
        "web[12] listens at 0.0.0.0:80 (tcp), with 1 open connection, and 3 of 128 wait to be "
        "accepted"
    )


def test_who_listens_in_another_namespace_is_told_with_its_name() -> None:
    spaces = [namespaces.Row(77, "blue", 40, 1)]
    beyond = frame(netns_tcp=[door(80, 6, namespace=77)], namespaces=spaces)
    assert "api[13] listens at 0.0.0.0:80 (tcp) in namespace blue, with 0 open" in doors.held(
        beyond, 80
    )
    udp = frame(netns_udp=[netns_udp.Row(77, 6, "0.0.0.0", 53, 900, 0)], namespaces=spaces)
    assert doors.held(udp, 53).endswith("0.0.0.0:53 (udp) in namespace blue, with 900 B unread")


def test_what_a_program_is_connected_to_is_counted() -> None:
    to = {"remote": "10.0.0.9", "remote_port": 443, "namespace": 0, "local_port": 4000}
    told = doors.held(frame(socket(1, inode=7, **to), socket(2, inode=7, **to)), 443)
    assert told == "curl[14] has 2 sockets to 10.0.0.9:443 (tcp)"


def test_where_nobody_listens_the_nearest_ports_are_named() -> None:
    asks = sockets_udp.Row(7, "10.0.0.1", 8079, "10.0.0.9", 53, False, 0, 0, 0, 0)
    seen = frame(door(8081, 5), door(22, 99), sockets_udp=[asks])
    assert not doors.held(seen, 8080)
    assert doors.near(seen, 8080) == (
        "nobody listens at port 8080; the nearest ports are 8081 (web[12]), 22 (tcp)"
    )
    assert doors.near(frame(), 8080) == "nobody listens at port 8080"
