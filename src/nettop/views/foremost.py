"""The interface that stands for the host where none is chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ..facts import Facts
from ..facts.limits.stages import having
from .past import IDLE, History, PortRates, Summary

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding
    from ..facts.kinds.nic import Counters, Nic

ALIKE: Final = 1.25  # ratio of two rates below which neither interface matters more
LATELY: Final = 10  # moments, of which the highest rate counts


def foremost(facts: Facts, findings: Sequence[Finding], past: History) -> Nic | None:
    """That of a critical finding, else the busiest.

    The rate of a real NIC counts a hundredfold, so that a container's veth is chosen only while the
    NIC is idle; that of loopback counts a hundredth, of a veth in a bridge half, and of one that
    limits what passes it twice. The choice is stable: the highest rate of the last ten seconds
    counts, and of two interfaces that pass on the same traffic the first by name is shown.
    """
    known = {nic.name: nic for nic in facts.nics}
    for finding in findings:
        name = str(finding.target).partition("/")[0]
        if finding.severity == "critical" and name in known:
            return known[name]
    recent: dict[str, float] = {}
    for moment in past.fine[-LATELY:]:
        for name, moved in _moved(moment).items():
            recent[name] = max(moved, recent.get(name, 0.0))
    faults = having("fault")
    full = {
        one.target for one in facts.limits
        if one.over == "nic" and one.stage.end == "here" and one.stage.stage in faults
    }  # fmt: skip

    def rank(nic: Nic) -> tuple[bool | float, ...]:
        real, local = nic.kind == "nic", nic.kind == "loopback"
        member = nic.master is not None  # its bridge has a part of its traffic, or all
        weight = max(_bytes(nic.per_s), recent.get(nic.name, 0.0))
        weight *= 100 if real else 0.01 if local else 0.5 if member else 1
        weight *= 2 if nic.name in full else 1
        return (
            not local or weight >= IDLE,
            round(math.log(weight, ALIKE)) if weight >= IDLE else 0,
            not local,
            real,
            not member,
            bool(nic.carrier),
            bool(nic.carries_ssh),
        )

    return max(sorted(facts.nics, key=attrgetter("name")), key=rank, default=None)


@lru_cache(maxsize=16)
def _moved(moment: Summary) -> Mapping[str, float]:
    """The rate of each interface at that moment, both directions together, bytes/s."""
    return {name: rate for name, rates in moment.ports.items() if (rate := _bytes(rates))}


def _bytes(rate: Counters | PortRates) -> float:
    """Both directions of a `Counters` or a `Port` together, bytes/s; unknown counts as 0."""
    rx, tx = (rate.rx, rate.tx) if isinstance(rate, PortRates) else (rate.rx_bytes, rate.tx_bytes)
    return (rx or 0.0) + (tx or 0.0)
