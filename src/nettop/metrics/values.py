"""The samples of one observation.

At most `FINDINGS` findings, `DEVICES` devices and `QUEUES` queues are exported, so that no host
has more than a thousand series; `nettop_left_out` counts the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..advice.rules.rule import Finding, Rule
from ..advice.rules.severity import SEVERITIES
from ..facts import Facts
from ..facts.counters import total
from ..facts.kinds import kinds, path
from ..facts.kinds.nic import Nic
from ..facts.limits import STAGES
from . import families as f
from .families import Sample

if TYPE_CHECKING:
    from ..views.observer import Observation

FINDINGS: Final = 200
DEVICES: Final = 24
QUEUES: Final = 256
# a veth is a device only where no NIC is: those of containers come and go
_KINDS: Final = ("nic", "bond", "wireless", "vlan", "bridge", "tunnel", "other")
_HOST: Final = "host"


def samples(
    seen: Observation, rules: Mapping[str, Rule], *, judged: bool, unread: int
) -> Iterator[Sample]:
    """All series of one observation; `rules` by id, `unread` the tables that could not be read."""
    facts = seen.facts
    yield Sample(f.JUDGED, (), float(judged))
    yield Sample(f.UNREAD, (), unread)
    left: dict[str, int] = dict.fromkeys(("findings", "devices", "queues"), 0)
    if judged:
        found = list(_findings(seen.judgement.findings, rules, facts))
        yield from found[:FINDINGS]
        left["findings"] = len(found[FINDINGS:])
        counts = Counter(finding.severity for finding in seen.judgement.findings)
        yield from (Sample(f.FINDINGS, (name,), counts[name]) for name in SEVERITIES)
        yield from _flows(facts)
    nics = devices(facts.nics)
    left["devices"] = len([nic for nic in facts.nics if nic.kind != "loopback"]) - len(nics)
    for nic in nics:
        yield from _device(nic)
    queues = list(_queues(facts, {nic.name for nic in nics}))
    yield from queues[:QUEUES]
    left["queues"] = len(queues[QUEUES:])
    yield from _host(seen)
    yield from (Sample(f.LEFT_OUT, (what,), count) for what, count in left.items())


def devices(nics: Sequence[Nic]) -> tuple[Nic, ...]:
    """The interfaces that are exported, physical ones first."""
    real = any(nic.kind == "nic" for nic in nics)
    order = _KINDS if real else (*_KINDS, "veth")
    known = [nic for nic in nics if nic.kind in order]
    return tuple(sorted(known, key=lambda nic: (order.index(nic.kind), nic.name))[:DEVICES])


def _findings(
    findings: Sequence[Finding], rules: Mapping[str, Rule], facts: Facts
) -> Iterator[Sample]:
    """One sample for each rule and target, the most severe first."""
    places: dict[str, dict[str, str]] = {}
    series = dict.fromkeys(
        (one.rule, _target(one, rules, facts, places), one.severity) for one in findings
    )
    yield from (Sample(f.FINDING, labels, 1) for labels in series)


def _target(
    finding: Finding, rules: Mapping[str, Rule], facts: Facts, places: dict[str, dict[str, str]]
) -> str:
    """The interface of a finding's target; its own name for a CPU; else the host.

    The names of flows, sockets and processes hold addresses, ports and process numbers. `places`
    keeps the interfaces of the targets of each kind.
    """
    kind = kinds()[rules[finding.rule].over]
    if kind.name in ("nic", "core", _HOST):
        return finding.target
    nic = kind.parents.get("nic")
    if nic is None:
        return _HOST
    known = places.get(kind.name)
    if known is None:
        known = {kind.target(fact): str(nic(fact) or _HOST) for fact in facts.of(kind)}
        places[kind.name] = known
    return known.get(finding.target, _HOST)


def _flows(facts: Facts) -> Iterator[Sample]:
    counts = Counter(flow.limit for flow in facts.flows if flow.limit is not None)
    for stage in (*STAGES, "none"):
        yield Sample(f.FLOWS, (stage,), counts[stage])


def _device(nic: Nic) -> Iterator[Sample]:
    """What a device moved and lost; a counter that the device lacks has no series."""
    whole = nic.total
    for family, direction, count in (
        (f.BYTES, "rx", whole.rx_bytes), (f.BYTES, "tx", whole.tx_bytes),
        (f.PACKETS, "rx", whole.rx_packets), (f.PACKETS, "tx", whole.tx_packets),
    ):  # fmt: skip
        if count is not None:
            yield Sample(family, (nic.name, direction), count)
    counted = replace(nic, per_s=whole)  # the stages add up counts as they add up rates
    for way in (path.receive(counted, path.Ends()), path.send(counted, path.Ends())):
        for stage in way.stages:
            if stage.lost is not None:
                yield Sample(f.DEVICE_LOST, (nic.name, way.direction, stage.name), stage.lost)
    if nic.irq_off_node is not None:
        yield Sample(f.OFF_NODE, (nic.name,), nic.irq_off_node)


def _queues(facts: Facts, names: set[str]) -> Iterator[Sample]:
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
            yield Sample(f.QUEUE_CORE, (queue.nic, queue.name), queue.cpu)


def _host(seen: Observation) -> Iterator[Sample]:
    """Losses that the kernel counts for the host: softnet_stat, snmp and netstat."""
    tables = seen.frame
    backlog = total(row.dropped for row in tables.rows("softnet"))
    counted = next(iter(tables.rows("snmp")), None)
    receive = send = None
    if counted is not None:
        receive = total((counted.rcvq_drops, counted.backlog_drops, counted.udp_rcvbuf_errors))
        send = counted.udp_sndbuf_errors
    for direction, stage, count in (
        ("rx", "backlog", backlog), ("rx", "socket", receive), ("tx", "socket", send),
    ):  # fmt: skip
        if count is not None:
            yield Sample(f.HOST_LOST, (direction, stage), count)
