"""A way out of a router whose MTU is below that of a network behind it, and below 1500 bytes.

Both ends of a connection offer the MSS of their own interface, so full packets are too long for the
way between. A router that may not cut them tells the sender by ICMP (net/ipv4/ip_forward.c,
ip_exceeds_mtu()); where that is dropped, they are lost whole. With an MTU of 1500 or more out, the
host at the other end offers no more than the way carries.

And packets that this host forwards out of the interface by which they came. No counter tells them
apart. Those that came or left by another interface are in the counters of
that one, so of the rest of what was forwarded both ends are the same interface. Where one interface
is on another (VLAN, bridge) both count a packet, and fewer are told.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import Final

from ...collect.sockets_tcp import Row as TcpRow
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Entry, Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind
from ..way.flow import inside
from .nic import Nic

ENTERS: Final = 1.0  # packets/s: with fewer all come by one interface, as to a balancer


@dataclass(frozen=True, slots=True)
class Hairpin:
    """One interface."""

    nic: str = label("interface name")
    returned: float = gauge(
        "forwarded packets that came and left by it, at the least", "packets/s", default=0.0
    )
    entered: float = gauge("packets received by the other interfaces", "packets/s", default=0.0)


def hairpins(frame: Frame, facts: Facts) -> tuple[Hairpin, ...]:  # noqa: ARG001
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


HAIRPIN = Kind(
    Hairpin, "hairpins", needs=("snmp", "nicstats"), build=hairpins,
    parents={"nic": attrgetter("nic")}, names={"if": "hairpin.nic"}, example={"nic": "eth1"},
)  # fmt: skip


ETHERNET: Final = 1500  # bytes: what hosts elsewhere send
HEADERS: Final = 40  # bytes of IPv4 and TCP, without options
REPEATS: Final = 2  # doublings of the timeout, as for what is called unanswered
_TO_HOSTS: Final = ("nic", "bridge", "vlan", "bond", "wireless", "veth")


@dataclass(frozen=True, slots=True)
class Outlet:
    """One interface."""

    nic: str = label("interface by which packets leave")
    mtu: int = gauge("its MTU, or that of its default route", "bytes", default=0)
    behind: str = gauge("interface of the network behind it with the largest MTU", default="")
    most: int = gauge("MTU of that interface", "bytes", default=0)
    main: bool = gauge("the default route leads out by it", default=False)
    clamped: bool | None = maybe("a rule of nf_tables sets the MSS")
    refused: float | None = maybe("packets that were too long for the way on", "packets/s")
    stalled: int = gauge(
        "connections behind it of which full segments do not arrive", "flows", default=0
    )


def build(frame: Frame, facts: Facts) -> tuple[Outlet, ...]:
    """The ways out of a host that forwards: by default, and by a tunnel."""
    if not facts.host.forwarding:
        return ()
    up = [nic for nic in facts.nics if nic.mtu and nic.up and nic.carrier is not False]
    routes = {row.interface: row.mtu for row in frame.rows("routes") if row.to.endswith("/0")}
    own = {row.interface for row in frame.rows("addresses") if row.scope == "global"}
    lans = [nic for nic in up if nic.kind in _TO_HOSTS and nic.name in own]
    inner = [nic for nic in lans if nic.name not in routes]
    failed = (one for one in frame.tables.get("failures", ()) if one.now.name == "FragFails")
    refused = next((one.rate("events") for one in failed), None)
    chains = "nft_chains" in frame.tables
    clamped = any(row.clamps for row in frame.rows("nft_chains")) if chains else None
    found = []
    for nic in up:
        if nic.name not in routes and nic.kind != "tunnel":
            continue
        mtu = min(nic.mtu or 0, routes.get(nic.name) or ETHERNET)
        wide = [one for one in (inner if nic.name in routes else lans) if (one.mtu or 0) > mtu]
        if wide and mtu < ETHERNET:
            most = max(wide, key=lambda one: (one.mtu, one.kind == "bridge"))
            stalled = _stalled(frame.tables.get("netns_tcp", ()), _networks(frame, wide), mtu)
            found.append(
                Outlet(nic.name, mtu, most.name, most.mtu or 0, nic.name in routes, clamped,
                       refused, stalled)
            )  # fmt: skip
    return tuple(found)


def _networks(frame: Frame, wide: Iterable[Nic]) -> set[str]:
    """The networks at these interfaces."""
    names = {nic.name for nic in wide}
    return {
        f"{row.address}/{row.prefix}"
        for row in frame.rows("addresses")
        if row.interface in names and row.scope == "global"
    }


def _stalled(entries: Iterable[Entry[TcpRow]], networks: AbstractSet[str], mtu: int) -> int:
    """Connections of containers in these networks with a segment that is too long and missing.

    One that is sent gets no answer; of one that comes, what follows has arrived.
    """
    count = 0
    for entry in entries:
        row = entry.now
        waits = (row.backoff or 0) >= REPEATS and row.lost
        behind_gap = row.rcv_ooopack and row.rmem_alloc and not row.recv_q
        if (row.mss or 0) + HEADERS <= mtu or not (waits or behind_gap):
            continue
        moves = entry.rate("bytes_acked") or entry.rate("bytes_received")
        here, there = (any(inside(end, one) for one in networks) for end in (row.local, row.remote))
        count += here and not there and not moves
    return count


KIND = Kind(
    Outlet, "outlets", needs=("links", "routes", "addresses", "nft_chains"), build=build,
    parents={"nic": attrgetter("nic")}, example={"nic": "ppp0"},
)  # fmt: skip
