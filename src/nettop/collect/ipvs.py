"""Packets that the load balancer of the kernel (IPVS) took: /proc/net/ip_vs_stats.

Two lines of headings, then one of hexadecimal counts: connections, packets in, packets out, bytes
in, bytes out (net/netfilter/ipvs/ip_vs_ctl.c, ip_vs_stats_show()). The file is there while the
module `ip_vs` is loaded.
"""

from typing import Final

from ..files.bounds import count
from ..frame.fields import counter
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Table

TABLE: Final = Table(every=2.0, optional=True)

_FILE: Final = "/proc/net/ip_vs_stats"
_HEADINGS: Final = 2


@dataclass(frozen=True, slots=True)
class Row:
    """The one row."""

    connections: int = counter("connections to virtual services", "connections")
    packets_in: int = counter("packets taken from the input hook for a service", "packets")
    packets_out: int = counter("packets of answers, rewritten on their way out", "packets")


def read(source: Source) -> list[Row]:
    """One row; OSError without the file, ValueError for another format."""
    lines = source.text(_FILE).splitlines()
    words = lines[_HEADINGS].split() if len(lines) > _HEADINGS else []
    if len(words) < 3:
        raise ValueError(f"{_FILE}: no line of counts")
    return [Row(*(count(word, 16) for word in words[:3]))]
