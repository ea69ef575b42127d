"""What one host lost, by its counters. They count all flows, so each gives a range for one flow.

A qdisc also counts the drops of its children (net/sched/sch_htb.c, htb_enqueue()). So the drops of
an interface are the larger of the root's count and the sum of the others.
"""

from __future__ import annotations

from dataclasses import field
from operator import itemgetter
from typing import Any

from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kinds.nic import Nic
from ..kinds.path import lost
from ..limits.stages import way
from ..sums import backlog_drops


@dataclass(frozen=True, slots=True)
class Counts:
    """Packets that a host lost since it started, by stage; what is not known is absent."""

    lost: dict[str, float] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # stage → the place in words
    received: tuple[float, float] | None = None  # bytes and packets of the interface
    waits: str = ""  # the queue in which packets wait to leave; empty: in none

    def mean(self, before: Counts) -> float:
        """Mean bytes of a received packet, which may be several merged segments; 0 if not known."""
        if self.received is None or before.received is None:
            return 0.0
        size, count = (now - was for now, was in zip(self.received, before.received, strict=True))
        return size / count if count > 0 else 0.0


def leaving(frame: Frame, facts: Facts, interface: str | None) -> Counts:
    """What is lost on the way out of an interface."""
    ports = _ports(facts, interface)
    names = {nic.name for nic in ports}
    rows = [
        row for row in frame.rows("qdiscs") if row.interface in names and row.parent != "ingress"
    ]
    full = max(rows, key=lambda row: row.backlog or 0, default=None)
    known = Counts(waits=_qdisc_name([full]) if full is not None and full.backlog else "")
    drops = _qdiscs(rows)
    if drops is not None:
        known.lost["qdisc"] = drops
        known.names["qdisc"] = _qdisc_name(rows)
    _add(known, ports, "tx")
    return known


def arriving(frame: Frame, facts: Facts, interface: str | None) -> Counts:
    """What is lost between the wire and the socket."""
    ports = _ports(facts, interface)
    known = Counts(received=_received(ports))
    _add(known, ports, "rx")
    names = {nic.name for nic in ports}
    policed = [
        row
        for row in frame.rows("qdiscs")
        if row.interface in names and row.parent == "ingress" and row.drops is not None
    ]
    if policed:
        known.lost["qdisc"] = float(sum(row.drops for row in policed))
        known.names["qdisc"] = f"filters of {_qdisc_name(policed)}"
    dropped = backlog_drops(frame)
    if dropped is not None:
        known.lost["backlog"] = dropped
        known.names["backlog"] = "backlog of its CPUs"
    return known


def _ports(facts: Facts, interface: str | None) -> list[Nic]:
    """The interface and the ports below it."""
    top = next((nic for nic in facts.nics if nic.name == interface), None)
    if top is None:
        return []
    return [top, *(nic for nic in facts.nics if nic.name in top.lower and nic is not top)]


def _received(ports: list[Nic]) -> tuple[float, float] | None:
    if not ports or ports[0].total.rx_bytes is None or ports[0].total.rx_packets is None:
        return None
    return ports[0].total.rx_bytes, ports[0].total.rx_packets


def _add(known: Counts, ports: list[Nic], direction: str) -> None:
    """What the stages of the card lost."""
    for stage in way(direction):
        if not stage.card or stage.name == "wire":  # what the wire damages is lost in the network
            continue
        values = [
            (value, nic.name)
            for nic in ports
            if (value := lost(stage, nic.total, direction)) is not None
        ]
        if values:
            known.lost[stage.name] = float(sum(value for value, _ in values))
            known.names[stage.name] = f"{max(values, key=itemgetter(0))[1]}, {stage.why}"


def _qdiscs(rows: list[Any]) -> float | None:
    totals: dict[str, list[float]] = {}
    for row in rows:
        if row.drops is not None:
            total = totals.setdefault(row.interface, [0.0, 0.0])
            total[0 if row.root else 1] += row.drops
    return sum(max(total) for total in totals.values()) if totals else None


def _qdisc_name(rows: list[Any]) -> str:
    most = max(rows, key=lambda row: row.drops or 0)
    return f"{most.kind} {most.handle} of {most.interface}"
