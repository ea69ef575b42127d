"""The listening socket whose SYN queue is full: the one with most handshakes that wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..frame.rates import Entry
from .flow_words import EVERYWHERE
from .flows import Full, name_of

if TYPE_CHECKING:
    from ..collect.half_open import Row as HalfOpenRow
    from ..collect.sockets_tcp import Row as TcpRow


def full(
    waiting: Sequence[Entry[HalfOpenRow]], sockets: Sequence[Entry[TcpRow]],
    owners: Mapping[int, tuple[int, str]],
) -> Full | None:  # fmt: skip
    """That socket if it has no room for one more handshake; `owners` are processes by inode.

    The queue is full when as many handshakes wait as the backlog allows
    (include/net/inet_connection_sock.h, inet_csk_reqsk_queue_is_full()).
    """
    if not waiting:
        return None
    listening: dict[int, list[TcpRow]] = {}
    for entry in sockets:
        if entry.now.state == "listen":
            listening.setdefault(entry.now.local_port, []).append(entry.now)
    counts: dict[int, tuple[TcpRow, int]] = {}
    for one in (entry.now for entry in waiting):
        rows = [
            row
            for row in listening.get(one.local_port, ())
            if row.local in (one.local, *EVERYWHERE)
        ]
        if rows:
            row = next((row for row in rows if row.local == one.local), rows[0])
            counts[row.inode] = row, one.waiting + counts.get(row.inode, (row, 0))[1]
    if not counts:
        return None
    most, count = max(counts.values(), key=lambda found: found[1])
    return Full(count, name_of(most, owners), most.send_q) if count >= most.send_q else None
