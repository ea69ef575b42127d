"""A listening TCP socket: what waits in its accept queue, and the open files of its process."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Final

from ...collect.half_open import Row as HalfOpenRow
from ...collect.socket_owners import Row as OwnerRow
from ...collect.sockets_tcp import Row as TcpRow
from ...collect.tcp_files import Row as FilesRow
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ..connections import CURE, leak
from ..flow_words import EVERYWHERE
from ..kind import Kind

LEFT: Final = 2  # open files that a process may still have: it accepts no connection with fewer


@dataclass(frozen=True, slots=True)
class Listener:
    """One socket. Sockets of one port with SO_REUSEPORT each have a queue of their own."""

    inode: int = label("socket inode")
    local: str = gauge("local address", default="")
    port: int = gauge("local port", default=0)
    waiting: int = gauge("connections not yet accepted", "connections", default=0)
    backlog: int = gauge("limit of the accept queue", "connections", default=0)
    pid: int | None = maybe("process")
    process: str = gauge("process name", default="")
    group: int = gauge("listening sockets of this address and port", "sockets", default=1)
    others: int = gauge(
        "longest accept queue of the other sockets of the group", "connections", default=0
    )
    unclosed: int = gauge(
        "connections that the peer has closed and this end has not, with nothing to send",
        "connections",
        default=0,
    )
    open: int = gauge("connections that the program has accepted", "connections", default=0)
    silent: int = gauge(
        "clients for whose first data it waits more than a second, by TCP_DEFER_ACCEPT",
        "connections", default=0,
    )  # fmt: skip
    half_open: int = gauge(
        "connections that are not open yet, at its port", "connections", default=0
    )
    heard: int = gauge("of its connections, those on which data came", "connections", default=0)
    files: int | None = maybe("open files of the process", "files")
    files_max: int | None = maybe("limit of open files of the process", "files")
    leak: str = gauge(
        "their state: used up, and by what, where it does not close most", default="used up"
    )
    cure: str = gauge("what helps then", default="")


def build(frame: Frame, facts: object) -> tuple[Listener, ...]:  # noqa: ARG001
    """One fact for each listening socket."""
    rows: list[TcpRow] = []
    unclosed: Counter[tuple[int, int]] = Counter()
    accepted: Counter[tuple[int, int]] = Counter()
    heard: Counter[tuple[int, int]] = Counter()
    door: dict[int, tuple[int, int]] = {}
    for entry in frame.tables.get("sockets_tcp", ()):
        row = entry.now
        if row.state == "listen":
            rows.append(row)
        elif row.inode:  # without: it waits to be accepted
            door[row.inode] = row.namespace, row.local_port
            accepted[row.namespace, row.local_port] += 1
            heard[row.namespace, row.local_port] += bool(row.bytes_received)
            if row.state == "close-wait":
                sends = row.send_q or (entry.rate("bytes_acked") or 0.0)
                unclosed[row.namespace, row.local_port] += not sends
    mute, half_open = silent(frame.rows("half_open"), rows)
    held_by = holders(frame.rows("socket_owners"), rows, door)
    files = {row.pid: row for row in frame.rows("tcp_files")}
    groups: dict[tuple[int, str, int], list[int]] = defaultdict(list)
    for row in rows:
        groups[row.family, row.local, row.local_port].append(row.recv_q)
    found = []
    for row in rows:
        pid, name = accepts(held_by[row.inode], files)
        queues = groups[row.family, row.local, row.local_port]
        rest = list(queues)
        rest.remove(row.recv_q)
        held = files.get(pid)
        full = held and held.limit and held.files >= held.limit - LEFT
        told = leak(frame, pid) if full else ""
        found.append(
            Listener(
                row.inode, row.local, row.local_port, row.recv_q, row.send_q, pid, name,
                len(queues), max(rest, default=0), unclosed[row.namespace, row.local_port],
                accepted[row.namespace, row.local_port],
                mute[row.inode],
                half_open[row.inode],
                heard[row.namespace, row.local_port],
                held.files if held else None,
                held.limit if held else None,
                f"used up: {told}" if told else "used up", told and CURE,
            )
        )  # fmt: skip
    return tuple(found)


def holders(
    owners: Sequence[OwnerRow], doors: Sequence[TcpRow], accepted: Mapping[int, tuple[int, int]]
) -> dict[int, list[tuple[int, str, bool]]]:
    """The processes of each listening socket by its inode: pid, name, and whether it accepts there.

    A program that was started by the one that listens has the socket too. `accepted`: the
    namespace and port of each accepted socket, by inode.
    """
    found: dict[int, dict[int, str]] = {row.inode: {} for row in doors}
    takes = set()
    for row in owners:
        if row.pid is not None and row.inode in found:
            found[row.inode][row.pid] = row.name
        elif row.inode in accepted:
            takes.add((row.pid, accepted[row.inode]))
    return {
        row.inode: [
            (pid, name, (pid, (row.namespace, row.local_port)) in takes)
            for pid, name in sorted(found[row.inode].items())
        ]
        for row in doors
    }


def accepts(
    holders: Sequence[tuple[int, str, bool]], files: Mapping[int | None, FilesRow]
) -> tuple[int | None, str]:
    """The process meant by a listener: the first, unless all that accept have used up their files.

    Then it is the first of these: a program that only starts the others has files left.
    """
    taking = [(pid, name) for pid, name, takes in holders if takes]
    known = [files.get(pid) for pid, _ in taking]
    full = taking and all(one and one.limit and one.files >= one.limit - LEFT for one in known)
    return next(iter(taking if full else [(pid, name) for pid, name, _ in holders]), (None, ""))


def silent(
    waiting: Sequence[HalfOpenRow], doors: Sequence[TcpRow]
) -> tuple[Counter[int], Counter[int]]:
    """The clients that say nothing, and all that are not open yet.

    By inode of the listening socket: the first of its port.
    """
    found: Counter[int] = Counter()
    every: Counter[int] = Counter()
    for one in waiting:
        at = [row for row in doors if row.local_port == one.local_port]
        own = [row for row in at if row.local == one.local]
        for row in (own or [row for row in at if row.local in EVERYWHERE])[:1]:
            found[row.inode] += one.silent
            every[row.inode] += one.waiting
    return found, every


KIND = Kind(
    Listener, "listeners", build=build,
    needs=("sockets_tcp", "socket_owners", "tcp_files", "half_open"),
    lasts=True, target=lambda listener: f"{listener.port}/{listener.inode}",
    owner=attrgetter("process"),
    parents={"process": attrgetter("pid"), "program": attrgetter("pid")},
    names={"port": "listener.port", "owner": "listener.pid", "limit": "listener.files_max"},
    example={"inode": 7001, "port": 443, "pid": 3391, "process": "app"},
)  # fmt: skip
