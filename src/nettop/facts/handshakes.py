"""The listening socket whose SYN queue is full: the one with most handshakes that wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..collect.half_open import Row as HalfOpenRow
from ..collect.sockets_tcp import Row as TcpRow
from ..frame.rates import Entry
from .flow_words import EVERYWHERE
from .flows import Full, name_of


def full(
    waiting: Sequence[Entry[HalfOpenRow]], sockets: Sequence[Entry[TcpRow]],
    owners: Mapping[int, tuple[int, str]], most_of_host: int | None = None,
) -> Full | None:  # fmt: skip
    """That socket if it has no room for one more handshake; `owners` are processes by inode.

    The queue is full when as many handshakes wait as the backlog allows
    (include/net/inet_connection_sock.h, inet_csk_reqsk_queue_is_full()), or `most_of_host`.
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
    bound = most_of_host is not None and most_of_host < most.send_q
    limit = most_of_host if bound and most_of_host is not None else most.send_q
    return Full(count, name_of(most, owners), limit, bound=bound) if count >= limit else None


def room(sysctls: Mapping[str, str]) -> int | None:
    """Handshakes of unknown clients that a queue takes while cookies are off; None: any number.

    Beyond three quarters of net.ipv4.tcp_max_syn_backlog the SYN is dropped
    (net/ipv4/tcp_input.c, tcp_conn_request()).
    """
    most = sysctls.get("net.ipv4.tcp_max_syn_backlog", "")
    if sysctls.get("net.ipv4.tcp_syncookies") != "0" or not most.isdigit():
        return None
    return int(most) - (int(most) >> 2) + 1
