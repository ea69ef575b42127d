"""A program behind a Unix socket that takes too slowly what programs with network sockets give it.

Logs (datagrams), databases, caches and application servers: a full queue stops the writer, which
serves nobody meanwhile (net/unix/af_unix.c, unix_wait_for_peer(), sock_alloc_send_pskb()).
"""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ...frame.fields import gauge, label
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ..kind import Kind
from ..single import triple

if TYPE_CHECKING:
    from .. import Facts
    from ..rows import UnixRow

SMALLEST: Final = 512  # bytes: no datagram takes less memory (struct sk_buff and its data)
FULL: Final = 0.8  # of the send buffer: the next write waits
_LONGEST: Final = "net.unix.max_dgram_qlen"


@dataclass(frozen=True, slots=True)
class Backend:
    """One socket of a reader, or one that listens, with a full queue."""

    id: str = label("reader as name[pid], or inode of its socket")
    type: str = gauge("stream, dgram, seqpacket or listen", default="")
    waiting: int = gauge("memory of the data that waits", "bytes", default=0)
    clients: int | None = gauge("connections not yet accepted", "connections", default=None)
    writers: tuple[str, ...] = gauge("processes that wait, as name[pid]", default=())


def build(frame: Frame, facts: Facts) -> tuple[Backend, ...]:
    """Listeners with a full queue, and readers for whom a process with network sockets waits."""
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
                found.append(Backend(name, row.type, clients=row.waiting))
        elif row.peer and pid in networked:
            writers[row.peer].append((row, name))
    for peer, given in writers.items():
        if _full([row for row, _ in given], longest):
            _, name = owners.get(peer, (None, f"socket:[{peer}]"))
            names = tuple(sorted({writer for _, writer in given}))
            size = sum(row.waiting for row, _ in given)
            found.append(Backend(name, given[0][0].type, size, writers=names))
    return tuple(found)


def _full(rows: list[UnixRow], longest: int | None) -> bool:
    """Whether a writer waits: its buffer is full, or the reader's queue of datagrams is."""
    if any(row.room and row.waiting >= FULL * row.room for row in rows):
        return True
    if rows[0].type != "dgram" or longest is None:
        return False
    return sum(row.waiting for row in rows) > longest * SMALLEST


KIND = Kind(
    name="backend", type=Backend, plural="backends", key=attrgetter("id"), target=attrgetter("id"),
    names={"backend": "backend.id"}, example={"id": "rsyslogd[640]", "type": "dgram"},
    tables={"": "sockets_unix"}, needs=("sockets_unix", "socket_owners", "sysctls"), build=build,
)  # fmt: skip
