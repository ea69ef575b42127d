"""The budget: how much of a core sampling may take, and which tables are read less often for it.

The cost of a table is the CPU time of its readings, also that of the kernel in the system call; to
that of an expensive table is added what facts and rules take more in a frame that has read it.
Expensive tables share what the others leave; none is read less often than every `LONGEST` seconds,
but for sockets that rest (`refresh.Stillness`).
Facts, rules and drawing get the other half of the budget, or more if they need more. If looks and
expensive tables together cost more than twice the budget, looks are taken less often.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final

from ..terms.dataclass import dataclass

BUDGET: Final = 1.0  # percent of a core
EXPENSIVE: Final = 0.002  # seconds of CPU time of one reading: cheaper tables keep their pace
LONGEST: Final = 20.0  # seconds between two readings
NOTICED: Final = 1.5  # times the interval: from here on a longer one is used and shown
WHOLE: Final = 2.0  # times the budget: what looks and expensive tables may take
SLOWEST: Final = 5.0  # seconds between two looks
LOOK: Final = "the screen"  # the name of the pace of looks among those of tables
STEP: Final = 0.5  # seconds: the time between two looks is a multiple of this
SLOWER: Final = 1.1  # times the interval: from here on looks are taken less often
FASTER: Final = 0.9  # times the interval: from here on they are taken at the interval again
_LOOKS: Final = 3  # the cheapest of these counts: single looks may cost more by chance
_LEAST: Final = 0.4  # of the budget, for expensive tables
_NONE: Final[Mapping[str, float]] = MappingProxyType({})
_FRAME: Final = 0.5  # seconds: frames that follow a key sooner count as one of this length


@dataclass(slots=True)
class Budget:
    """The costs measured so far; `percent` of a core may be spent."""

    percent: float = BUDGET
    costs: dict[str, tuple[float, float]] = field(default_factory=dict)  # of the last two readings
    rest: float = 0.0  # seconds a second for all but tables
    usual: float | None = None  # seconds of facts and rules in a frame without an expensive reading
    looks: deque[float] = field(default_factory=lambda: deque(maxlen=_LOOKS))  # CPU seconds of each
    process: float | None = None  # CPU seconds of the process at the last look
    tables: float = 0.0  # seconds a second for expensive tables, at the pace they were given
    slow: bool = False  # whether looks are taken less often

    def read(self, costs: Mapping[str, float]) -> None:
        """Add the CPU seconds of the tables that were read."""
        for table, cost in costs.items():
            _, last = self.costs.get(table, (0.0, 0.0))  # the first reading costs more than others
            self.costs[table] = last, cost

    def spent(self, seconds: float, over: float, read: Mapping[str, float] = _NONE) -> None:
        """Add the CPU seconds of facts and rules; the frame before was `over` seconds ago.

        `read` has the tables that were read, with their CPU seconds: the most expensive one is
        charged with what exceeds the usual seconds, because new rows are joined and judged.
        """
        table = max(read, key=read.__getitem__, default="")
        if read.get(table, 0.0) < EXPENSIVE:
            self.usual = seconds if self.usual is None else self.usual + (seconds - self.usual) / 4
        elif self.usual is not None and seconds > self.usual:
            before, cost = self.costs.get(table, (0.0, read[table]))
            self.costs[table] = before, cost + seconds - self.usual
            seconds = self.usual
        self.rest += (seconds / max(_FRAME, over) - self.rest) / 4

    def looked(self, process: float) -> None:
        """Note the CPU seconds of the process, all threads, at the beginning of a look."""
        if self.process is not None:
            self.looks.append(process - self.process)
        self.process = process

    def pace(self, interval: float) -> float:
        """Seconds between two looks: `interval`, or longer if looks are expensive."""
        if len(self.looks) < _LOOKS or self.percent <= 0 or interval <= 0:
            return interval
        share = self.percent / 100
        tables = self.tables if self.expensive else 0.0
        fair = min(self.looks) / max(WHOLE * share - tables, share)
        self.slow = fair > interval * (FASTER if self.slow else SLOWER)
        slow = min(SLOWEST, math.ceil(round(fair / STEP, 3)) * STEP)
        return max(interval, slow) if self.slow else interval

    @property
    def expensive(self) -> bool:
        """Whether any table may have to wait."""
        return any(min(costs) >= EXPENSIVE for costs in self.costs.values())

    def stretched(
        self, intervals: Mapping[str, float], longest: Mapping[str, float] = _NONE
    ) -> dict[str, float]:
        """Seconds between readings of each table that must wait longer than its interval.

        `intervals` has the tables that are in use and may wait; no table waits longer than
        `LONGEST`, or than it has in `longest`. One reading that was expensive by chance (a busy
        machine) changes nothing: of the last two the cheaper counts.
        """
        share = self.percent / 100
        demand = {
            table: (min(self.costs.get(table, (0.0, 0.0))), max(every, 0.1))
            for table, every in intervals.items()
        }
        room = min(share / 2, share - self.rest)
        room -= sum(cost / every for cost, every in demand.values() if cost < EXPENSIVE)
        expensive = {table: one for table, one in demand.items() if one[0] >= EXPENSIVE}
        each = _each(
            [cost / every for cost, every in expensive.values()], max(room, share * _LEAST)
        )
        waits = {
            table: float(
                min(max(longest.get(table, LONGEST), every), math.ceil(round(cost / each, 3)))
            )
            for table, (cost, every) in expensive.items()
            if cost / each > every * NOTICED
        }
        self.tables = sum(
            cost / max(every, waits.get(table, 0.0)) for table, (cost, every) in expensive.items()
        )
        return {table: wait for table, wait in waits.items() if wait > intervals[table]}


def _each(demands: list[float], room: float) -> float:
    """The most that one table may take so that all fit: small demands are met in full."""
    left = room
    waiting = sorted(demands)
    for place, demand in enumerate(waiting):
        fair = left / (len(waiting) - place)
        if demand > fair:
            return fair
        left -= demand
    return math.inf
