"""The last minutes and hours: one moment per second for 15 minutes, before that one per 10 s.

`History` is immutable: `add` gives a new one. Summaries hold totals as well as rates, so the bytes
between two moments are an exact difference of counters, even if samples between them are missing.

Rows are packed into bytes, because there are thousands of moments: a Python object takes about 25
bytes for a number and 50 for a name. Here a number takes 4 or 8 bytes, and successive moments share
equal names.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from math import isnan, nan
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from ..facts import Facts
from ..facts.flow_words import rate, total
from ..terms.dataclass import dataclass

if TYPE_CHECKING:
    from ..facts.kinds.nic import Nic


_T = TypeVar("_T")
_UNKNOWN: Final = (1 << 64) - 1  # stands for an unknown count
_LARGEST: Final = 3e38  # larger values do not fit into a 32-bit float


class Layout(Generic[_T]):
    """How rows of one class are packed: one letter of `struct` for each field.

    `f`: a float of about seven digits. `Q`: an exact 64-bit count. Both may be None.
    """

    def __init__(self, kind: type[_T], letters: str) -> None:
        """`kind` takes one argument for each of `letters`."""
        self.kind = kind
        self.letters = letters
        self.struct = struct.Struct(f"={letters}")

    def pack(self, values: Sequence[float | None]) -> bytes:
        """One row as bytes."""
        fields = zip(self.letters, values, strict=True)
        return self.struct.pack(*[_packed(letter, value) for letter, value in fields])

    def unpack(self, data: bytes, place: int) -> _T:
        """The row at this index."""
        values: tuple[float, ...] = self.struct.unpack_from(data, place * self.struct.size)
        return self.kind(*[None if v == _UNKNOWN or isnan(v) else v for v in values])


def _packed(letter: str, value: float | None) -> float:
    if letter == "Q":
        return _UNKNOWN if value is None else max(0, min(int(value), _UNKNOWN - 1))
    return nan if value is None else max(-_LARGEST, min(value, _LARGEST))


class Packed(Mapping[str, _T]):
    """Rows by name; a row is unpacked at each access."""

    __slots__ = ("_data", "_layout", "_names")

    def __init__(self, layout: Layout[_T], names: tuple[str, ...] = (), data: bytes = b"") -> None:
        """`data` has a row for each of `names`."""
        self._layout = layout
        self._names = names
        self._data = data

    def then(self, rows: Mapping[str, Sequence[float | None]]) -> Packed[_T]:
        """The rows of the next moment, which share equal names with these."""
        known = {name: name for name in self._names}
        names = tuple([known.get(name, name) for name in rows])
        data = b"".join(map(self._layout.pack, rows.values()))
        return Packed(self._layout, self._names if names == self._names else names, data)

    def only(self, names: Collection[str]) -> Packed[_T]:
        """The rows of `names`; the same object if there are no others."""
        places = [place for place, name in enumerate(self._names) if name in names]
        if len(places) == len(self._names):
            return self
        size = self._layout.struct.size
        rows = (self._data[place * size : (place + 1) * size] for place in places)
        return Packed(self._layout, tuple(self._names[p] for p in places), b"".join(rows))

    def __getitem__(self, name: str) -> _T:
        """The row of this name; KeyError without one."""
        try:
            place = self._names.index(name)
        except ValueError:
            raise KeyError(name) from None
        return self._layout.unpack(self._data, place)

    def get(self, name: str, default: Any = None) -> Any:
        """The row of this name, else `default`; a graph calls it for thousands of moments."""
        names = self._names
        return self._layout.unpack(self._data, names.index(name)) if name in names else default

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._names)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._names)


FINE: Final = 900  # moments, one per second: 15 minutes
COARSE: Final = 2880  # moments, one per `STEP`: eight hours
STEP: Final = 10.0
KINDS: Final = ("softirq", "irq", "system", "user", "steal")  # of a core's time
PORTS: Final = 64  # interfaces of a moment at most
IDLE: Final = 1000.0  # bytes/s below which an interface is idle
_FLOWS: Final = 12


@dataclass(frozen=True, slots=True)
class PortRates:
    """One interface at one moment: rates (bytes/s, packets/s) and totals (bytes, packets)."""

    rx: float | None
    tx: float | None
    rx_packets: float | None
    tx_packets: float | None
    lost: float | None
    rx_total: float | None
    tx_total: float | None
    rx_packets_total: float | None
    tx_packets_total: float | None


@dataclass(frozen=True, slots=True)
class Trace:
    """One flow at one moment."""

    rate: float | None  # bytes/s, both directions
    rtt: float | None  # seconds
    cwnd: float | None  # segments
    retransmits: float | None


_PORT: Final = Layout(PortRates, "fffffQQQQ")
_TRACE: Final = Layout(Trace, "ffff")


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Summary:
    """One summary. `busy` and each of `kinds` are percent, one byte per CPU in the order of `cpus`.

    A summary is equal only to itself, so that a graph can cache what it needs of each.
    """

    at: float
    wall: float
    ports: Packed[PortRates]
    cpus: tuple[int, ...]
    busy: bytes
    kinds: tuple[bytes, ...]  # in the order of `KINDS`
    flows: Packed[Trace]

    def of(self, flows: Collection[str]) -> Summary:
        """The moment without traces of flows that are not in `flows` (they have ended)."""
        traces = self.flows.only(flows)
        return self if traces is self.flows else replace(self, flows=traces)


NONE: Final = Summary(0.0, 0.0, Packed(_PORT), (), b"", (b"",) * len(KINDS), Packed(_TRACE))


@dataclass(frozen=True, slots=True)
class History:
    """The moments kept, oldest first: `coarse` ends where `fine` begins."""

    fine: tuple[Summary, ...] = ()
    coarse: tuple[Summary, ...] = ()

    def add(self, facts: Facts, wall: float) -> History:
        """The past with one more moment; unchanged if the last moment is less than a second old."""
        if self.fine and facts.at - self.fine[-1].at < 0.95:
            return self
        before = self.fine[-1] if self.fine else NONE
        fine = (*self.fine, moment(facts, wall, before))
        coarse = self.coarse
        if facts.flows and facts.at // STEP != before.at // STEP:
            alive = {flow.id for flow in facts.flows}
            fine, coarse = (tuple([m.of(alive) for m in moments]) for moments in (fine, coarse))
        while len(fine) > FINE:
            oldest, fine = fine[0], fine[1:]
            if not coarse or oldest.at - coarse[-1].at >= STEP - 0.05:
                coarse = (*coarse, oldest)[-COARSE:]
        return History(fine, coarse)

    def moments(self, seconds: float | None = None) -> tuple[Summary, ...]:
        """The moments of the last `seconds`; by default all."""
        every = self.coarse + self.fine
        if seconds is None or not every:
            return every
        start = every[-1].at - seconds
        return tuple(m for m in every if m.at >= start)

    def until(self, wall: float) -> History:
        """The past of an earlier moment; what was fine then may be coarse now."""
        every = self.coarse + self.fine
        end = bisect_right(every, wall + 1e-3, key=attrgetter("wall"))
        start = bisect_right(every, wall - FINE, hi=end, key=attrgetter("wall"))
        return History(every[start:end], every[:start])

    def flow(
        self, flow: str, value: Callable[[Trace], float | None], seconds: float | None = None
    ) -> list[float | None]:
        """One value of one flow over time; None where it is unknown."""
        return [
            None if (trace := m.flows.get(flow)) is None else value(trace)
            for m in self.moments(seconds)
        ]


def _percents(values: Iterable[float | None]) -> bytes:
    """A byte for each value; a host may have a thousand cores."""
    return bytes([0 if not v or v < 0 else 100 if v > 100 else round(v) for v in values])


def _kinds(facts: Facts, before: Summary) -> tuple[bytes, ...]:
    """The kinds of all cores; one that is as before, as hard interrupts often, is shared."""
    now = (_percents(map(attrgetter(kind), facts.cores)) for kind in KINDS)
    return tuple(old if one == old else one for one, old in zip(now, before.kinds, strict=True))


_LOST: Final = attrgetter("ring_drops", "rx_dropped", "tx_dropped", "phy_discards", "qdisc_drops")


def lost(counters: object) -> float | None:
    """The drops per second of an interface, all counters together; None if none is reported."""
    return total(_LOST(counters))


def _kept(nics: Sequence[Nic], before: Summary) -> Sequence[Nic]:
    """At most `PORTS` interfaces: those that move or lose the most, then real ones.

    Of equals, those of the moment before stay: their graphs go on.
    """
    if len(nics) <= PORTS:
        return nics
    known = set(before.ports)

    def rank(nic: Nic) -> tuple[int, bool, bool]:
        moved = int((nic.per_s.rx_bytes or 0.0) + (nic.per_s.tx_bytes or 0.0))
        busy = moved >= IDLE or lost(nic.per_s)
        return moved.bit_length() if busy else 0, nic.kind == "nic", nic.name in known

    chosen = {id(nic) for nic in nlargest(PORTS, nics, key=rank)}
    return [nic for nic in nics if id(nic) in chosen]


def moment(facts: Facts, wall: float, before: Summary = NONE) -> Summary:
    """The summary of these facts; it shares equal parts with the moment `before`."""
    ports = {
        nic.name: (
            nic.per_s.rx_bytes,
            nic.per_s.tx_bytes,
            nic.per_s.rx_packets,
            nic.per_s.tx_packets,
            lost(nic.per_s),
            nic.total.rx_bytes,
            nic.total.tx_bytes,
            nic.total.rx_packets,
            nic.total.tx_packets,
        )
        for nic in _kept(facts.nics, before)
    }
    busiest = sorted(facts.flows, key=lambda f: -(rate(f) or 0.0))[:_FLOWS]
    flows = {f.id: (rate(f), f.rtt, f.cwnd, f.retransmits_per_s) for f in busiest}
    cpus = tuple([core.cpu for core in facts.cores])
    return Summary(
        facts.at,
        wall,
        before.ports.then(ports),
        before.cpus if cpus == before.cpus else cpus,
        _percents([None if c.idle is None else 100 - c.idle for c in facts.cores]),
        _kinds(facts, before),
        before.flows.then(flows),
    )
