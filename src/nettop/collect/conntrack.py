"""The connection tracking table: how full it is and what it dropped.

/proc/sys/net/netfilter/nf_conntrack_{count,max,buckets} and /proc/net/stat/nf_conntrack
(net/netfilter/nf_conntrack_standalone.c, ct_cpu_seq_show): a header, then hexadecimal columns, one
line per CPU. Without the files, connection tracking is not loaded.
"""

from collections.abc import Sequence
from typing import Final

from ..files.bounds import count
from ..frame.fields import counter, gauge, maybe
from ..frame.rates import Partly
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Table

TABLE: Final = Table(every=2.0, absent=True)

_SYSCTL: Final = "/proc/sys/net/netfilter/nf_conntrack_"
_STAT: Final = "/proc/net/stat/nf_conntrack"


@dataclass(frozen=True, slots=True)
class Row:
    """The one row."""

    count: int = gauge("tracked connections", "connections")
    most: int | None = maybe("connection tracking limit", "connections")
    buckets: int | None = maybe("hash buckets", "buckets")
    drops: int | None = counter("packets dropped by connection tracking", "packets", default=None)
    early_drops: int | None = counter("entries evicted to make room", "entries", default=None)
    failures: int | None = counter("entries not inserted", "entries", default=None)
    invalid: int | None = counter(
        "packets that fit no tracked connection and open none", "packets", default=None
    )


def read(source: Source) -> Sequence[Row]:
    """One row; OSError if connection tracking is not loaded."""
    count = _sysfs.whole(source.text(f"{_SYSCTL}count").strip())
    if count is None:
        raise ValueError("nf_conntrack_count is no number")
    sums: dict[str, int] = {}
    why = ""
    try:
        sums = totals(_sysfs.word(source, _STAT) or "")
    except ValueError as error:  # a sum without one CPU would be a wrong one
        why = f"{_STAT}: {error}"
    row = Row(
        count,
        most=_sysfs.number(source, f"{_SYSCTL}max"),
        buckets=_sysfs.number(source, f"{_SYSCTL}buckets"),
        drops=sums.get("drop"),
        early_drops=sums.get("early_drop"),
        failures=sums.get("insert_failed"),
        invalid=sums.get("invalid"),
    )
    return Partly([row], why) if why else [row]


def totals(text: str) -> dict[str, int]:
    """The sum of each column over the CPUs, by the names of the header; empty without a line."""
    lines = text.splitlines()
    if len(lines) < 2:
        return {}
    names = lines[0].split()
    sums = dict.fromkeys(names, 0)
    for line in lines[1:]:
        for name, word in zip(names, line.split(), strict=False):
            sums[name] += count(word, 16)
    return sums
