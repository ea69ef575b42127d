"""How often a box samples: its CPU budget decides how often all tables are read and judged.

The counters of interfaces, backlog, protocols and CPUs are read every second. A full look also
reads the other tables, and judges. A quiet host has a full look every `REST` seconds. A busy host,
or one that loses packets, has as many as `PERCENT` of a core allows, at most one a second. Losses
that begin cause one at once. Tables of settings and tables that are expensive to read are read less
often.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from ..frame.rates import Frame
from ..sampling.budget import Budget
from ..views.observer import Observation, Observer

LIGHT: Final = frozenset({"cpu", "link_stats", "netdev", "snmp", "softnet"})
REST: Final = 5.0  # seconds between two full looks at a quiet host
LONGEST: Final = 20.0  # seconds between two full looks that exceed the budget
SELDOM: Final = 10.0  # seconds: a table with this interval or a longer one holds settings
SETTINGS: Final = 30.0  # seconds between two readings of such a table
PERCENT: Final = 0.5  # of a core
SAVED: Final = 10.0  # seconds of unused budget that can be used at once; as much can be borrowed
BUSY: Final = 1_000_000.0  # bytes/s through all interfaces together
_LOST: Final = {
    "link_stats": ("rx_dropped", "tx_dropped", "rx_missed_errors", "rx_fifo_errors"),
    "netdev": ("rx_drop", "tx_drop"),
    "softnet": ("dropped",),
    "snmp": ("udp_errors", "listen_drops", "tcp_retrans"),
}


class Pace:
    """Observes a live host; the last observation is valid until the next full look."""

    def __init__(self, observer: Observer, work: Callable[[], float] = time.process_time) -> None:
        """Nothing was observed yet. `work` gives the CPU seconds spent so far."""
        self._observer, self._work = observer, work
        self._last: Observation | None = None
        self._looked = 0.0  # seconds of the clock: the last full look
        self._soon = False  # whether the next look is a full one: losses have begun
        self._credit = 0.0  # CPU seconds that the box may use now
        self._free = True  # whether the last step is not charged
        self._at = self._spent = 0.0  # seconds of the clock and of the CPU at the last step
        self._budget = Budget(PERCENT)

    def step(self, *, eager: bool, free: bool = False) -> Observation:
        """The next observation; `eager` reads all and judges, whatever it costs.

        `free`: the cost is not made up for later.
        """
        observer, last = self._observer, self._last
        self._pay(observer.source.now(), free=free or last is None)
        if eager or last is None:
            frame, whole = observer.sample({}), True
        else:
            whole = self._due(last.frame, observer.source.now())
            frame = observer.sample(self._waits() if whole else self._resting())
        # the rarely read tables are older than the losses, so they are read in the next second
        sudden = not whole and last is not None and loses(frame) and not loses(last.frame)
        self._soon = sudden and self._credit > -SAVED * PERCENT / 100
        self._budget.read(observer.sampler.spent)
        if whole:
            self._looked = frame.at
        if last is None or whole or self._soon:
            self._last = observer.observation(frame)
        else:
            self._last = replace(last, frame=frame)
        return self._last

    def _due(self, before: Frame, now: float) -> bool:
        """Whether a full look is due now."""
        passed = now - self._looked
        if self._soon or not 0 <= passed < LONGEST - 0.5:
            return True
        busy = passed >= REST * 0.95 or moves(before) or loses(before)
        return self._credit >= 0 and busy

    def _pay(self, at: float, *, free: bool) -> None:
        """Charge all work since the last step began, unless that step was `free`."""
        spent = self._work()
        if not self._free:
            allowed = max(0.0, at - self._at) * PERCENT / 100
            credit = self._credit + allowed - (spent - self._spent)
            self._credit = max(-LONGEST * PERCENT / 100, min(SAVED * PERCENT / 100, credit))
        self._free, self._at, self._spent = free, at, spent

    def _resting(self) -> Mapping[str, float]:
        """Tables that are not read beside the light ones."""
        return dict.fromkeys(self._observer.tables() - LIGHT, float("inf"))

    def _waits(self) -> Mapping[str, float]:
        """The age in seconds that each table of a full look may have."""
        every = {name: self._observer.sampler.every(name) for name in self._observer.tables()}
        slow = {name: max(SETTINGS, one) for name, one in every.items() if one >= SELDOM}
        waits = {name: max(1.0, one) for name, one in every.items()} | slow
        return slow | self._budget.stretched(waits)


def moves(frame: Frame) -> bool:
    """Whether the host moves more than `BUSY`."""
    moved = 0.0
    for entry in frame.tables.get("link_stats") or frame.tables.get("netdev") or ():
        moved += (entry.rate("rx_bytes") or 0.0) + (entry.rate("tx_bytes") or 0.0)
    return moved > BUSY


def loses(frame: Frame) -> bool:
    """Whether the host loses packets, by the tables that are `LIGHT`."""
    return any(
        entry.rate(name) or 0.0
        for table, names in _LOST.items()
        for entry in frame.tables.get(table, ())
        for name in names
    )
