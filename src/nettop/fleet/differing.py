"""Settings of a host that differ from those of its group, and the findings that they explain.

A setting has a usual value in a group if two thirds of at least three hosts have it. Up to three
values are usual together if each of them has twice as many hosts as any other value. A host of a
group of one or two is compared with all hosts that have the same drivers. Kernel and firmware are
compared among those too, since they are what groups differ by.

An interface is compared by its driver and its place among the interfaces of that driver: names
differ between hosts.

Among hosts of one kernel a setting that a host lacks has the value `absent`, if the host has others
of its kind (of the same interface): a module is not loaded there, or its link is down.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from string import ascii_uppercase
from typing import Final

from ..terms.dataclass import dataclass

LEAST: Final = 3  # hosts that can have a usual value
USUAL: Final = 2 / 3  # of the hosts have it
MOST: Final = 3  # values that are usual together
NEAR: Final = 0.05  # values that the kernel computes from the memory differ a little
# net/ipv4/tcp.c tcp_init_mem(), net/ipv4/udp.c, mm/page_alloc.c, nf_conntrack_core.c
_BY_MEMORY: Final = frozenset({
    "sysctl.net.ipv4.tcp_mem", "sysctl.net.ipv4.udp_mem", "sysctl.vm.min_free_kbytes",
    "sysctl.net.netfilter.nf_conntrack_max", "sysctl.net.netfilter.nf_conntrack_buckets",
    "sysctl.net.ipv4.tcp_max_tw_buckets", "sysctl.net.ipv4.tcp_max_syn_backlog",
    "sysctl.net.ipv6.neigh.default.gc_thresh3",
})  # fmt: skip
ABSENT: Final = "absent"
_MODERATED: Final = ("coalesce.rx-", "coalesce.tx-")  # not known while the driver adapts them
_BETWEEN: Final = ("kernel", "firmware")  # what groups differ by
Values = Mapping[str, tuple[str, str]]  # comparable name → name on this host, value


@dataclass(frozen=True, slots=True)
class Differing:
    """A setting of a host that differs from the `usual` value.

    `same` of the `of` hosts that it is compared with, itself included, have the usual value.
    """

    host: str
    setting: str
    value: str
    usual: str
    same: int
    of: int
    explains: tuple[str, ...] = ()  # ids of findings of this host


class _Pool:
    """Hosts that are compared with each other."""

    def __init__(self, states: Sequence[HostState]) -> None:
        self.values: dict[str, Values] = {state.host: values_of(state) for state in states}
        if len({state.kernel for state in states}) == 1:
            self.values = with_absent(self.values)
        self.rules: dict[str, set[str]] = {}  # rule → the hosts that it holds on
        for state in states:
            for finding in state.findings:
                self.rules.setdefault(finding.rule, set()).add(state.host)
        self.usual = dict(self._usual())

    def _usual(self) -> Iterator[tuple[str, tuple[str, set[str], int]]]:
        """For each comparable name its usual value, the hosts that have it, and of how many."""
        counts: dict[str, Counter[str]] = {}
        for values in self.values.values():
            for key, (_, value) in values.items():
                counts.setdefault(key, Counter())[value] += 1
        for key, counter in counts.items():
            usual = usual_values(key, counter)
            if usual:
                having = {
                    host for host, own in self.values.items()
                    if key in own and any(same(key, own[key][1], value) for value in usual)
                }  # fmt: skip
                yield key, (" or ".join(usual), having, counter.total())

    def differing(self, state: HostState, *, between: bool) -> Iterator[Differing]:
        """What differs of a host; `between`: only what groups differ by, else all but that."""
        values = self.values[state.host]
        for key, (value, having, of) in self.usual.items():
            if key not in values or state.host in having or key.startswith(_BETWEEN) != between:
                continue
            setting, own = values[key]
            explains = tuple(
                finding.id
                for finding in state.findings
                if setting in finding.touches
                and len(self.rules[finding.rule] & having) < len(having) / 2
            )
            yield Differing(state.host, setting, own, value, len(having), of, explains)


def differing(states: Sequence[HostState], groups: Sequence[Group]) -> list[Differing]:
    """All settings that differ, sorted by setting, value and host."""
    by_host = {state.host: state for state in states}
    members: dict[tuple[str, ...], list[HostState]] = {}
    for state in states:
        members.setdefault(state.drivers, []).append(state)
    families = {drivers: _Pool(alike) for drivers, alike in members.items()}
    rows: list[Differing] = []
    for group in groups:
        own = [by_host[host] for host in group.hosts]
        family = families[own[0].drivers]
        pool = _Pool(own) if len(own) >= LEAST else family
        for state in own:
            rows += family.differing(state, between=True)
            rows += pool.differing(state, between=False)
    return sorted(rows, key=lambda row: (row.setting, row.value, row.host))


def usual_values(key: str, counter: Counter[str]) -> list[str]:
    """The usual values by how many hosts have each; none if there are too few or too many."""
    of = counter.total()
    known = _by_hosts(key, counter)
    usual: list[str] = []
    hosts = least = 0
    while of >= LEAST and hosts < USUAL * of and len(usual) < MOST:
        least, value = known[len(usual)]
        hosts += least
        usual.append(value)
    if hosts < USUAL * of or (len(usual) > 1 and least < LEAST):
        return []
    return sorted(usual) if all(2 * count <= least for count, _ in known[len(usual) :]) else []


def _by_hosts(key: str, counter: Counter[str]) -> list[tuple[int, str]]:
    """How many hosts have each value, the most frequent first; the same settings are one value."""
    order = sorted(((count, text) for text, count in counter.items()), reverse=True)
    if key not in _BY_MEMORY:
        return order
    known: list[tuple[int, str]] = []
    while order:
        value = order[0][1]
        alike = [one for one in order if same(key, one[1], value)]
        order = [one for one in order if not same(key, one[1], value)]
        known.append((sum(count for count, _ in alike), value))
    return sorted(known, reverse=True)


def values_of(state: HostState) -> Values:
    """The values of a host by names that are the same on hosts of the same drivers."""
    places: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for one in sorted(state.interfaces, key=lambda one: natural(one.name)):
        counts[one.driver] += 1
        places[one.name] = f"{one.driver} {counts[one.driver]}"
    values = {"kernel": ("kernel", state.kernel)} if state.kernel else {}
    for one in state.interfaces:
        if one.firmware:
            values[f"firmware@{places[one.name]}"] = (f"firmware@{one.name}", one.firmware)
    for setting, value in state.settings.items():
        name, at, nic = setting.rpartition("@")
        key = f"{name}@{places[nic]}" if at and nic in places else setting
        values[key] = (setting, value)
    return values


def with_absent(values: Mapping[str, Values]) -> dict[str, Values]:
    """The values by host, with `absent` for what a host lacks and others of the pool have."""
    counts = Counter(key for own in values.values() for key in own)
    rare = [key for key, count in counts.items() if count < len(values)]
    rare = [key for key in rare if not key.startswith(_MODERATED)]
    out: dict[str, Values] = {}
    for host, own in values.items():
        kinds = {_kind(key): setting for key, (setting, _) in own.items()} if rare else {}
        lacks: dict[str, tuple[str, str]] = {}
        for key in rare:
            if key not in own and (like := kinds.get(_kind(key))) is not None:
                _, at, target = like.partition("@")
                lacks[key] = f"{key.partition('@')[0]}{at}{target}", ABSENT
        out[host] = {**own, **lacks}
    return out


def _kind(key: str) -> tuple[str, str]:
    """`ring.rx@ixgbe 1` and `ring.tx@ixgbe 1` are of one kind."""
    name, _, place = key.partition("@")
    return name.partition(".")[0], place


def natural(name: str) -> list[tuple[int, str]]:
    """A sort key that puts eth2 before eth10."""
    return [(int(part[:18]), "") if part.isdecimal() else (-1, part)
            for part in re.split(r"(\d+)", name)]  # fmt: skip


def same(key: str, value: str, usual: str) -> bool:
    """Whether two values are the same setting."""
    if value == usual:
        return True
    if key not in _BY_MEMORY:
        return False
    words = value.split(), usual.split()
    if len(words[0]) != len(words[1]) or not all(
        word.isdecimal() for word in (*words[0], *words[1])
    ):
        return False
    return all(
        abs(int(a[:18]) - int(b[:18])) <= NEAR * int(b[:18]) for a, b in zip(*words, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Group:
    """Hosts of the same hardware and software. `interfaces` counts (driver, firmware)."""

    name: str  # A is the largest
    interfaces: tuple[tuple[str, str, int], ...]
    kernel: str
    hosts: tuple[str, ...]


def grouped(states: Iterable[HostState]) -> tuple[Group, ...]:
    """The groups, the largest first."""
    hosts: dict[tuple[tuple[tuple[str, str, int], ...], str], list[str]] = {}
    for state in states:
        kinds = Counter((one.driver, one.firmware) for one in state.interfaces)
        parts = tuple((driver, firmware, kinds[driver, firmware])
                      for driver, firmware in sorted(kinds))  # fmt: skip
        hosts.setdefault((parts, state.kernel), []).append(state.host)
    order = sorted(hosts.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(
        Group(letters(number), parts, kernel, tuple(sorted(names)))
        for number, ((parts, kernel), names) in enumerate(order)
    )


def group_of(groups: Sequence[Group]) -> Mapping[str, Group]:
    """The group of each host."""
    return {host: group for group in groups for host in group.hosts}


def letters(number: int) -> str:
    """A, B … Z, AA, AB …, as columns of a spreadsheet."""
    number, rest = divmod(number, 26)
    return (letters(number - 1) if number else "") + ascii_uppercase[rest]


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
