"""Packets that this host forwards out of the interface by which they came.

No counter tells them apart. Those that came or left by another interface are in the counters of
that one, so of the rest of what was forwarded both ends are the same interface. Where one interface
is on another (VLAN, bridge) both count a packet, and fewer are told.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from ...frame.fields import gauge, label
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind

ENTERS: Final = 1.0  # packets/s: with fewer all come by one interface, as to a balancer


@dataclass(frozen=True, slots=True)
class Hairpin:
    """One interface."""

    nic: str = label("interface name")
    returned: float = gauge(
        "forwarded packets that came and left by it, at the least", "packets/s", default=0.0
    )
    entered: float = gauge("packets received by the other interfaces", "packets/s", default=0.0)


def build(frame: Frame, facts: Facts) -> tuple[Hairpin, ...]:  # noqa: ARG001
    """The interfaces of a host that forwards, if packets return by them."""
    forwarded = facts.host.ip_forwarded or 0.0
    counted = [one for one in facts.nics if one.kind != "loopback" and forwarded]
    received = [one.per_s.rx_packets for one in counted]
    sent = [one.per_s.tx_packets for one in counted]
    if None in received or None in sent:
        return ()  # they may be the ones that brought and took it all
    dropped = [(one.per_s.tx_dropped or 0.0) + (one.per_s.qdisc_drops or 0.0) for one in counted]
    brought, took, lost = (sum(one or 0.0 for one in rates) for rates in (received, sent, dropped))
    found = []
    for nic, rx, tx, drops in zip(counted, received, sent, dropped, strict=True):
        entered = brought - (rx or 0.0)
        passed = entered + took - (tx or 0.0) + lost - drops  # by all others
        own = min(forwarded, rx or 0.0, tx or 0.0)
        if own > passed and entered >= ENTERS:
            found.append(Hairpin(nic.name, own - passed, entered))
    return tuple(found)


KIND = Kind(
    Hairpin, "hairpins", needs=("snmp", "nicstats"), build=build,
    parents={"nic": attrgetter("nic")}, names={"if": "hairpin.nic"}, example={"nic": "eth1"},
)  # fmt: skip
