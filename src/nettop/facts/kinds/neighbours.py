"""A neighbour table and its limit, from the collector `neighbours` and the kernel parameters."""

from __future__ import annotations

from typing import Final

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind

_LIMITS: Final = {
    "arp": "net.ipv4.neigh.default.gc_thresh3", "ndisc": "net.ipv6.neigh.default.gc_thresh3",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Neighbours:
    """One table, of all network namespaces."""

    family: str = label("arp or ndisc")
    entries: int = gauge("neighbour entries", "entries", default=0)
    limit: int | None = maybe("limit of the table (gc_thresh3)", "entries")
    overflows: float | None = maybe("entries refused, table full", "events/s")


def build(frame: Frame, facts: Facts) -> tuple[Neighbours, ...]:
    """One fact for each table."""
    found = []
    for entry in frame.tables.get("neighbours", ()):
        row = entry.now
        limit = facts.sysctls.get(_LIMITS[row.family], "")
        found.append(
            Neighbours(
                row.family,
                row.entries,
                int(limit) if limit.isdecimal() else None,
                entry.rate("overflows"),
            )
        )
    return tuple(found)


KIND = Kind(
    Neighbours, "neighbour_tables", needs=("neighbours", "sysctls"), build=build,
    names={"family": "neighbours.family"}, example={"family": "arp"},
)  # fmt: skip
