"""An interface by which connections to different networks lose segments alike.

Their paths differ beyond the first hops. If nearly all that send there lose about the same share,
what they have in common is the suspect: the card with its offloads, the cable, the port of the
switch, and whoever carries all of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from ipaddress import ip_network
from operator import attrgetter
from typing import Final

from ...collect.routes import Row as RouteRow
from ...frame.fields import gauge, label
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind
from ..way.flow import address
from .flow import Flow
from .metric import Network, main_routes, route

LEAST: Final = 2  # networks
SEEN: Final = 1.0  # losses a second at the mean of all: a flow that sends less shows nothing
ALIKE: Final = 3.0  # times the mean of all, or a third of it
NEARLY: Final = 0.9  # of the flows that send enough: these lose alike
BITS: Final = {4: 24, 6: 48}  # of an address behind a gateway: its network
NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Common:
    """One interface."""

    nic: str = label("interface by which they leave")
    flows: int = gauge("connections that send there and lose alike", "flows", default=0)
    networks: int = gauge("networks of their other ends", "networks", default=0)
    near: int = gauge("of these, connections into a network of the interface", "flows", default=0)
    least: float = gauge("smallest loss ratio of these", "ratio", default=0.0)
    most: float = gauge("largest loss ratio of these", "ratio", default=0.0)
    to: tuple[str, ...] = gauge("other ends, such as", default=())


def build(frame: Frame, facts: Facts) -> tuple[Common, ...]:
    """One fact for each interface with flows to two networks or more that lose alike."""
    ways = defaultdict(list)
    for flow in facts.flows:
        if flow.nic and flow.wants and flow.protocol == "tcp" and flow.loss_ratio is not None:
            ways[flow.nic].append(flow)
    found = []
    for nic, flows in ways.items():
        alike = _alike(flows) if len(flows) >= LEAST else []
        routes = main_routes(frame) if alike else ()
        places = [_place(flow.remote, routes) for flow in alike]
        known = {place for place, _ in places if place}
        if len(known) >= LEAST:
            losses = [flow.loss_ratio or 0.0 for flow in alike]
            found.append(Common(
                nic, len(alike), len(known), sum(near for _, near in places),
                min(losses), max(losses), _named(flow.remote for flow in alike),
            ))  # fmt: skip
    return tuple(found)


def _place(remote: str, routes: Sequence[tuple[Network, RouteRow]]) -> tuple[str, bool]:
    """The network of an address, empty if unknown, and whether no gateway is on the way to it."""
    row = route(remote, routes)
    if row is not None and row.gateway is None and not row.to.endswith("/0"):
        return row.to, True
    try:
        plain = address(remote)
    except ValueError:
        return "", False
    return str(ip_network(f"{plain}/{BITS[plain.version]}", strict=False)), False


def _alike(flows: Sequence[Flow]) -> list[Flow]:
    """Those that lose about as much as all together, if they are nearly all; else none."""
    sent = [(flow, flow.data_out or 0.0, flow.loss_ratio or 0.0) for flow in flows]
    whole = sum(count for _, count, _ in sent)
    mean = sum(count * loss for _, count, loss in sent) / whole if whole else 0.0
    telling = [(flow, loss) for flow, count, loss in sent if count * mean >= SEEN]
    alike = [flow for flow, loss in telling if mean / ALIKE <= loss <= mean * ALIKE]
    return alike if len(alike) >= NEARLY * len(telling) else []


def _named(remotes: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(remotes))[:NAMED]


KIND = Kind(
    Common, "commons", needs=("routes",), build=build, parents={"nic": attrgetter("nic")},
    example={"nic": "eth0", "flows": 3, "networks": 2},
)  # fmt: skip
