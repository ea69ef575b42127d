"""How often a box looks: at a quiet host, most tables and the rules wait for some seconds.

Each second the counters of interfaces, backlog, protocols and CPUs are read, so that their past has
every second, and a host that gets busy or drops packets is judged at once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from ..frame.rates import Frame
from ..views.observer import Observation, Observer

LIGHT: Final = frozenset({"cpu", "link_stats", "netdev", "snmp", "softnet"})
REST: Final = 5.0  # seconds between two judgements of a quiet host
BUSY: Final = 1_000_000.0  # bytes/s through all interfaces together
_LOST: Final = {
    "link_stats": ("rx_dropped", "tx_dropped", "rx_missed_errors", "rx_fifo_errors"),
    "netdev": ("rx_dropped", "tx_dropped"),
    "softnet": ("dropped",),
    "snmp": ("udp_errors", "listen_drops", "tcp_retrans"),
}


class Pace:
    """Observes a live host; the last observation stands while the host is quiet."""

    def __init__(self, observer: Observer) -> None:
        """Nothing was observed yet."""
        self._observer = observer
        self._last: Observation | None = None
        self._judged = 0.0

    def step(self, *, eager: bool) -> Observation:
        """The next observation; `eager` judges it whether the host is quiet or not."""
        observer, last = self._observer, self._last
        eager = eager or last is None or loud(last.frame)
        resting: Collection[str] = () if eager else observer.tables() - LIGHT
        frame = observer.sample(dict.fromkeys(resting, REST))
        due = not 0 <= frame.at - self._judged < REST * 0.95
        if eager or due or last is None or loud(frame):
            self._judged = frame.at
            self._last = observer.observation(frame)
        else:
            self._last = replace(last, frame=frame)
        return self._last


def loud(frame: Frame) -> bool:
    """Whether the host moves more than `BUSY`, or loses packets, by the tables that are `LIGHT`."""
    moved = 0.0
    for entry in frame.tables.get("link_stats") or frame.tables.get("netdev") or ():
        moved += (entry.rate("rx_bytes") or 0.0) + (entry.rate("tx_bytes") or 0.0)
    return moved > BUSY or any(
        entry.rate(name) or 0.0
        for table, names in _LOST.items()
        for entry in frame.tables.get(table, ())
        for name in names
    )
