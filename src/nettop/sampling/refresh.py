"""How often each table is read: what rests, what the budget allows, and when the kernel counts.

A collector that may rest is read every other second unless the visible pane names its table in
NEEDS, and every `QUIET` seconds while no interface moves data. Interfaces, cores and the counters
of the driver are read in each sample, so the first data ends the rest. The search of /proc for the
owners of sockets pauses while all sockets have known processes.

A quiet host is looked at every `QUIET_LOOK` seconds. A transfer that begins between two looks would
be seen late, so /proc/net/dev is read at the interval (`Moves`) and the next look is taken at once
if bytes move. Traffic between other network namespaces that passes no interface of this one is seen
at the next look.

For a count of drops and failed calls in the kernel each call and each drop of the host pays, so it
runs shortly: a few seconds of each minute, and longer when something begins that it may explain.

The budget is how much of a core sampling may take. The cost of a table is the CPU time of its
readings, also that of the kernel in the system call; to that of an expensive table is added what
facts and rules take more in a frame that has read it. Expensive tables share what the others leave;
none is read less often than every `LONGEST` seconds, but for sockets that rest (`Stillness`).
Facts, rules and drawing get the other half of the budget, or more if they need more. If looks and
expensive tables together cost more than twice the budget, looks are taken less often.
"""

import math
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from functools import cache
from math import inf
from operator import is_
from types import MappingProxyType
from typing import Final

from .. import collect
from ..frame.rates import Frame
from ..host.source import Source
from ..terms.dataclass import dataclass

UNSEEN: Final = 2.0  # seconds between readings of a table that may rest and that no pane shows
QUIET: Final = 5.0  # the same, while no interface moves data
MOVES: Final = 125_000.0  # bytes/s of one interface and direction that are data (1 Mb/s)
SINCE: Final = 10.0  # seconds without data before a host is quiet
REST: Final = 15.0  # seconds between searches while every socket has a known process
UNKNOWN: Final = 60.0  # seconds in which the process of a new socket is searched for
_COUNTED: Final = ("link_stats", "netdev", "netns_links")
_SOCKETS: Final = (
    "socket_owners", "sockets_tcp", "sockets_udp", "packet_sockets", "netns_tcp", "netns_udp",
)  # fmt: skip


@cache
def _slow() -> frozenset[str]:
    """The collectors that rest on a quiet host: those that may, and those of two seconds."""
    own = {name for name in collect.names() if collect.table(name).every >= UNSEEN}
    return collect.resting() | own


def _first(frame: Frame | None) -> bool:
    """Whether the frame is the first one: its interfaces are counted, and none has a rate."""
    tables = [frame.tables.get(name, ()) for name in _COUNTED] if frame is not None else []
    return any(tables) and not any(entry.rated for entries in tables for entry in entries)


class RefreshPolicy:
    """How long tables may wait; remembers since when sockets have no known process."""

    def __init__(self) -> None:
        """No frame yet."""
        self._seen: tuple[Sequence[object] | None, ...] = ()
        self._met: dict[int, float] = {}
        self._moved: float | None = None  # when an interface last moved data, or the first frame
        self.unseen = UNSEEN  # seconds between readings of tables that no pane shows

    def of(
        self, frame: Frame | None, shown: Collection[str], *, rest: bool = False
    ) -> Mapping[str, float]:
        """Seconds that each table may wait after `frame`; the tables `shown` may not.

        After the first frame, which has no rates, none may.

        `rest`: longer while the host is quiet, which a recording is not slowed down by.
        """
        quiet = rest and frame is not None and self._quiet(frame)
        self.unseen = QUIET if quiet else UNSEEN
        resting = () if _first(frame) else _slow() if quiet else collect.resting()
        waits = dict.fromkeys(set(resting).difference(() if quiet else shown), self.unseen)
        if frame is not None and not self._unknown(frame):
            waits["socket_owners"] = REST
        return waits

    def _quiet(self, frame: Frame) -> bool:
        """Whether no interface, of any namespace read, has moved data for `SINCE` seconds."""
        tables = [frame.tables.get(name, ()) for name in _COUNTED]
        moves = any(
            not entry.still and (entry.rate(name) or 0.0) > MOVES
            for entries in tables for entry in entries for name in ("rx_bytes", "tx_bytes")
        )  # fmt: skip
        if moves or self._moved is None or frame.at < self._moved:
            self._moved = frame.at
        return any(tables[:2]) and frame.at - self._moved >= SINCE

    def _unknown(self, frame: Frame) -> bool:
        """Whether a socket without a known process appeared a short time ago."""
        tables = tuple(map(frame.tables.get, _SOCKETS))
        if len(self._seen) != len(tables) or not all(map(is_, tables, self._seen)):
            self._seen = tables
            owned, *used = ({entry.now.inode for entry in table or ()} for table in tables)
            new = set[int]().union(*used) - owned - {0}
            self._met = {inode: self._met.get(inode, frame.at) for inode in new}
        return any(frame.at - at < UNKNOWN for at in self._met.values())


QUIET_LOOK: Final = 2.0  # seconds between two looks while no interface moves data


class Moves:
    """The bytes of each interface at the last reading."""

    def __init__(self, source: Source) -> None:
        """Nothing is read yet."""
        self._source = source
        self._at = 0.0
        self._lines: frozenset[str] = frozenset()
        self._bytes: dict[str, tuple[int, int]] = {}

    def begin(self) -> bool:
        """Whether an interface moved data since the last call; True if that cannot be known.

        As `RefreshPolicy` judges: more than `MOVES` bytes a second in one direction. An interface
        that is new, or whose counters were reset, has moved none.
        """
        try:
            changed = self._changed()
        except (OSError, ValueError):
            return True
        now, before = self._source.now(), self._bytes
        most, self._at = MOVES * (now - self._at), now
        self._bytes = before | changed if len(before) <= 2 * len(self._lines) else changed
        return any(
            count - old > most
            for name, pair in changed.items()
            for count, old in zip(pair, before.get(name, pair), strict=True)
        )

    def _changed(self) -> dict[str, tuple[int, int]]:
        """Bytes received and sent of the interfaces whose line is new; most lines are not."""
        from ..collect import netdev  # not needed for the first paint

        lines = self._source.text("/proc/net/dev").splitlines()
        before, self._lines = self._lines, frozenset(lines)
        new = [*lines[:2], *(line for line in lines[2:] if line not in before)]
        return {row.name: (row.rx_bytes, row.tx_bytes) for row in netdev.parse("\n".join(new))}


FEW: Final = 20.0  # segments/s, both directions: a host with more moves data
RISE: Final = 5.0  # segments/s above the least rate since the sockets were read: one moves data
SOCKETS_REST: Final = 60.0  # seconds between readings of costly sockets that rest, or of owners
SOCKETS: Final = "sockets_tcp"
OWNERS: Final = "socket_owners"


@dataclass(slots=True)
class Stillness:
    """The host's segments since the sockets were read last: whether the sockets rest.

    To look at 100,000 connections takes a quarter of a second, and the search for their processes
    as long again. While the host sends and receives almost no segment, none of them moves data:
    then both may be repeated less often. More segments than before end that at once, whatever
    socket they belong to.
    """

    sockets: object = None  # the table that was read last
    least: float | None = None  # segments/s
    risen: bool = False

    def longest(self, frame: Frame | None) -> dict[str, float]:
        """How many seconds the budget may let tables wait after this frame, if not as usual."""
        if frame is None or not self._rests(frame):
            return {}
        return dict.fromkeys((SOCKETS, OWNERS), SOCKETS_REST)

    def _rests(self, frame: Frame) -> bool:
        sockets = frame.tables.get(SOCKETS)
        if sockets is None:
            return False
        if sockets is not self.sockets:
            self.sockets, self.least, self.risen = sockets, None, False
        counts = frame.tables.get("snmp", ())
        rates = [entry.rate(name) for entry in counts for name in ("tcp_in", "tcp_out")]
        known = [rate for rate in rates if rate is not None]
        if not rates or len(known) < len(rates):
            return False
        rate = sum(known)
        self.least = rate if self.least is None else min(rate, self.least)
        self.risen = self.risen or rate >= FEW or rate >= self.least + RISE
        return not self.risen


FIRST: Final = 3.0  # seconds after the start: the first pictures come before it
EVERY: Final = 60.0  # seconds from one look to the next
SHORT: Final = 2.0
LONG: Final = 5.0  # when a problem begins, or the host was changed
BETWEEN: Final = 10.0  # seconds between a look and a long one


class ShortLook:
    """When looks begin and end; `at` is the time of the source in seconds."""

    def __init__(self, at: float, short: float = SHORT) -> None:
        """The first one begins in `FIRST` seconds. `short`: the seconds of that of each minute."""
        self._next, self._length, self._short = at + FIRST, short, short
        self._until = -inf
        self._known: set[str] | None = None  # problems since the last look of the minute

    def runs(self, at: float) -> bool:
        """Whether to count now; begins a look that is due."""
        if at >= self._next:
            if self._length == self._short:
                self._known = None
            self._until = at + self._length if self._length else self._until
            self._next, self._length = at + EVERY, self._short
        return at < self._until

    def judged(self, at: float, problems: Collection[str]) -> None:
        """These problems hold: a new one is looked at for longer, once in a minute."""
        known, self._known = self._known, {*(self._known or ()), *problems}
        new = known is not None and not known.issuperset(problems)
        if new and at >= self._until + BETWEEN:
            self.changed(at)

    def changed(self, at: float) -> None:
        """The host is not as it was: a long look is due."""
        if self._next < inf:
            self._next, self._length = at, LONG

    def refused(self) -> None:
        """The kernel refuses to count, and will refuse it again."""
        self._next, self._until = inf, -inf


BUDGET: Final = 1.0  # percent of a core
EXPENSIVE: Final = 0.002  # seconds of CPU time of one reading: cheaper tables keep their pace
LONGEST: Final = 20.0  # seconds between two readings
NOTICED: Final = 1.5  # times the interval: from here on a longer one is used and shown
WHOLE: Final = 2.0  # times the budget: what looks and expensive tables may take
SLOWEST: Final = 2.0  # seconds between two looks: cores and interfaces are drawn with each
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
