"""Every metric that nettop exports: name, type, help and labels; and the samples of a look.

Names follow the conventions of Prometheus (prometheus.io/docs/practices/naming): base units, and
`_total` for counters. Counters are those of the kernel and are passed on unchanged.

There is at most one look at a host a second, however many ask. At most `MOST_FINDINGS` findings,
`DEVICES` devices and `QUEUES` queues are exported, so that no host has more than a thousand series;
`nettop_left_out` counts the rest.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from .. import __version__, collect
from ..advice.rules.rule import Finding, Rule
from ..advice.rules.severity import SEVERITIES
from ..changes import status, target
from ..changes.entry import OPEN, JournaledChange
from ..changes.journal import Journal
from ..facts import Facts
from ..facts.kind import Kind
from ..facts.kinds import kinds, path
from ..facts.kinds.nic import Nic
from ..facts.limits.stages import declared, way
from ..facts.sums import backlog_drops
from ..frame.rates import Frame
from ..host.source import Source
from ..settings import Host
from ..terms.dataclass import dataclass
from ..views.enough import shortfall
from ..views.observer import Observation, Observer, watch

if TYPE_CHECKING:
    from ..views.observer import Observation

COUNTER: Final = "counter"
GAUGE: Final = "gauge"


@dataclass(frozen=True, slots=True)
class Family:
    """One metric; a counter's name ends in `_total`."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    type: str = GAUGE


@dataclass(frozen=True, slots=True)
class Sample:
    """One series: the values of the labels in the order of the family, and the number."""

    family: Family
    labels: tuple[str, ...]
    value: float


BUILD: Final = Family("nettop_build_info", "Version of nettop; always 1.", ("version",))
LAST_RUN: Final = Family(
    "nettop_last_run_timestamp_seconds", "Time of the last look, seconds since 1970."
)
LOOKS: Final = Family("nettop_looks_total", "Looks at the host by this process.", (), COUNTER)
LOOK_SECONDS: Final = Family(
    "nettop_look_duration_seconds", "Wall time of the last look: reading, joining and judging."
)
JUDGED: Final = Family(
    "nettop_judged",
    "1 if enough could be read to judge the host; 0: the metrics of findings are absent.",
)
UNREAD: Final = Family("nettop_tables_unread", "Tables of the kernel that could not be read.")
FINDINGS: Final = Family(
    "nettop_findings", "Findings by severity, several on one target counted each.", ("severity",)
)
FINDING: Final = Family(
    "nettop_finding",
    "1 while a rule holds on a target: an interface (other: one that is not exported), a CPU or "
    "the host. Absent otherwise.",
    ("rule", "target", "severity"),
)
FLOWS: Final = Family(
    "nettop_flows", "Flows by the stage that limits them; none: it has no more to send.", ("limit",)
)
DEVICE_LOST: Final = Family(
    "nettop_path_packets_lost_total",
    "Packets lost at a stage of the path through a device, by its driver's or the kernel's count.",
    ("device", "direction", "stage"),
    COUNTER,
)
HOST_LOST: Final = Family(
    "nettop_host_packets_lost_total",
    "Packets lost at stages that the kernel counts for the whole host: backlog and sockets.",
    ("direction", "stage"),
    COUNTER,
)
BYTES: Final = Family(
    "nettop_device_bytes_total", "Bytes by device.", ("device", "direction"), COUNTER
)
PACKETS: Final = Family(
    "nettop_device_packets_total", "Packets by device.", ("device", "direction"), COUNTER
)
QUEUE_CORE: Final = Family(
    "nettop_queue_core",
    "CPU that serves the interrupt of a queue; a combined pair of queues is named by its rx queue.",
    ("device", "queue"),
)
OFF_NODE: Final = Family(
    "nettop_device_irqs_off_node",
    "Queue interrupts served on another NUMA node than that of the device.",
    ("device",),
)
CHANGES: Final = Family(
    "nettop_changes",
    "Changes that nettop made and has not reverted; pending: waits for a confirmation.",
    ("state",),
)
DRIFT: Final = Family(
    "nettop_settings_drifted", "Settings that nettop changed and that have another value now."
)
LEFT_OUT: Final = Family(
    "nettop_left_out", "What the bounds of this export left out.", ("what",)
)  # fmt: skip

FAMILIES: Final = (
    BUILD, LAST_RUN, LOOKS, LOOK_SECONDS, JUDGED, UNREAD, FINDINGS, FINDING, FLOWS, DEVICE_LOST,
    HOST_LOST, BYTES, PACKETS, QUEUE_CORE, OFF_NODE, CHANGES, DRIFT, LEFT_OUT,
)  # fmt: skip


REST: Final = 1.0  # the least number of seconds between two looks


class Looks:
    """Observes one host, and keeps the samples of the last observation."""

    def __init__(self, source: Source, observer: Observer) -> None:
        """`observer` observes `source`."""
        self.count = 0
        self.judged = False
        self._source, self._observer = source, observer
        self._rules = {rule.id: rule for rule in observer.judge.rules}
        self._lock = threading.Lock()
        self._at = 0.0
        self.last: tuple[Sample, ...] = ()

    def observe(self, seconds: float, *, to_end: bool) -> None:
        """Observe for some seconds, as `nettop advise` does, so that there are rates.

        `to_end`: of a recording all of it, which must not be one in a loop.
        """
        with self._lock:
            until = self._source.now() + seconds
            began = time.monotonic()
            for seen in watch(self._observer, seconds):
                self.count += 1
                self._take(seen, began)
                if not to_end and self._source.now() >= until:
                    return
                began = time.monotonic()

    def samples(self) -> tuple[Sample, ...]:
        """The samples of a look that is at most a second old. Threads may call it."""
        with self._lock:
            began = time.monotonic()
            if began - self._at >= REST:
                if not self._source.live:
                    self._advance()
                self.count += 1
                self._take(self._observer.step(), began)
            return self.last

    def _advance(self) -> None:
        """Step to the next moment of a recording that is played in a loop."""
        self._source.wait(REST)
        if self._source.opening:
            self._observer.restart()
            self._source.wait(REST)

    def _take(self, seen: Observation, began: float) -> None:
        source, frame = self._source, seen.frame
        self.judged = shortfall(frame, live=source.live) is None
        found = list(samples(seen, self._rules, judged=self.judged, unread=_unread(frame)))
        if source.live:
            found += journaled()
        self._at = time.monotonic()
        self.last = (*self._own(self._at - began), *found)

    def _own(self, seconds: float) -> Iterator[Sample]:
        yield Sample(BUILD, (__version__,), 1)
        yield Sample(LAST_RUN, (), time.time())
        yield Sample(LOOKS, (), self.count)
        yield Sample(LOOK_SECONDS, (), seconds)


def _unread(frame: Frame) -> int:
    """The tables that could not be read, without those that most hosts lack."""
    return sum(not collect.table(name).optional for name in frame.missing)


def journaled() -> Iterator[Sample]:
    """The series of this user's journal; none if it cannot be read."""
    try:
        entries = [entry for entry in Journal().entries() if entry.open]
    except OSError:
        return
    counts = Counter(entry.state for entry in entries)
    yield from (Sample(CHANGES, (state,), counts[state]) for state in sorted(OPEN))
    host = Host.at()
    yield Sample(DRIFT, (), sum(_drifted(entry, entries, host) for entry in entries))


def _drifted(entry: JournaledChange, others: Collection[JournaledChange], host: Host) -> bool:
    """Whether the host has another value than the newest change of the setting wrote.

    A value that cannot be read, for example of a device that is gone, is no drift. Other network
    namespaces are not searched: that takes a process for each look.
    """
    if entry.after is None:
        return False
    if any(o.id > entry.id and target.same_setting(o, entry) for o in others):
        return False
    now, _ = status.shown(entry, host)
    return now is not None and now != entry.after


MOST_FINDINGS: Final = 200
DEVICES: Final = 24
QUEUES: Final = 256
# a veth is a device only where no NIC is: those of containers come and go
_KINDS: Final = ("nic", "bond", "wireless", "vlan", "bridge", "tunnel", "other")
_HOST: Final = "host"
OTHER: Final = "other"  # an interface beyond the bounds, as the target of a finding


def samples(
    seen: Observation, rules: Mapping[str, Rule], *, judged: bool, unread: int
) -> Iterator[Sample]:
    """All series of one observation; `rules` by id, `unread` the tables that could not be read."""
    facts = seen.facts
    yield Sample(JUDGED, (), float(judged))
    yield Sample(UNREAD, (), unread)
    left: dict[str, int] = dict.fromkeys(("findings", "devices", "queues"), 0)
    nics = devices(facts.nics)
    names = {nic.name for nic in nics}
    if judged:
        known = names | {nic.name for nic in facts.nics if nic.kind == "loopback"}
        found = list(_findings(seen.judgement.findings, rules, facts, known))
        yield from found[:MOST_FINDINGS]
        left["findings"] = len(found[MOST_FINDINGS:])
        counts = Counter(finding.severity for finding in seen.judgement.findings)
        yield from (Sample(FINDINGS, (name,), counts[name]) for name in SEVERITIES)
        yield from _flows(facts)
    left["devices"] = len([nic for nic in facts.nics if nic.kind != "loopback"]) - len(nics)
    for nic in nics:
        yield from _device(nic)
    queues = list(_queues(facts, names))
    yield from queues[:QUEUES]
    left["queues"] = len(queues[QUEUES:])
    yield from _host(seen)
    yield from (Sample(LEFT_OUT, (what,), count) for what, count in left.items())


def devices(nics: Sequence[Nic]) -> tuple[Nic, ...]:
    """The interfaces that are exported, physical ones first."""
    real = any(nic.kind == "nic" for nic in nics)
    order = _KINDS if real else (*_KINDS, "veth")
    known = [nic for nic in nics if nic.kind in order]
    return tuple(sorted(known, key=lambda nic: (order.index(nic.kind), nic.name))[:DEVICES])


def _findings(
    findings: Sequence[Finding], rules: Mapping[str, Rule], facts: Facts, names: Collection[str]
) -> Iterator[Sample]:
    """One sample for each rule and target, the most severe first.

    `names` are the interfaces that a target may have.
    """
    series: dict[tuple[str, str, str], None] = {}
    for kind in kinds().values():
        mine = [one for one in findings if rules[one.rule].over == kind.name]
        targets = _targets(kind, facts, names) if mine else {}
        for one in mine:
            series[one.rule, targets.get(one.target, _HOST), one.severity] = None
    order = sorted(series, key=lambda labels: SEVERITIES.index(labels[2]))
    yield from (Sample(FINDING, labels, 1) for labels in order)


def _targets(kind: Kind, facts: Facts, names: Collection[str]) -> dict[str, str]:
    """The label of each target of a kind: its interface, a CPU by its name, else the host.

    The names of flows, sockets and processes hold addresses, ports and process numbers, and those
    of interfaces that are not exported come and go with containers.
    """
    if kind.name == "core":
        return {kind.target(fact): kind.target(fact) for fact in facts.of(kind)}
    nic = kind.key if kind.name == "nic" else kind.parents.get("nic", lambda _fact: None)
    found = {kind.target(fact): nic(fact) for fact in facts.of(kind)}
    return {
        target: _HOST if name is None else str(name) if name in names else OTHER
        for target, name in found.items()
    }


def _flows(facts: Facts) -> Iterator[Sample]:
    counts = Counter(flow.limit for flow in facts.flows if flow.limit is not None)
    for stage in (*declared(), "none"):
        yield Sample(FLOWS, (stage,), counts[stage])


def _device(nic: Nic) -> Iterator[Sample]:
    """What a device moved and lost; a counter that the device lacks has no series."""
    whole = nic.total
    for family, direction, count in (
        (BYTES, "rx", whole.rx_bytes), (BYTES, "tx", whole.tx_bytes),
        (PACKETS, "rx", whole.rx_packets), (PACKETS, "tx", whole.tx_packets),
    ):  # fmt: skip
        if count is not None:
            yield Sample(family, (nic.name, direction), count)
    counted = replace(nic, per_s=whole)  # the stages add up counts as they add up rates
    for direction in ("rx", "tx"):
        for stage in path.through(counted, path.Ends(), direction, way(direction)).stages:
            if stage.lost is not None:
                yield Sample(DEVICE_LOST, (nic.name, direction, stage.name), stage.lost)
    if nic.irq_off_node is not None:
        yield Sample(OFF_NODE, (nic.name,), nic.irq_off_node)


def _queues(facts: Facts, names: Collection[str]) -> Iterator[Sample]:
    """The CPU of each queue interrupt, receive queues first."""
    known: set[tuple[str, int]] = set()
    for direction in ("rx", "tx"):
        for queue in facts.queues:
            if queue.nic not in names or queue.direction != direction or queue.cpu is None:
                continue
            if queue.irq is not None:
                if (queue.nic, queue.irq) in known:
                    continue
                known.add((queue.nic, queue.irq))
            yield Sample(QUEUE_CORE, (queue.nic, queue.name), queue.cpu)


def _host(seen: Observation) -> Iterator[Sample]:
    """Losses that the kernel counts for the host: softnet_stat, snmp and netstat."""
    tables = seen.frame
    counted = next(iter(tables.rows("snmp")), None)
    receive = send = None
    if counted is not None:
        receive = path.lost_here(declared()["rcvbuf"], counted)
        send = counted.udp_sndbuf_errors
    for direction, stage, count in (
        ("rx", "backlog", backlog_drops(tables)), ("rx", "rcvbuf", receive), ("tx", "sndbuf", send),
    ):  # fmt: skip
        if count is not None:
            yield Sample(HOST_LOST, (direction, stage), count)
