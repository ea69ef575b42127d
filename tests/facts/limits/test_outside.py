"""A shaper at this host's end of a veth pair limits what a pod receives."""

from __future__ import annotations

from typing import Any

import pytest
from flow_tables import HOST, Tables, link, socket
from limit_frames import AWAY, GAUGES, RECEIVES, SENDS, limits, moment

from nettop.collect import (
    link_stats,
    namespaces,
    netns_links,
    netns_qdiscs,
    qdiscs,
    socket_owners,
)  # fmt: skip
from nettop.facts.limits import Limit
from nettop.facts.limits.words import line

POD = 4026532179
ZERO = dict.fromkeys(
    ("rx_packets", "tx_packets", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped"),
    0,
)


def pod(
    second: float, *, peer: int | None = 9, sends: bool = False, kind: str = "veth",
    moved: float = 130e6, used: float = 1.0,
) -> Tables:  # fmt: skip
    """A pod that receives 1 Gb/s by eth0; this host's end, veth9, has a shaper of 1.04 Gb/s."""
    rates = SENDS if sends else {**SENDS, **RECEIVES}
    counts = {name: int(rate * second) for name, rate in rates.items()}
    gauges = GAUGES if sends else {**GAUGES, **AWAY}
    flow = socket(2, **{**gauges, **counts, "namespace": POD, "inode": 200})
    names = link_stats.Row.__dataclass_fields__.keys() - {"interface", "tx_bytes", "tx_packets"}
    sent = int(moved * second)
    counted = link_stats.Row("veth9", tx_bytes=sent, tx_packets=sent // 1500,
                             **dict.fromkeys(names - {"interface"}, 0))  # fmt: skip
    shaped, backlog = int(130e6 * used * second), 90_000 * int(used)
    more: dict[str, Any] = {
        "links": [*HOST["links"], link("veth9", 9, kind=kind, link_netns=0)],
        "link_stats": [counted],
        "qdiscs": [qdiscs.Row("veth9", "root", "1:", "tbf", True, backlog, 9, shaped, rate=1.04e9)],
        "namespaces": [namespaces.Row(POD, "web", 8, 3)],
        "netns_tcp": [flow],
        "netns_links": [netns_links.Row(POD, "eth0", 2, rx_bytes=int(126e6 * second), peer=peer,
                                        **ZERO)],
        "netns_qdiscs": [netns_qdiscs.Row(POD, "eth0", "root", "1:", "noqueue", True,
                                          ("10.0.0.1",))],
    }  # fmt: skip
    tables = moment(second, more=more)
    owners = [*tables["socket_owners"], socket_owners.Row(200, 8, "nginx")]
    return {**tables, "socket_owners": owners}


def seen(**more: Any) -> Limit:
    found = limits(lambda second: pod(second, **more))
    return next(one for one in found if one.over == "flow" and one.namespace == "web")


def test_the_shaper_outside_of_the_pod() -> None:
    found = seen()
    assert (found.direction, found.stage.stage, found.stage.end) == ("rx", "qdisc", "here")
    assert found.stage.name == "tbf 1: of veth9", line(found)


@pytest.mark.parametrize(
    "more",
    [{"peer": None}, {"peer": 2}, {"kind": "vlan"}, {"moved": 60e6}, {"used": 0.5}],
    ids=["not known", "another interface", "no veth", "moves less", "has room"],
)
def test_what_does_not_limit_the_pod(more: dict[str, Any]) -> None:
    assert seen(**more).stage.stage == "peer", line(seen(**more))


def test_what_the_pod_sends_does_not_pass_it() -> None:
    found = seen(sends=True)
    assert all(one.stage != "qdisc" for one in found.ladder), line(found)
