"""Connections whose destination this host translates, or without an answer: nf_conntrack.

/proc/net/nf_conntrack; net/netfilter/nf_conntrack_standalone.c, ct_seq_show(): family, protocol and
its number, seconds to live, for TCP the state, then the first packet's ends, `[UNREPLIED]` while
nothing came back, and the ends of an answer. The answer comes from the translated destination.
Packets of an entry follow it, whatever the rules say meanwhile (nf_nat_core.c, nf_nat_inet_fn()).
Of each client one open connection is told too whose addresses stay: others know the way back to it.
"""

import re
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final

from ..frame.fields import gauge, label
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Table

TABLE: Final = Table(every=2.0, absent=True, optional=True)

_FILE: Final = "/proc/net/nf_conntrack"
_COUNT: Final = "/proc/sys/net/netfilter/nf_conntrack_count"
MOST: Final = 4096  # entries: a larger table is not read
_ASKED, _OPEN = "SYN_SENT", "ESTABLISHED"
_LINE: Final = re.compile(
    r"^ipv[46] +\d+ (tcp|udp) +\d+ \d+ ((?:[A-Z][A-Z_0-9]* )?)"
    r"src=(\S+) dst=(\S+) sport=(\d{1,5}) dport=(\d{1,5}) .*?"
    r"src=(\S+) dst=(\S+) sport=(\d{1,5}) dport=(\d{1,5}) ",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Row:
    """One connection, or exchange of datagrams."""

    protocol: str = label("tcp or udp")
    origin: str = label("address that began it")
    origin_port: int = label("its port")
    to: str = label("address that it asked")
    port: int = label("port that it asked")
    sent_to: str = gauge("address to which this host sends it")
    sent_port: int = gauge("port to which this host sends it")
    returns_to: str = gauge("address that this host shows there")
    answered: bool = gauge("an answer came by this host")

    @property
    def moved(self) -> bool:
        """Whether the destination is translated."""
        return (self.to, self.port) != (self.sent_to, self.sent_port)


def read(source: Source) -> Sequence[Row]:
    """The rows; OSError without connection tracking or rights, ValueError for a large table."""
    known = _sysfs.whole(source.text(_COUNT).strip())
    if known is None or known > MOST:
        raise ValueError(
            f"more than {MOST:,} connections are tracked: they are not read one by one"
        )
    return parse(source.text(_FILE) if known else "")


def parse(text: str) -> list[Row]:
    """The rows of a text; lines of other protocols are left out."""
    rows, known = [], set[str]()
    for line in _LINE.finditer(text):
        protocol, state, *ends = line.groups()
        origin, to, by, back = (str(ip_address(ends[at])) for at in (0, 1, 4, 5))
        origin_port, port, by_port = (int(ends[at]) for at in (2, 3, 6))
        answered = "[UNREPLIED]" not in line[0]
        row = Row(protocol, origin, origin_port, to, port, by, by_port, back, answered)
        opened = state.strip() == _OPEN and answered and origin == back and origin not in known
        if row.moved or opened or (state.strip() == _ASKED and not answered):
            rows.append(row)
        if opened:
            known.add(origin)
    return rows
