"""A program behind a Unix socket that takes too slowly what other programs give it.

Logs (datagrams), databases, caches and application servers: a full queue stops the writer, which
serves nobody meanwhile, or loses what it does not wait for (net/unix/af_unix.c,
unix_wait_for_peer(), sock_alloc_send_pskb()). And a queue from the kernel to a program that loses
packets: collector `program_queues`.
"""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter
from typing import Final

from ...collect.sockets_unix import SMALLEST, full
from ...collect.sockets_unix import Row as UnixRow
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind
from ..single import triple

_LONGEST: Final = "net.unix.max_dgram_qlen"


@dataclass(frozen=True, slots=True)
class Backend:
    """One socket of a reader, or one that listens, with a full queue."""

    id: str = label("reader as name[pid], or inode of its socket")
    type: str = gauge("stream, dgram, seqpacket or listen", default="")
    waiting: int = gauge("memory of the data that waits", "bytes", default=0)
    clients: int | None = maybe("connections not yet accepted", "connections")
    writers: tuple[str, ...] = gauge("processes that write, as name[pid]", default=())
    networked: bool = gauge("a writer has network sockets", default=False)
    unread: int = gauge(
        "length of the datagram that waits, of writers that are not known", "bytes", default=0
    )
    pid: int | None = maybe("process of the reader")


def build(frame: Frame, facts: Facts) -> tuple[Backend, ...]:
    """Listeners and readers with a full queue, and readers whose writers are not known."""
    rows = frame.rows("sockets_unix")
    if not rows:
        return ()
    wanted = {inode for row in rows for inode in (row.inode, row.peer)}
    owners = {
        row.inode: (row.pid, f"{row.name}[{row.pid}]")
        for row in frame.rows("socket_owners") if row.pid and row.inode in wanted
    }  # fmt: skip
    networked = {one.pid for one in facts.processes if one.tcp or one.udp}  # waiting, none moves
    longest = next(iter(triple(facts.sysctls.get(_LONGEST))), None)
    found, writers = [], defaultdict(list)
    for row in rows:
        pid, name = owners.get(row.inode, (None, f"socket:[{row.inode}]"))
        if row.type == "listen":
            if row.room is not None and row.waiting > row.room:
                found.append(Backend(name, row.type, clients=row.waiting, pid=pid))
        elif row.peer and row.waiting:
            writers[row.peer].append((row, name, pid))
    for peer, given in writers.items():
        if _full([row for row, *_ in given], longest):
            reader, name = owners.get(peer, (None, f"socket:[{peer}]"))
            names = tuple(sorted({writer for _, writer, _ in given}))
            size = sum(row.waiting for row, *_ in given)
            served = any(pid in networked for *_, pid in given)
            found.append(Backend(name, given[0][0].type, size, writers=names, networked=served,
                                 pid=reader))  # fmt: skip
    for row in rows:
        if row.unread and row.inode not in writers and row.inode in owners:
            pid, name = owners[row.inode]
            found.append(Backend(name, row.type, unread=row.unread, pid=pid))
    first: dict[str, Backend] = {}
    for one in found:  # a program may have several sockets
        first.setdefault(one.id, one)
    return tuple(first.values())


def _full(rows: list[UnixRow], longest: int | None) -> bool:
    """Whether a writer waits: its buffer is full, or the reader's queue of datagrams is."""
    if any(full(row) for row in rows):
        return True
    if rows[0].type != "dgram" or longest is None:
        return False
    return sum(row.waiting for row in rows) > longest * SMALLEST


KIND = Kind(
    Backend, "backends", needs=("sockets_unix", "socket_owners", "sysctls"), build=build,
    parents={"process": attrgetter("pid"), "program": attrgetter("pid")},
    example={"id": "rsyslogd[640]", "type": "dgram"},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Handover:
    """One queue of NFQUEUE, or one netlink socket."""

    id: str = label("NFQUEUE and its number, or the netlink protocol and its reader")
    type: str = gauge("nfqueue, or the protocol of the netlink socket", default="")
    program: str | None = maybe("the program that reads it, as name[pid]")
    load: float | None = maybe("CPU time of the program", "%")
    waiting: int | None = maybe("packets that wait for the program", "packets")
    drops: float | None = maybe("packets or messages dropped, queue full", "packets/s")
    queued: float | None = maybe("packets given to the program", "packets/s")


def _handovers(frame: Frame, facts: Facts) -> tuple[Handover, ...]:
    """Those that lose packets now; the reader is found by socket, else by the port's number."""
    losing = [
        (entry.now, rate, entry.rate("queued"))
        for entry in frame.tables.get("program_queues", ())
        if (rate := entry.rate("drops"))
    ]
    if not losing:
        return ()
    holders = {row.inode: row.pid for row in frame.rows("socket_owners") if row.inode}
    programs = {row.pid: row.name for row in frame.rows("processes") if not row.thread}
    loads = {one.pid: (one.user or 0.0) + (one.system or 0.0) for one in facts.processes}
    found = []
    for row, drops, queued in losing:
        mail = row.type == "nfqueue"
        pid = row.port if mail else holders.get(row.number, row.port)
        program = f"{programs[pid]}[{pid}]" if pid in programs else None
        name = (
            f"NFQUEUE {row.number}"
            if mail
            else (f"netlink {row.type} of {program or f'socket:[{row.number}]'}")
        )
        found.append(Handover(name, row.type, program, loads.get(pid), row.waiting, drops, queued))
    return tuple(found)


HANDOVER = Kind(
    Handover, "handovers", needs=("program_queues", "socket_owners", "processes"), build=_handovers,
    example={"id": "NFQUEUE 0", "type": "nfqueue"},
)  # fmt: skip
