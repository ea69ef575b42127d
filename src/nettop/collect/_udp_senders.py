"""The programs that may send the datagrams of this host.

The kernel counts the datagrams of a namespace (UdpOutDatagrams of /proc/net/snmp, net/ipv4/udp.c,
udp_send_skb()), and not of a socket. While it sends many, the programs with UDP sockets are looked
at as those that move TCP data are.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Final

from ..terms.dataclass import dataclass
from . import snmp, sockets_udp
from ._table import Memory, recall

LEAST: Final = 50.0  # datagrams/s of the host: questions and answers of services are fewer
MOST: Final = 8  # programs
ASKED: Final = (53, 123)  # ports of services to which programs send a question now and then


@dataclass
class Known:
    """The datagrams that the host had sent, and since when they were so many."""

    rows: object = None  # of `snmp`, read last
    at: float = 0.0  # seconds of the source's clock
    sent: int | None = None
    many: bool = False


def candidates(memory: Memory, now: float, holders: Mapping[int, int]) -> dict[int, None]:
    """The processes with UDP sockets, those with data in their send queue and connected ones first.

    None while the host sends few datagrams. `holders`: the process of each inode.
    """
    known, rows = recall(memory, Known), recall(memory, snmp.Known).rows
    if rows is not known.rows and rows:
        sent, past = rows[-1].udp_out, now - known.at
        both = sent is not None and known.sent is not None and past > 0
        known.many = both and (sent or 0) - (known.sent or 0) >= LEAST * past
        known.rows, known.at, known.sent = rows, now, sent
    if not known.many:
        return {}
    sockets = [row for row in recall(memory, sockets_udp.Known).rows
               if row.remote_port not in ASKED and row.inode in holders]  # fmt: skip
    sockets.sort(key=lambda row: (not row.send_q, not row.remote_port))
    return dict.fromkeys(islice(dict.fromkeys(holders[row.inode] for row in sockets), MOST))
