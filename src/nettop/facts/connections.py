"""What a program waits for at its TCP connections, and who waits there for the program.

A question without an answer is data that was sent after the last that came, or before any came, on
a connection that this end opened (tcpi_last_data_sent and tcpi_last_data_recv of struct tcp_info);
on one that it accepted, the reverse: it owes the answer. A connection is still if neither end has
moved data since the reading before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ..collect.threads import LATE
from .flow_words import EVERYWHERE, end

if TYPE_CHECKING:
    from ..collect.sockets_tcp import Row as TcpRow
    from ..frame.rates import Entry, Frame

SYN: Final = 1  # byte that tcpi_bytes_acked counts for the handshake of an end that connects
_OPEN: Final = ("established", "close-wait")


class Connection(NamedTuple):
    """One connection of a program, as that program sees it."""

    inode: int
    pid: int  # that holds it
    remote: str  # address:port
    other: int | None  # the process at the other end, on this host
    opened: bool  # by this end
    asked: bool | None  # data was sent after the last that came; None: not known
    still: bool
    unread: bool  # data, or the end of the connection (the kernel counts it as a byte)
    owed: bool  # an answer of this end, for longer than `LATE`
    shut: bool  # the other end takes nothing: its window is closed
    sends: bool  # data waits to be sent, or to be acknowledged


def connections(frame: Frame, pids: Collection[int]) -> Mapping[int, Connection]:
    """Those of these processes in this namespace, by inode."""
    holders = {
        row.inode: row.pid
        for row in frame.rows("socket_owners") if row.pid is not None and row.pid in pids
    }  # fmt: skip
    if not holders:
        return {}
    doors: set[int] = set()
    own: list[Entry[TcpRow]] = []
    for entry in frame.tables.get("sockets_tcp", ()):
        if entry.now.state == "listen":
            doors.add(entry.now.local_port)
        elif entry.now.inode in holders and entry.now.state in _OPEN:
            own.append(entry)
    others = _others(frame, own)
    return {
        one.now.inode: _connection(one, holders[one.now.inode], doors, others) for one in own
    }  # fmt: skip


def _others(frame: Frame, own: Collection[Entry[TcpRow]]) -> Mapping[tuple[object, ...], int]:
    """The processes at the other ends that are on this host, by both ends.

    That of a connection which nobody accepted is the one that listens there.
    """
    here = {entry.now.local for entry in own}
    wanted = {
        (row.remote, row.remote_port, row.local, row.local_port)
        for row in (entry.now for entry in own) if row.remote in here
    }  # fmt: skip
    if not wanted:
        return {}
    found: dict[int, list[tuple[object, ...]]] = {}
    rows = frame.rows("sockets_tcp")
    doors: dict[int, list[TcpRow]] = {}
    for row in rows:
        if row.state == "listen":
            doors.setdefault(row.local_port, []).append(row)
    for row in rows:
        if (ends := (row.local, row.local_port, row.remote, row.remote_port)) in wanted:
            found.setdefault(row.inode or _door(row, doors.get(row.local_port, ())), []).append(
                ends
            )
    return {
        ends: row.pid
        for row in frame.rows("socket_owners") if row.pid for ends in found.get(row.inode, ())
    }  # fmt: skip


def _door(row: TcpRow, doors: Sequence[TcpRow]) -> int:
    """The inode of the socket behind a connection, of those that listen on its port; 0: unknown."""
    return next((one.inode for one in doors if one.local in (row.local, *EVERYWHERE)), 0)


def _connection(
    entry: Entry[TcpRow], pid: int, doors: Collection[int],
    others: Mapping[tuple[object, ...], int],
) -> Connection:  # fmt: skip
    row = entry.now
    sent, received = row.last_sent, row.last_received
    opened = row.local_port not in doors
    rests = entry.rate("bytes_acked") == 0 == entry.rate("bytes_received")
    asked = None if sent is None or received is None else sent < received
    if not row.bytes_received and (row.bytes_sent or (row.bytes_acked or 0) > SYN):
        asked = True  # both times are that of the handshake where the first question follows it
    late = bool(row.bytes_received) and (received or 0) >= LATE
    return Connection(
        row.inode, pid, end(row.remote, row.remote_port),
        others.get((row.remote, row.remote_port, row.local, row.local_port)),
        opened, asked, rests and not row.recv_q, bool(row.recv_q),
        not opened and rests and late and (not row.bytes_acked or (received or 0) < (sent or 0)),
        bool(row.probes) or row.snd_wnd == 0,
        bool(row.send_q or row.notsent),
    )  # fmt: skip
