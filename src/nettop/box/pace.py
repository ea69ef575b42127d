"""How often a box looks: at a quiet host, most tables and the rules wait for some seconds.

Each second the counters of interfaces, backlog, protocols and CPUs are read, so that their past has
every second, and a host that gets busy or drops packets is judged at once. On a busy host with many
sockets or queues, tables whose reading is dear wait longer, and so do the rules.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ..frame.rates import Frame
from ..sampling.budget import Budget
from ..views.observer import Observation, Observer

LIGHT: Final = frozenset({"cpu", "link_stats", "netdev", "snmp", "softnet"})
REST: Final = 5.0  # seconds between two judgements of a quiet host
PERCENT: Final = 0.5  # of a core, for dear tables of a busy host
DEAR: Final = 0.02  # seconds of CPU time: a judgement that takes longer is not made each second
BUSY: Final = 1_000_000.0  # bytes/s through all interfaces together
_LOST: Final = {
    "link_stats": ("rx_dropped", "tx_dropped", "rx_missed_errors", "rx_fifo_errors"),
    "netdev": ("rx_drop", "tx_drop"),
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
        self._cost = 0.0  # CPU seconds of the last judgement
        self._budget = Budget(PERCENT)

    def step(self, *, eager: bool) -> Observation:
        """The next observation; `eager` reads all and judges, whether the host is quiet or not."""
        observer, last = self._observer, self._last
        eager = eager or last is None
        busy = last is not None and loud(last.frame)
        frame = observer.sample({} if eager else self._waits(busy=busy))
        self._budget.read(observer.sampler.spent)
        due = not 0 <= frame.at - self._judged < REST * 0.95
        at_once = loud(frame) and not (busy and self._cost > DEAR)
        if eager or due or at_once or last is None:
            begun = time.thread_time()
            self._last = observer.observation(frame)
            self._judged, self._cost = frame.at, time.thread_time() - begun
        else:
            self._last = replace(last, frame=frame)
        return self._last

    def _waits(self, *, busy: bool) -> Mapping[str, float]:
        """Seconds that each table may be old."""
        tables, sampler = self._observer.tables(), self._observer.sampler
        if not busy:
            return dict.fromkeys(tables - LIGHT, REST)
        return self._budget.stretched({name: max(1.0, sampler.every(name)) for name in tables})


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
