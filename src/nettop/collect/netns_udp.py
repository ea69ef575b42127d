"""UDP sockets of other network namespaces: /proc/PID/net/udp and udp6 of a process in each.

The files are those of `sockets_udp`, seen from that process (fs/proc/proc_net.c).
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from typing import Final

from ..frame.fields import counter, gauge, label, light
from ..frame.rates import Partly
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _lines, namespaces, sockets_udp
from ._table import Memory, Table, recall

TABLE: Final = Table(every=1.0, optional=True, may_rest=True, memory="sockets")


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One socket."""

    namespace: int = label("inode of its network namespace")
    inode: int = label("socket inode; 0: closed, not yet removed")
    local: str = label("local address; 0.0.0.0 or :: for any")
    local_port: int = label("local port")
    recv_q: int = gauge("unread bytes", "bytes")
    drops: int = counter("datagrams dropped at the socket", "packets")
    remote: str = gauge("remote address, when connected", default="")
    remote_port: int = gauge("remote port; 0: not connected", default=0)
    send_q: int = gauge("bytes queued to send", "bytes", default=0)


@dataclass
class Known:
    """The sockets of the last reading, for `threads`, and the texts that they come from."""

    rows: Sequence[Row] = ()
    texts: dict[str, tuple[str, Sequence[Row]]] = field(default_factory=dict)  # by path


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every UDP socket of other namespaces; none of a namespace whose process ended.

    The number of a process that ended may be that of one in this namespace now.
    """
    last = recall(memory, Known)
    texts: dict[str, tuple[str, Sequence[Row]]] = {}
    for row in namespaces.known_of(memory).rows.values():
        for name in ("udp", "udp6"):
            path = f"/proc/{row.pid}/net/{name}"
            with suppress(OSError):
                if namespaces.of_process(source, row.pid) != row.inode:
                    break
                text = source.text(path)
                old = last.texts.get(path)
                same = old is not None and old[0] == text
                texts[path] = old if old is not None and same else (text, _rows(text, row.inode))
    last.texts = texts
    last.rows = _lines.together(*(rows for _, rows in texts.values()))
    return last.rows


def _rows(text: str, namespace: int) -> Sequence[Row]:
    try:
        known = sockets_udp.parse(text)
    except ValueError as error:  # of this namespace only
        return Partly((), str(error))
    rows = [
        Row(namespace, one.inode, one.local, one.local_port, one.recv_q, one.drops,
            one.remote, one.remote_port, one.send_q)
        for one in known
    ]  # fmt: skip
    return Partly(rows, known.why) if isinstance(known, Partly) else rows
