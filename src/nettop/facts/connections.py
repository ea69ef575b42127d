"""What a program waits for at its TCP connections, and who waits there for the program.

A question without an answer is data that was sent after the last that came, or before any came, on
a connection that this end opened (tcpi_last_data_sent and tcpi_last_data_recv of struct tcp_info);
on one that it accepted, the reverse: it owes the answer. A connection is still if neither end has
moved data since the reading before.

What most open files of a program are, where it has no more: connections that it does not close.

After the other end has closed, a connection stays in CLOSE_WAIT until the program closes it too
(RFC 9293, section 3.6); no timer ends it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from ..collect.sockets_tcp import Row as TcpRow
from ..collect.threads import LATE
from ..frame.rates import Entry, Frame
from .flow_words import EVERYWHERE, end, owners

SHARE: Final = 0.25  # of the open files, or of the sockets where their number is not known
IDLE_CLIENTS: Final = (
    "Clients that keep a connection open and idle hold its threads: set a limit of idle time, use "
    "more threads or processes, or one thread that accepts only"
)
CURE: Final = (
    "A larger limit only defers it: correct the program, which must close a connection once a read "
    "of it returns 0 bytes, also on its error paths. `ss -tnp state close-wait` lists them"
)


def leak(frame: Frame, pid: int | None) -> str:
    """`110 of its 160 are …`: the connections to one end that only this program holds open.

    Empty where they are few.
    """
    held = {row.inode for row in frame.rows("socket_owners") if row.pid == pid}
    rows = [row for row in frame.rows("sockets_tcp") if row.inode in held]
    doors = {row.local_port for row in rows if row.state == "listen"}
    closed = Counter(
        f"clients of port {row.local_port} have" if row.local_port in doors
        else f"{end(row.remote.removeprefix('::ffff:'), row.remote_port)} has"
        for row in rows if row.state == "close-wait" and not row.send_q
    )  # fmt: skip
    files = next((row.files for row in frame.rows("tcp_files") if row.pid == pid), len(held))
    for who, many in closed.most_common(1):
        if many >= SHARE * files:
            return f"{many} are connections that {who} closed, and the program has not (CLOSE_WAIT)"
    return ""


def closer(frame: Frame) -> str:
    """`This host (NAME[PID] at port N)`: who ends connections of clients, where one alone may.

    That is who alone listens; `perhaps` the one alone of whose connections data waits to be read.
    """
    names, rows = owners(frame), frame.rows("sockets_tcp")
    doors = {
        row.local_port: f"{names.get(row.inode, 'a program')} at port {row.local_port}"
        for row in rows if row.state == "listen"
    }  # fmt: skip
    unread = {doors[row.local_port] for row in rows
              if row.recv_q and row.state in _OPEN and row.local_port in doors}  # fmt: skip
    for found, sure in ((set(doors.values()), ""), (unread, "perhaps ")):
        if len(found) == 1:
            return f"This host ({sure}{min(found)})"
    return "This host"


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
    """Those of these processes in this namespace, by inode.

    One that is younger than the list of descriptors is held by who listens at its port, or by the
    only one that was seen to connect to its other end.
    """
    known = {row.inode: row.pid for row in frame.rows("socket_owners")}
    holders = {inode: pid for inode, pid in known.items() if pid is not None and pid in pids}
    if not holders:
        return {}
    entries = frame.tables.get("sockets_tcp", ())
    doors = {one.now.local_port: one.now.inode for one in entries if one.now.state == "listen"}
    open_ = [one for one in entries if one.now.state in _OPEN]
    called = openers(frame)
    for row in (one.now for one in open_):
        by = holders.get(doors.get(row.local_port, 0)) or called.get((row.remote, row.remote_port))
        if row.inode and row.inode not in known and by in pids:
            holders[row.inode] = by
    own = [one for one in open_ if one.now.inode in holders]
    others = _others(frame, own)
    full = {holders.get(one.now.inode) for one in entries
            if one.now.state == "listen" and one.now.recv_q > one.now.send_q}  # fmt: skip
    return {
        one.now.inode: _connection(one, pid, doors, others, 0 if pid in full else LATE)
        for one in own for pid in (holders[one.now.inode],)
    }  # fmt: skip


def openers(frame: Frame) -> Mapping[tuple[str, int], int]:
    """The process that opened connections while the kernel counted, by their other end.

    An end to which several processes connected is left out.
    """
    found: dict[tuple[str, int], set[int]] = {}
    for row in frame.rows("failed_calls"):
        if row.call == "connection" and row.where == "here" and row.port.isdecimal():
            found.setdefault((row.address, int(row.port)), set()).add(row.pid)
    return {end: pid for end, (pid, *more) in found.items() if not more}


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
    others: Mapping[tuple[object, ...], int], late: int,
) -> Connection:  # fmt: skip
    """`late`: milliseconds after which a new one is still: none where clients already wait."""
    row = entry.now
    sent, received = row.last_sent, row.last_received
    opened = row.local_port not in doors
    rests = entry.rate("bytes_acked") == 0 == entry.rate("bytes_received")
    rests = rests or (not entry.rated and min(sent or 0, received or 0) >= late)  # a new one
    asked = None if sent is None or received is None else sent < received
    if not row.bytes_received and (row.bytes_sent or (row.bytes_acked or 0) > SYN):
        asked = True  # both times are that of the handshake where the first question follows it
    heard = bool(row.bytes_received) and (received or 0) >= LATE
    return Connection(
        row.inode, pid, end(row.remote, row.remote_port),
        others.get((row.remote, row.remote_port, row.local, row.local_port)),
        opened, asked, rests and not row.recv_q, bool(row.recv_q),
        not opened and rests and heard and (not row.bytes_acked or (received or 0) < (sent or 0)),
        bool(row.probes) or row.snd_wnd == 0,
        bool(row.send_q or row.notsent),
    )  # fmt: skip
