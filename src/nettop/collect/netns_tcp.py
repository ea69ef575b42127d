"""TCP sockets of other network namespaces, as `sockets_tcp` has those of this one (sock_diag).

One request in each namespace that `namespaces` found. It needs CAP_SYS_ADMIN there: setns(2).
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from ..frame.rates import Partly
from ..host.netlink import diag
from ..host.source import Source
from ..terms.dataclass import dataclass
from ..terms.errors import sentence
from . import namespaces, sockets_tcp
from ._table import Memory, Table, recall
from .sockets_tcp import Row

__all__ = ["Row"]

TABLE: Final = Table(every=0.45, optional=True, may_rest=True, memory="sockets")

_REST: Final = 3  # readings in which a namespace without connections is not asked


@dataclass
class Known:
    """By inode of the namespace: its sockets by cookie, and the readings for which it rests."""

    seen: dict[int, dict[bytes, sockets_tcp.Seen]] = field(default_factory=dict)
    rests: dict[int, int] = field(default_factory=dict)
    queued: frozenset[int] = frozenset()  # inodes of sockets with connections not yet accepted
    subflows: set[int] = field(default_factory=set)  # namespaces with subflows of MPTCP sockets
    reading: int = 0  # its number


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every TCP socket of other namespaces that is connected, or lets connections wait.

    `Partly` when some cannot be entered; a namespace that ended has no sockets.
    """
    last = recall(memory, Known)
    around = namespaces.known_of(memory)
    rows: list[Row] = []
    now: dict[int, dict[bytes, sockets_tcp.Seen]] = {}
    closed: list[int] = []
    why = ""
    last.subflows = set()
    last.rests = {inode: left - 1 for inode, left in last.rests.items() if left > 0}
    for space in around.spaces:
        if last.rests.get(space.inode):
            continue
        seen: dict[bytes, sockets_tcp.Seen] = {}
        try:
            reply = diag.tcp(source, space)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended
        except OSError as error:
            closed.append(around.rows[space.inode].processes)
            why = sentence(error)
            continue
        found = sockets_tcp.parse(
            reply, last.seen.get(space.inode, {}), seen, namespace=space.inode
        )
        connected = [row for row in found if row.state != "listen" or row.recv_q]
        rows += connected
        now[space.inode] = seen
        if diag.SUBFLOW in reply:
            last.subflows.add(space.inode)
        if not connected:
            last.rests[space.inode] = _REST + 1
    last.seen = now
    last.queued = frozenset(row.inode for row in rows if row.state == "listen")
    last.reading += 1
    if not closed:
        return rows
    return Partly(
        rows,
        f"{len(closed)} network namespace{'s' * (len(closed) > 1)} with {sum(closed)} processes "
        f"cannot be entered: {why}",
    )
