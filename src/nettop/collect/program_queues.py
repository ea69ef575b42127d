"""Queues from the kernel to programs by netlink: NFQUEUE, and netlink sockets that lost messages.

/proc/net/netfilter/nfnetlink_queue (net/netfilter/nfnetlink_queue.c, seq_show()): number, netlink
port, packets that wait, copy mode and range, packets dropped because the queue or the socket was
full, last id. /proc/net/netlink (net/netlink/af_netlink.c, netlink_native_seq_show()): a header,
then a line for each socket.
"""

from collections.abc import Sequence
from typing import Final

from ..files.bounds import count
from ..frame.fields import counter, gauge, label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _lines
from ._table import Table

TABLE: Final = Table(every=2.0, optional=True)

_NFQUEUE: Final = "/proc/net/netfilter/nfnetlink_queue"
_NETLINK: Final = "/proc/net/netlink"
_PROTOCOLS: Final = {
    "0": "route", "4": "sock_diag", "5": "nflog", "6": "xfrm", "9": "audit", "10": "fib_lookup",
    "12": "netfilter", "15": "uevent", "16": "generic", "18": "scsi", "20": "rdma", "21": "crypto",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One queue of NFQUEUE, or one netlink socket that lost messages."""

    type: str = label("nfqueue, or the protocol of the netlink socket, e.g. route")
    number: int = label("number of the queue, or inode of the socket")
    port: int = gauge("netlink port of the reader, often its process number")
    drops: int = counter("packets or messages dropped, queue full", "packets")
    waiting: int | None = maybe("packets that wait for the program", "packets")
    queued: int | None = counter("packets given to the program", "packets", default=None)


def read(source: Source) -> Sequence[Row]:
    """Every queue of NFQUEUE, and the sockets with losses; OSError without both files."""
    tables: list[Sequence[Row]] = []
    failed: tuple[int | str | None, ...] = ()
    for file, row in ((_NFQUEUE, _nfqueue), (_NETLINK, _netlink)):
        try:
            lines = source.text(file).splitlines()
        except OSError as error:  # its text is kept: its traceback holds locals
            failed = failed or (error.errno, error.strerror, error.filename)
            continue
        tables.append(_lines.rows(map(str.split, lines), row, file))
    if not tables:
        raise OSError(*failed)
    return _lines.together(*tables)


def _nfqueue(words: list[str]) -> Row:
    if len(words) < 8:
        raise ValueError("a line has no eight numbers")
    number, port, waiting, _mode, _range, full, unsent, last = map(count, words[:8])
    return Row("nfqueue", number, port, full + unsent, waiting, last)


def _netlink(words: list[str]) -> Row | None:
    if words[:1] == ["sk"]:
        return None
    if len(words) < 10:
        raise ValueError("a line has no ten words")
    drops = count(words[8])
    protocol = _PROTOCOLS.get(words[1], words[1])
    return Row(protocol, count(words[9]), count(words[2]), drops) if drops else None
