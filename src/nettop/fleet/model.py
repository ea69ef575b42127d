"""A host at one time, as little as the comparison needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from ..terms.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Interface:
    """A NIC or a bond; `driver` and `firmware` are empty where the kernel reports none."""

    name: str
    driver: str
    firmware: str


@dataclass(frozen=True, slots=True)
class Brief:
    """A finding. `touches` are the settings that it would change or that its evidence reads."""

    rule: str
    target: str
    severity: str
    title: str
    touches: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        """`RULE@TARGET`."""
        return f"{self.rule}@{self.target}"


@dataclass(frozen=True, slots=True)
class HostState:
    """A host at one time. `at` is in seconds since 1970."""

    host: str
    file: str
    at: float
    kernel: str = ""  # empty: unknown
    interfaces: tuple[Interface, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Brief, ...] = ()
    shortfall: str = ""  # why too little was read to judge the host; empty: enough

    @property
    def drivers(self) -> tuple[str, ...]:
        """The drivers of its interfaces, sorted, one for each interface."""
        return tuple(sorted(one.driver or "no driver" for one in self.interfaces))


@dataclass(frozen=True, slots=True)
class Beginning:
    """What began in an incident."""

    host: str
    file: str
    at: float
    rule: str
    target: str
    severity: str
    title: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file has. An incident has a state too: that of the moment it began."""

    state: HostState
    beginning: Beginning | None = None


@dataclass(frozen=True, slots=True)
class History:
    """The first and the last state of a host; both are the same if there is only one."""

    first: HostState
    last: HostState

    def joined(self, state: HostState) -> History:
        """The history with this state; of two states of one time the earlier read one stays."""
        if state.at < self.first.at:
            return History(state, self.last)
        return History(self.first, state) if state.at > self.last.at else self


@dataclass(frozen=True, slots=True)
class Fleet:
    """All hosts by name, sorted, and the incidents in the order of their time."""

    hosts: Mapping[str, History]
    beginnings: tuple[Beginning, ...] = ()

    @property
    def states(self) -> tuple[HostState, ...]:
        """The last state of each host."""
        return tuple(history.last for history in self.hosts.values())


def gathered(readings: Iterable[Reading]) -> Fleet:
    """The fleet of these readings, which are taken one at a time.

    The state of an incident stands for a host that has no other file.
    """
    known: dict[str, History] = {}
    by_incident: dict[str, History] = {}
    beginnings: list[Beginning] = []
    for reading in readings:
        state = reading.state
        into = known if reading.beginning is None else by_incident
        if reading.beginning is not None:
            beginnings.append(reading.beginning)
        before = into.get(state.host)
        into[state.host] = History(state, state) if before is None else before.joined(state)
    beginnings.sort(key=lambda one: (one.at, one.host, one.file))
    return Fleet(dict(sorted((by_incident | known).items())), tuple(beginnings))
