"""Whether what was read of a host is enough to judge it by.

Rules need rates. A copy of /proc and /sys does not change, a single sample has nothing to compare
with, and half a recording lacks counters. A host without findings is then not known to be healthy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ..frame.rates import Entry, Frame

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_PORTS: Final = ("link_stats", "netdev")  # the second where the first cannot be read
_MOVES: Final = (
    "idle", "user", "nice", "system", "softirq", "steal", "rx_packets", "tx_packets",
)  # fmt: skip


def shortfall(frame: Frame, *, live: bool) -> str | None:
    """What is missing for a judgement, a phrase; None when nothing is.

    `live`: this running machine, which may count nothing in a few milliseconds.
    """
    ports = [entry for name in _PORTS for entry in frame.tables.get(name, ())]
    if not ports:
        return "the counters of the interfaces could not be read"
    counted = False
    for rate in _rates((*ports, *frame.tables.get("cpu", ()))):
        if rate or live:
            return None
        counted = True
    if not counted:
        return "one sample has no rates"
    if not frame.tables.get("cpu"):
        return "no packet was counted, and the CPU times could not be read"
    return "no counter changed between the samples: this is a copy, not a running host"


def unjudged(lacking: str) -> str:
    """The words for a shortfall where there is no finding, instead of `no findings`."""
    return f"not enough to judge: {lacking}"


def _rates(entries: Iterable[Entry[DataclassInstance]]) -> Iterable[float]:
    """The known rates of counters that move on every running host."""
    for entry in entries:
        for name in _MOVES:
            rate = entry.rate(name) if hasattr(entry.now, name) else None
            if rate is not None:
                yield rate
