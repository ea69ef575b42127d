"""Moments of a host with a pod that has one flow; veth9 is the host's end of the pod's eth0."""

from collections.abc import Callable, Mapping
from typing import Any

from flow_tables import Tables, socket
from limit_frames import GAUGES, SENDS, limits, moment

from nettop.collect import link_stats, namespaces, netns_links, netns_qdiscs, socket_owners
from nettop.facts.limits import Limit

POD = 4026532179  # the inode of its namespace
_LINK = dict.fromkeys(
    ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped",
     "tx_dropped"), 0)  # fmt: skip
_COUNTED = link_stats.Row.__dataclass_fields__.keys() - {"interface"}


def counted(name: str, second: float, *, rx: float = 0, tx: float = 0) -> link_stats.Row:
    """The counters of an interface that moves so many bytes a second in full packets."""
    received, sent = int(rx * second), int(tx * second)
    moved = {"rx_bytes": received, "tx_bytes": sent,
             "rx_packets": received // 1500, "tx_packets": sent // 1500}  # fmt: skip
    return link_stats.Row(name, **{**dict.fromkeys(_COUNTED, 0), **moved})


def pod(
    second: float, more: Tables, *, rates: Mapping[str, float] | None = None,
    gauges: Mapping[str, Any] | None = None, moved: Mapping[str, float] | None = None,
    peer: int | None = 9,
) -> Tables:  # fmt: skip
    """The tables at a second; `moved` are the bytes a second of its eth0 (`rx_bytes`, `tx_bytes`).

    `peer` is the index of the other end of its eth0; `more` are tables of the host.
    """
    counts = {name: int(rate * second) for name, rate in {**SENDS, **(rates or {})}.items()}
    values = {**GAUGES, **counts, **(gauges or {}), "namespace": POD, "inode": 200}
    link = {**_LINK, **{name: int(rate * second) for name, rate in (moved or {}).items()}}
    tables = moment(second, more={
        **more,
        "namespaces": [namespaces.Row(POD, "web", 8, 3)],
        "netns_tcp": [socket(2, **values)],
        "netns_links": [netns_links.Row(POD, "eth0", 2, peer=peer, **link)],
        "netns_qdiscs": [
            netns_qdiscs.Row(POD, "eth0", "root", "1:", "noqueue", True, ("10.0.0.1",))
        ],
    })  # fmt: skip
    owners = [*tables["socket_owners"], socket_owners.Row(200, 8, "nginx")]
    return {**tables, "socket_owners": owners}


def limit_of_pod(at: Callable[[float], Tables]) -> Limit:
    """What limits its flow."""
    return next(one for one in limits(at) if one.over == "flow" and one.namespace == "web")
