"""The last ten seconds of sockets, threads, queues and cores, and shares of wall time over them.

A frame may repeat a table that was not read again: it counts once. Rates are those of the entries,
each over its own interval, so that a table read late is not misjudged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final, TypeVar

from ...frame.fields import Packed
from ...frame.pairs import SLOW, Calm
from ...frame.rates import Entry, Frame
from ...terms.dataclass import dataclass
from .. import elsewhere, port
from ..flow_words import joined
from ..kinds import process
from ..kinds.core import Load, loads
from ..kinds.nic import Nic
from ..kinds.path import Path
from ..kinds.process import Taken
from ..wiring import Routes
from . import SECONDS

INTERFACES: Final = 64  # if there are more, resting virtual ones are not judged
CROWD: Final = 1000  # TCP sockets: of more, only those that may be limited are followed
LITTLE: Final = 1000.0  # bytes/s, both directions: an interface that moves less rests

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_Result = TypeVar("_Result")

Series = deque[tuple[float, Any]]


@dataclass(slots=True)
class Track:
    """The entries of one table in the window, by key."""

    key: Callable[[Any], Hashable]
    wanted: Callable[[Entry[Any]], bool]
    series: dict[Hashable, Series] = field(default_factory=dict)
    last: object = None
    at: float = 0.0  # when it was read
    changes: int = 0  # number of changes of the entries
    last_wanted: dict[Hashable, float] = field(default_factory=dict)  # seconds, by key
    oldest: float = float("-inf")  # time of the oldest entry; nothing is forgotten before
    brisk: Callable[[Entry[Any]], bool] | None = None  # a second test, from `CROWD` rows on
    reads: deque[float] = field(default_factory=deque)  # when it was read again, in the window

    def add(self, at: float, table: Any) -> None:
        """Add a table unless it is the same as last time; forget what is too old.

        A key is followed until none of its entries in the window was wanted.
        """
        if table is not None and table is not self.last:
            if self.last is not None:  # the first has no rates
                self.reads.append(at)
            self.last, self.at = table, at
            self.changes += 1
            brisk = self.brisk if len(table) >= CROWD else None
            for entry in table:
                wanted = self.wanted(entry) and (brisk is None or brisk(entry))
                if not wanted and not self.series:
                    continue
                name = self.key(entry.now)
                if wanted:
                    self.last_wanted[name] = at
                elif name not in self.series:
                    continue
                self.series.setdefault(name, deque()).append((at, entry))
        while self.reads and self._old(self.reads[0], at):
            self.reads.popleft()
        if at - self.oldest <= SECONDS or self.oldest >= self.at:
            return
        self.oldest = at
        self.changes += 1
        for name in list(self.series):
            series = self.series[name]
            while series and self._old(series[0][0], at):
                series.popleft()
            if not series or self._old(self.last_wanted[name], at):
                del self.series[name], self.last_wanted[name]
            else:
                self.oldest = min(self.oldest, series[0][0], self.last_wanted[name])

    def _old(self, when: float, at: float) -> bool:
        """Whether it is out of the window; the last table stays until it is read again."""
        return at - when > SECONDS and when < self.at

    def entries(self, name: Hashable) -> list[Entry[Any]]:
        """The entries of a key, the oldest first; those without a rate are left out."""
        series = self.series.get(name, deque())
        for place, (at, entry) in enumerate(series):
            if isinstance(entry.now, Packed):  # only flows that are judged are unpacked, once
                series[place] = at, entry.unpacked()
        return [entry for _, entry in series if entry.rated]


def _moves(entry: Entry[Any]) -> bool:
    """Whether a TCP socket moved or holds data: a calm one is not followed."""
    row = entry.now
    if isinstance(entry, Calm) or (isinstance(row, Packed) and row.idle and not entry.rated):
        return False
    busy = not entry.still or row.notsent or row.recv_q
    return bool(busy) and joined(entry)


def _brisk(entry: Entry[Any]) -> bool:
    """Whether a TCP socket may be limited: it moves more than `SLOW`, waits or sends again."""
    row = entry.now
    if row.notsent or row.recv_q or entry.rate("total_retrans"):
        return True
    return (entry.rate("bytes_acked") or 0.0) + (entry.rate("bytes_received") or 0.0) >= SLOW


def _drops(entry: Entry[Any]) -> bool:
    """Whether a UDP socket lost or holds datagrams."""
    return bool(entry.now.recv_q or entry.now.drops or entry.now.send_q)


def _always(entry: Entry[Any]) -> bool:  # noqa: ARG001
    return True


# for which udp_queue_rcv_one_skb() and __udp_enqueue_schedule_skb() count a drop of the socket
_OF_SOCKETS: Final = ("SOCKET_RCVBUFF", "SOCKET_FILTER", "UDP_CSUM", "XFRM_POLICY", "PROTO_MEM")


def _refused(frame: Frame) -> dict[str, dict[tuple[str, str], int]]:
    """The datagrams of this namespace that came to a UDP socket and were dropped there."""
    found: dict[str, dict[tuple[str, str], int]] = {}
    for row in frame.rows("drop_reasons"):
        if row.where == "here" and row.protocol == "udp" and row.reason in _OF_SOCKETS:
            reasons = found.setdefault(row.port, {})
            what = row.reason, row.place
            reasons[what] = reasons.get(what, 0) + row.packets
    return found


@dataclass(slots=True)
class Window:
    """What stages are judged by: the recent past of one host."""

    tcp: Track = field(default_factory=lambda: Track(lambda row: row.inode, _moves, brisk=_brisk))
    udp: Track = field(default_factory=lambda: Track(lambda row: row.inode, _drops))
    netns_tcp: Track = field(default_factory=lambda: Track(lambda row: row.inode, _moves))
    netns_udp: Track = field(default_factory=lambda: Track(lambda row: row.inode, _drops))
    multipath: Track = field(default_factory=lambda: Track(lambda row: row.inode, _always))
    threads: Track = field(default_factory=lambda: Track(lambda row: (row.pid, row.tid), _always))
    waits: Track = field(
        default_factory=lambda: Track(lambda row: (row.pid, row.tid, row.started), _always)
    )
    disks: Track = field(default_factory=lambda: Track(lambda row: row.device, _always))
    groups: Track = field(default_factory=lambda: Track(lambda row: row.cgroup, _always))
    kernel: Track = field(  # kernel threads
        default_factory=lambda: Track(
            lambda row: (row.pid, row.started), lambda entry: bool(entry.now.kernel)
        )
    )
    bql: Track = field(default_factory=lambda: Track(lambda row: (row.nic, row.queue), _always))
    qdiscs: Track = field(
        default_factory=lambda: Track(lambda row: (row.interface, row.parent, row.handle), _always)
    )
    classes: Track = field(
        default_factory=lambda: Track(lambda row: (row.interface, row.handle), _always)
    )
    netns_qdiscs: Track = field(  # qdiscs and classes
        default_factory=lambda: Track(
            lambda row: ((row.namespace, row.interface), row.parent, row.handle), _always
        )
    )
    netns_links: Track = field(
        default_factory=lambda: Track(lambda row: (row.namespace, row.interface), _always)
    )
    cores: dict[int, deque[tuple[float, Load]]] = field(default_factory=dict)
    nics: dict[str, deque[tuple[float, Nic]]] = field(default_factory=dict)
    paths: dict[tuple[str, str], deque[tuple[float, Path]]] = field(default_factory=dict)
    backlog: dict[str, deque[tuple[float, float | None]]] = field(default_factory=dict)
    programs: dict[str, deque[tuple[float, Taken]]] = field(default_factory=dict)
    taken: Taken = field(default_factory=dict)  # what programs took of each CPU, the mean
    rated: tuple[object, Mapping[str, Any]] = (None, MappingProxyType({}))  # of `means`
    begun: float | None = None  # when the first frame was added
    at: float = 0.0  # when the last one was
    passed: float = 0.0  # seconds between the last two
    spaces: Mapping[int, str] = field(default_factory=dict)  # other network namespaces, by inode
    idle: set[str] = field(default_factory=set)  # TCP flows that want nothing
    still: dict[str, Nic] = field(default_factory=dict)  # resting interfaces, as seen last
    below: Mapping[str, set[str]] = field(default_factory=dict)  # interfaces below each, one level
    ends: Mapping[int, str] = field(default_factory=dict)  # of veth pairs into other namespaces
    refused: Mapping[str, Mapping[tuple[str, str], int]] = field(
        default_factory=dict
    )  # datagrams that the kernel kept from sockets, by port, and by reason and place
    ifbs: frozenset[str] = frozenset()  # interfaces to which a filter redirects packets
    _links: tuple[object, object] = (None, None)  # the tables of which these were made
    _routed: tuple[Sequence[Entry[Any]], ...] = ((), ())  # the tables `routes` and `addresses`
    _routes: Routes | None = None  # of these tables, once asked for
    _frame: dict[Hashable, Any] = field(default_factory=dict)  # results of this frame

    def add(
        self, frame: Frame, nics: Sequence[Nic], load: Mapping[int, Load] | None = None,
        paths: Sequence[Path] = (), backlog: float | None = None,
    ) -> None:  # fmt: skip
        """Add one frame, its interfaces, the load of CPUs, the paths through interfaces.

        The load is computed from the frame where none is given. `backlog`: what the host drops
        there, packets/s.
        """
        self._frame.clear()
        self.passed = frame.at - self.at if self.begun is not None else 0.0
        self.begun, self.at = frame.at if self.begun is None else self.begun, frame.at
        before = self.tcp.changes
        for track, table in (
            (self.tcp, "sockets_tcp"), (self.udp, "sockets_udp"),
            (self.netns_tcp, "netns_tcp"), (self.netns_udp, "netns_udp"),
            (self.multipath, "sockets_tcp_multipath"), (self.threads, "threads"),
            (self.waits, "waits"), (self.disks, "disks"), (self.groups, "throttling"),
            (self.kernel, "processes"), (self.bql, "bql"),
            (self.qdiscs, "qdiscs"), (self.classes, "classes"),
            (self.netns_qdiscs, "netns_qdiscs"), (self.netns_links, "netns_links"),
        ):  # fmt: skip
            track.add(frame.at, frame.tables.get(table))
        if self.tcp.changes != before:
            self.idle.clear()
        self.spaces = elsewhere.names(frame)
        self.refused = _refused(frame)
        links = frame.tables.get("links"), frame.tables.get("netclass")
        if any(new is not old for new, old in zip(links, self._links, strict=True)):
            self._links = links
            self.ends = {
                row.index: row.interface for row in frame.rows("links")
                if row.kind == "veth" and row.link_netns is not None
            }  # fmt: skip
            self.ifbs = frozenset(row.interface for row in frame.rows("links") if row.kind == "ifb")
            self.below = port.directly_below(
                {row.interface: row for row in frame.rows("links")},
                {row.name: row for row in frame.rows("netclass")},
            )
        routed = frame.tables.get("routes", ()), frame.tables.get("addresses", ())
        if any(new is not old for new, old in zip(routed, self._routed, strict=True)):
            self._routed, self._routes = routed, None
        _keep(self.cores, loads(frame) if load is None else load, frame.at)
        _keep(self.nics, {nic.name: nic for nic in self._watched(nics)}, frame.at)
        _keep(self.paths, {(path.nic, path.direction): path for path in paths}, frame.at)
        _keep(self.backlog, {"": backlog}, frame.at)

    def take(self, at: float, now: Taken) -> Taken:
        """Add what programs took of each CPU in the last interval; the mean."""
        _keep(self.programs, {"": now}, at)
        self.taken = process.mean([some for _, some in self.programs[""] if some])
        return self.taken

    def _watched(self, nics: Sequence[Nic]) -> Sequence[Nic]:
        """The interfaces to keep; if there are many, without resting virtual ones."""
        if len(nics) <= INTERFACES:
            return nics
        for name, past in list(self.nics.items()):
            if all(one.kind != "nic" and _rests(one) for _, one in past):
                del self.nics[name]
        if len(self.still) > 2 * len(nics):  # most of these were removed
            self.still.clear()
        return [
            nic
            for nic in nics
            if nic.kind == "nic" or nic.name in self.nics or not self._rests(nic)
        ]

    def _rests(self, nic: Nic) -> bool:
        """As `_rests`; most interfaces are the object of the last frame, and known."""
        if self.still.get(nic.name) is not nic:
            if not _rests(nic):
                return False
            self.still[nic.name] = nic
        return True

    def once(self, name: Hashable, make: Callable[[], _Result]) -> _Result:
        """The value of `make()`, computed once a frame: many looks ask for the same."""
        if name not in self._frame:
            self._frame[name] = make()
        result: _Result = self._frame[name]
        return result

    def devices(self) -> dict[tuple[int, str], str]:
        """The interfaces of other namespaces, by inode of the namespace and address."""
        return self.once("devices", self._devices)

    def _devices(self) -> dict[tuple[int, str], str]:
        rows = (series[-1][1].now for series in self.netns_qdiscs.series.values())
        return {
            (row.namespace, address): row.interface for row in rows for address in row.addresses
        }

    def routes(self) -> Routes:
        """The routes of this namespace."""
        if self._routes is None:
            rows = ([entry.now for entry in table] for table in self._routed)
            self._routes = Routes.of(*rows)
        return self._routes

    def core(self, cpu: int | None) -> Mapping[str, float] | None:
        """The mean load of a CPU in percent, by kind of work; None when it is not known."""
        series = self.cores.get(cpu) if cpu is not None else None
        return self.once(("core", cpu), lambda: _load(series)) if series else None

    def counted(self, interface: str, counter: str) -> float | None:
        """The mean rate of a counter of an interface, per second; None when it is not known."""
        return self.once(
            (interface, counter),
            lambda: mean(getattr(nic.per_s, counter) for _, nic in self.nics.get(interface, ())),
        )

    def counted_elsewhere(self, device: tuple[int, str], counter: str) -> float | None:
        """The same for an interface of another namespace: `device` is its inode and the name.

        Fewer counters are read there.
        """
        entries = self.netns_links.entries(device)
        if not entries or not hasattr(entries[-1].now, counter):
            return None
        return self.once((device, counter), lambda: mean(entry.rate(counter) for entry in entries))

    def rests(self, nic: Nic) -> bool:
        """Whether an interface moved and lost almost nothing in the whole window."""
        past = self.nics.get(nic.name, ())
        return self._rests(nic) and all(_rests(one) for _, one in past)

    def samples(self, pid: int) -> Mapping[int, Sequence[Entry[Any]]]:
        """What the threads of a process did in each sample, by thread."""
        return self.once("waits", self._samples).get(pid, {})

    def _samples(self) -> dict[int, dict[int, Sequence[Entry[Any]]]]:
        found: dict[int, dict[int, Sequence[Entry[Any]]]] = {}
        for series in self.waits.series.values():
            row = series[-1][1].now
            found.setdefault(row.pid, {})[row.tid] = [entry for _, entry in series]
        return found

    def of_interface(
        self, track: Track, interface: str | tuple[int, str]
    ) -> Iterator[list[Entry[Any]]]:
        """The entries of each queue (or class) of an interface; elsewhere: with its namespace."""
        names = self.once(("interfaces", id(track)), lambda: _by_interface(track))
        for name in names.get(interface, ()):
            entries = track.entries(name)
            if entries:
                yield entries


def _rests(nic: Nic) -> bool:
    rate = nic.per_s
    lost = rate.rx_dropped or rate.tx_dropped or rate.qdisc_drops or nic.qdisc_backlog
    return not lost and (rate.rx_bytes or 0.0) + (rate.tx_bytes or 0.0) < LITTLE


def _by_interface(track: Track) -> dict[Hashable, list[Hashable]]:
    """The keys of a track by interface, the first part of each key."""
    found: dict[Hashable, list[Hashable]] = {}
    for name in track.series:
        if isinstance(name, tuple):
            found.setdefault(name[0], []).append(name)
    return found


def _load(series: Sequence[tuple[float, Load]]) -> Mapping[str, float]:
    """The mean of each kind of work."""
    sums = map(sum, zip(*(load for _, load in series), strict=True))
    return {name: whole / len(series) for name, whole in zip(Load._fields, sums, strict=True)}


def _keep(
    kept: dict[_Key, deque[tuple[float, _Value]]], values: Mapping[_Key, _Value], at: float
) -> None:
    """Add the values of one moment; drop those that are too old, also of what is gone."""
    for key, value in values.items():
        kept.setdefault(key, deque()).append((at, value))
    for key, series in list(kept.items()):
        while series and at - series[0][0] > SECONDS:
            series.popleft()
        if not series:
            del kept[key]


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of those that are known; None when none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def share(flags: Iterable[bool]) -> float:
    """The share of those that hold; 0 without any."""
    every = [bool(flag) for flag in flags]
    return sum(every) / len(every) if every else 0.0
