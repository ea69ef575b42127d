"""How long each table may go without a new reading, and when the kernel counts for the screen.

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
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from math import inf
from operator import is_
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
        waits = dict.fromkeys(set(resting).difference(shown), self.unseen)
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

    def __init__(self, at: float) -> None:
        """The first one begins in `FIRST` seconds."""
        self._next, self._length = at + FIRST, SHORT
        self._until = at
        self._known: set[str] | None = None  # problems since the last look of the minute

    def runs(self, at: float) -> bool:
        """Whether to count now; begins a look that is due."""
        if at >= self._next:
            if self._length == SHORT:
                self._known = None
            self._until, self._next, self._length = at + self._length, at + EVERY, SHORT
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
