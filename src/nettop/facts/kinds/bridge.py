"""Bridges whose ports differ in MTU, have addresses, or whose way out does not forward.

A bridge drops a frame that is longer than the MTU of the port by which it must leave, and counts it
nowhere (net/bridge/br_forward.c, br_dev_queue_push_xmit(), is_skb_forwardable()).
Spanning tree keeps a port from forwarding: for twice the forward delay after its link came up, or
as long as another port leads to the same network (net/bridge/br_stp.c).
A port hands all that it receives to the bridge (br_handle_frame()), so answers to an address of the
port arrive at the bridge, and ARP ignores them.

What comes by one port and is for all, or for a group of which no querier asks who joined it, leaves
by the ports with bcast_flood, or mcast_flood, only (br_flood()).

A hardware address behind two ports moves its forwarding entry with each frame (`fdb_moves`).

And bonds: their aggregation, and how evenly the ports of one carry what this host sends.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from ...collect.links import Row as LinkRow
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ...terms.text import few
from .. import Facts
from ..counters import grown
from ..flow_words import total
from ..kind import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
from operator import attrgetter

from ..flow_words import part


@dataclass(frozen=True, slots=True)
class Bond:
    """One bond."""

    nic: str = label("bond interface")
    mode: str = gauge("mode: 802.3ad active-backup balance-xor …", default="")
    policy: str | None = maybe("transmit hash policy")
    partner: bool | None = maybe("an LACP partner answers")
    ports: int = gauge("ports with a link", "ports", default=0)
    outside: int | None = maybe("ports with a link that are not in the active aggregator", "ports")
    busiest: str | None = maybe("port that sends most")
    busiest_share: float | None = maybe("share of the busiest port in what the bond sends", "ratio")
    busiest_load: float | None = maybe("transmit load of the busiest port", "ratio")


def bonds(frame: Frame, facts: Facts) -> tuple[Bond, ...]:
    """One fact for each bond."""
    nics = {nic.name: nic for nic in facts.nics}
    found = []
    for row in frame.rows("bonds"):
        own = nics.get(row.interface)
        ports = [nics[name] for name in (own.lower if own is not None else ()) if name in nics]
        top = max(ports, key=lambda nic: nic.per_s.tx_bytes or 0.0, default=None)
        sent = total(nic.per_s.tx_bytes for nic in ports)
        found.append(
            Bond(
                row.interface, row.mode, row.policy, row.partner, row.ports, row.outside,
                top.name if top is not None else None,
                part(top.per_s.tx_bytes or 0.0, sent) if top is not None else None,
                top.tx_load if top is not None else None,
            )
        )  # fmt: skip
    return tuple(found)


BOND = Kind(
    Bond, "bonds", needs=("bonds",), build=bonds, parents={"nic": attrgetter("nic")},
    example={"nic": "bond0", "mode": "802.3ad"},
)  # fmt: skip


MOST: Final = 4  # ports that are named
BEGINS: Final = ("listening", "learning")
# functions that drop a frame longer than the MTU of the port by which it must leave; the first one
# also where frames are given to the packet filter (br_netfilter), and cannot be cut
LONG: Final = ("br_nf_dev_queue_xmit", "br_nf_ip_fragment", "br_dev_queue_push_xmit")


@dataclass(frozen=True, slots=True)
class Bridge:
    """One bridge with ports that are up and differ in MTU, have addresses or do not forward."""

    name: str = label("bridge")
    least: int = gauge("smallest MTU of a port", "bytes", default=0)
    most: int = gauge("largest MTU of a port", "bytes", default=0)
    small: tuple[str, ...] = gauge("ports with the smallest MTU", default=())
    large: tuple[str, ...] = gauge("ports with the largest MTU", default=())
    held: tuple[str, ...] = gauge(
        "ports with a link that are disabled, that do not forward yet, or where no port of their "
        "kind does",
        default=(),
    )
    states: str = gauge("these ports with their states", default="")
    begins: bool = gauge("each of these waits for spanning tree, and will forward", default=False)
    waits: str = gauge("how long spanning tree lets a port wait, in words", default="")
    lost: int = gauge(
        "frames too long for the port by which they leave, dropped while nettop looked",
        "frames",
        default=0,
    )
    loses: str = gauge("the port that drops them", default="")
    packets: float | None = maybe("packets received by the ports with the largest MTU", "packets/s")
    addressed: tuple[str, ...] = gauge(
        "ports with an IP address of their own, other than the link-local one", default=()
    )
    unreached: tuple[str, ...] = gauge(
        "ports behind which a host sends, and that get no frame for one host", default=()
    )
    left_out: tuple[str, ...] = gauge(
        "ports behind which a host joined a multicast group, and that get nothing for it",
        default=(),
    )
    multicast: float | None = maybe(
        "multicast frames that arrived, and left by each port that floods them", "packets/s"
    )


def build(frame: Frame, facts: Facts) -> tuple[Bridge, ...]:
    """The bridges of this namespace with something unusual about their ports."""
    ports: dict[str, dict[int, list[str]]] = {}
    states: dict[str, list[LinkRow]] = {}
    for row in frame.rows("links"):
        if row.master and row.slave_kind == "bridge" and row.up and row.mtu:
            ports.setdefault(row.master, {}).setdefault(row.mtu, []).append(row.interface)
            if row.running and row.port_state:
                states.setdefault(row.master, []).append(row)
    if not ports:
        return ()
    own = {row.interface for row in frame.rows("addresses") if row.scope == "global"}
    found, links = [], {row.interface: row for row in frame.rows("links")}
    arrived = {one.now.interface: one.rate("multicast")
               for one in frame.tables.get("link_stats", ())}  # fmt: skip
    for name, by_mtu in sorted(ports.items()):
        held = _held(states.get(name, ()))
        lost = _lost(frame, name, links)
        mtu = links[name].mtu if name in links else None
        if lost and mtu and mtu > max(by_mtu):  # of what the host itself sends
            by_mtu[mtu] = [name]
        addressed = tuple(sorted(own.intersection(chain(*by_mtu.values())))[:4])
        unreached = _unreached(frame, states.get(name, ()), links)
        left_out = _left_out(states.get(name, ()), links.get(name))
        if len(by_mtu) > 1 or held or addressed or unreached or left_out:
            least, most = min(by_mtu), max(by_mtu)
            wide = {*by_mtu[most]}
            packets = total(nic.per_s.rx_packets for nic in facts.nics if nic.name in wide)
            found.append(
                Bridge(
                    name, least, most, tuple(sorted(by_mtu[least])[:4]), tuple(sorted(wide)[:4]),
                    tuple(row.interface for row in held),
                    _states(held, links.get(name)),
                    all(row.port_state in BEGINS for row in held), _waits(links.get(name)),
                    lost, _loses(by_mtu[least], least) if lost else "", packets, addressed,
                    unreached, left_out, arrived.get(name),
                )
            )  # fmt: skip
    return tuple(found)


def _unreached(
    frame: Frame, ports: Sequence[LinkRow], links: Mapping[str, LinkRow]
) -> tuple[str, ...]:  # fmt: skip
    """The ports that do not flood, and have no entry although something came by them.

    They get broadcasts only: net/bridge/br_forward.c, br_flood(). One that learns has an entry.
    """
    if "fdb" not in frame.tables:
        return ()
    own = {one.address for one in links.values()}
    known = {row.interface for row in frame.rows("fdb") if row.master and row.hardware not in own}
    heard = {row.interface for row in frame.rows("link_stats") if row.rx_packets}
    names = [one.interface for one in ports if one.floods is False]
    return tuple(name for name in names if name in heard - known)


def _left_out(ports: Sequence[LinkRow], bridge: LinkRow | None) -> tuple[str, ...]:
    """The ports with groups that do not flood multicast, of a bridge that floods it all.

    Without a querier it does not look who joined: net/bridge/br_input.c, br_handle_frame_finish().
    """
    if bridge is None or bridge.querier is not False:
        return ()
    return tuple(one.interface for one in ports if one.multicasts is False and one.groups)


def _lost(frame: Frame, bridge: str, links: Mapping[str, LinkRow]) -> int:
    """The frames that this bridge dropped for their length: they came by a port, or left by one."""
    there = {str(row.index) for row in links.values() if bridge in (row.interface, row.master)}
    return sum(
        row.packets for row in frame.rows("drop_reasons")
        if row.where == "here" and row.place in LONG and row.interface in there
    )  # fmt: skip


def _loses(ports: Sequence[str], mtu: int) -> str:
    """Who drops frames, in words."""
    names = " and ".join(sorted(ports)[:MOST])
    return f": frames above {mtu} bytes to {names} are dropped"


def _states(ports: Sequence[LinkRow], bridge: LinkRow | None) -> str:
    """The ports with their states, and how long spanning tree keeps them there."""
    delay = bridge.delay if bridge is not None else None
    more = f", {2 * delay:g} s by spanning tree" if delay else ""
    return ", ".join(
        f"{row.interface} ({row.port_state}{more * (row.port_state in BEGINS)})" for row in ports
    )


def _waits(bridge: LinkRow | None) -> str:
    """How long a port waits after its link came up (net/bridge/br_stp_timer.c)."""
    if bridge is None or bridge.delay is None:
        return "for twice the forward delay (15 s by default)"
    return f"for twice the forward delay of {bridge.interface}, {bridge.delay:g} s"


def _held(ports: Sequence[LinkRow]) -> Sequence[LinkRow]:
    """Ports that do not forward; a second way, which spanning tree blocks, is as it should be.

    A port that listens or learns is one whose link came up just now: a container or guest that has
    begun is cut off until then.

    Spanning tree disables only ports without a link (net/bridge/br_stp_if.c,
    br_stp_disable_port()).
    """
    forwards = {row.kind for row in ports if row.port_state == "forwarding"}
    shut = (row for row in ports
            if row.port_state in ("disabled", *BEGINS) or row.kind not in forwards)  # fmt: skip
    return sorted(shut, key=lambda row: row.interface)[:MOST]


KIND = Kind(Bridge, "bridges", needs=("links", "addresses"), build=build, example={"name": "br0"})


@dataclass(frozen=True, slots=True)
class Moving:
    """One hardware address whose forwarding entry moves between ports of a bridge."""

    id: str = label("hardware address@bridge")
    hardware: str = gauge("hardware address", default="")
    nic: str = gauge("the bridge", default="")
    ports: str = gauge("its ports", default="")
    addresses: tuple[str, ...] = gauge("addresses that ask by ARP with it", default=())
    moves: int = gauge("moves while nettop looked", "events", default=0)
    per_s: float | None = maybe("moves", "events/s")


def moving(frame: Frame, facts: Facts) -> tuple[Moving, ...]:  # noqa: ARG001
    """One fact for each of them."""
    users: dict[tuple[str, str], dict[str, None]] = {}
    for row in frame.rows("arp_requests"):
        users.setdefault((row.interface, row.hardware), {})[row.source] = None
    found = []
    for entry in frame.tables.get("fdb_moves", ()):
        row = entry.now
        named = [*users.get((row.bridge, row.hardware), ())][:MOST]
        vlan = f" in VLAN {row.vlan}" * bool(row.vlan)
        found.append(
            Moving(
                f"{row.hardware}@{row.bridge}", row.hardware, row.bridge,
                f"{few(row.ports, MOST)}{vlan}", tuple(named), row.moves,
                grown(entry, "moves"),
            )
        )  # fmt: skip
    return tuple(found)


MOVING = Kind(
    Moving, "moving_entries", build=moving, name="moving", parents={"nic": attrgetter("nic")},
    example={"id": "02:00:00:00:00:01@br0", "hardware": "02:00:00:00:00:01", "nic": "br0"},
    tables={"": "fdb_moves"},
)  # fmt: skip
