"""Bridges whose ports differ in MTU, have addresses, or whose way out does not forward.

A bridge drops a frame that is longer than the MTU of the port by which it must leave, and counts it
nowhere (net/bridge/br_forward.c, br_dev_queue_push_xmit(), is_skb_forwardable()).
Spanning tree keeps a port from forwarding: for twice the forward delay after its link came up, or
as long as another port leads to the same network (net/bridge/br_stp.c).
A port hands all that it receives to the bridge (br_handle_frame()), so answers to an address of the
port arrive at the bridge, and ARP ignores them.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ..flow_words import total
from ..kind import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...collect.links import Row as LinkRow
    from .. import Facts


@dataclass(frozen=True, slots=True)
class Bridge:
    """One bridge with ports that are up and differ in MTU, have addresses or do not forward."""

    name: str = label("bridge")
    least: int = gauge("smallest MTU of a port", "bytes", default=0)
    most: int = gauge("largest MTU of a port", "bytes", default=0)
    small: tuple[str, ...] = gauge("ports with the smallest MTU", default=())
    large: tuple[str, ...] = gauge("ports with the largest MTU", default=())
    held: tuple[str, ...] = gauge(
        "ports with a link that are disabled, or where no port of their kind forwards", default=()
    )
    packets: float | None = maybe("packets received by the ports with the largest MTU", "packets/s")
    addressed: tuple[str, ...] = gauge(
        "ports with an IP address of their own, other than the link-local one", default=()
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
    found = []
    for name, by_mtu in sorted(ports.items()):
        held = _held(states.get(name, ()))
        addressed = tuple(sorted(own.intersection(chain(*by_mtu.values())))[:4])
        if len(by_mtu) > 1 or held or addressed:
            least, most = min(by_mtu), max(by_mtu)
            wide = {*by_mtu[most]}
            packets = total(nic.per_s.rx_packets for nic in facts.nics if nic.name in wide)
            found.append(
                Bridge(
                    name, least, most, tuple(sorted(by_mtu[least])[:4]), tuple(sorted(wide)[:4]),
                    held, packets, addressed,
                )
            )  # fmt: skip
    return tuple(found)


def _held(ports: Sequence[LinkRow]) -> tuple[str, ...]:
    """Ports that do not forward; a second way, which spanning tree blocks, is as it should be.

    Spanning tree disables only ports without a link (net/bridge/br_stp_if.c,
    br_stp_disable_port()).
    """
    forwards = {row.kind for row in ports if row.port_state == "forwarding"}
    return tuple(
        sorted(
            row.interface
            for row in ports
            if row.port_state == "disabled" or row.kind not in forwards
        )[:4]
    )


KIND = Kind(Bridge, "bridges", needs=("links", "addresses"), build=build, example={"name": "br0"})
