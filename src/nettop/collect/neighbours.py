"""The neighbour tables of ARP and NDISC: /proc/net/stat/{arp,ndisc}_cache.

net/core/neighbour.c, neigh_stat_seq_show(): a header, then hexadecimal columns, a line for each
CPU; `entries` is that of the table in each line. The tables and their limits (gc_thresh) are those
of all network namespaces together; the files are in the first one only.
"""

from typing import Final

from ..files.bounds import count
from ..frame.fields import counter, gauge, label
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Table
from .conntrack import totals

TABLE: Final = Table(every=2.0, optional=True)

_FAMILIES: Final = ("arp", "ndisc")


@dataclass(frozen=True, slots=True)
class Row:
    """One table. None: the kernel does not count it."""

    family: str = label("arp (IPv4) or ndisc (IPv6)")
    entries: int = gauge("entries, in all network namespaces", "entries")
    overflows: int | None = counter("entries refused, table full", "events", default=None)
    forced: int | None = counter("forced garbage collections", "events", default=None)
    discards: int | None = counter(
        "packets dropped, neighbour not resolved", "packets", default=None
    )


def read(source: Source) -> list[Row]:
    """One row for each table; OSError where there is none, ValueError for another format."""
    rows = []
    source.text(f"/proc/net/stat/{_FAMILIES[0]}_cache")
    for family in _FAMILIES:
        text = _sysfs.word(source, f"/proc/net/stat/{family}_cache") or ""
        sums = totals(text)
        if "entries" in sums:
            first = dict(zip(*(line.split() for line in text.splitlines()[:2]), strict=False))
            rows.append(
                Row(
                    family,
                    count(first["entries"], 16),
                    sums.get("table_fulls"),
                    sums.get("forced_gc_runs"),
                    sums.get("unresolved_discards"),
                )
            )
    return rows
