"""Packets that IPsec drops, by reason: /proc/net/xfrm_stat.

Documentation/networking/xfrm_proc.rst, net/xfrm/xfrm_proc.c: a name and a decimal count in each
line. The file exists with CONFIG_XFRM_STATISTICS, also where no tunnel is set up.
"""

from collections.abc import Sequence
from typing import Final

from ..files.bounds import count
from ..frame.fields import counter, label
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _lines
from ._table import Table

TABLE: Final = Table(every=2.0, optional=True)


_FILE: Final = "/proc/net/xfrm_stat"


@dataclass(frozen=True, slots=True)
class Row:
    """One reason for which packets were dropped since boot."""

    reason: str = label("name of the counter, e.g. XfrmInStateSeqError")
    packets: int = counter("packets dropped by IPsec", "packets")


def read(source: Source) -> Sequence[Row]:
    """The counters that are not zero; OSError without the file, ValueError for another format."""
    return _lines.rows(source.text(_FILE).splitlines(), _row, _FILE)


def _row(line: str) -> Row | None:
    words = line.split()
    if len(words) != 2:
        raise ValueError("a line is not a name and a count")
    packets = count(words[1])
    return Row(words[0], packets) if packets else None
