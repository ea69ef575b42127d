"""Questions to name servers that wait for an answer."""

from __future__ import annotations

from typing import Any

from nettop.collect import socket_owners, sockets_udp
from nettop.facts.kinds import resolver
from nettop.frame.rates import Entry, Frame


def socket(
    inode: int, remote: str, port: int = 53, unread: int = 0, *, before: bool = False
) -> Entry[sockets_udp.Row]:
    row = sockets_udp.Row(inode, "10.0.0.1", 40000, remote, port, False, 0, unread, 0, 0)
    return Entry(row, row if before else None)


def resolvers(*sockets: Entry[sockets_udp.Row]) -> list[tuple[Any, ...]]:
    held = [Entry(socket_owners.Row(1, 9, "app")), Entry(socket_owners.Row(2, 8, "curl"))]
    frame = Frame(1.0, 1.0, {"sockets_udp": list(sockets), "socket_owners": held})
    found = resolver.build(frame, None)  # type: ignore[arg-type]
    return [(one.id, one.waiting, one.begun, one.processes) for one in found]


def test_the_sockets_of_each_name_server_are_counted_and_their_processes_named() -> None:
    sockets = (socket(1, "10.0.0.9", before=True), socket(2, "10.0.0.9"), socket(3, "10.0.0.8"))
    assert resolvers(*sockets) == [
        ("10.0.0.9:53", 2, 1, ("app[9]", "curl[8]")), ("10.0.0.8:53", 1, 1, ()),
    ]  # fmt: skip


def test_answered_questions_and_other_ports_do_not_wait() -> None:
    assert resolvers(socket(1, "10.0.0.9", unread=80), socket(2, "10.0.0.9", port=123)) == []
