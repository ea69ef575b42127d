"""The queues below the interface of a flow: of a VLAN, bridge, bond or tunnel."""

from typing import Any

import pytest
from flow_tables import HOST, Tables, link
from limit_frames import flow, limits, moment

from nettop.collect import addresses, drvinfo, netdev, qdiscs, routes
from nettop.facts.limits import Limit
from nettop.facts.limits.words import line

MOVES = 130_000_000  # bytes/s: the flow's 1 Gb/s with its headers
OVER: Tables = {
    "addresses": [addresses.Row("over", "10.0.0.1", 24, 4, "global")],
    "routes": [routes.Row("10.0.0.0/24", "over", 0, 254)],
}


def seen(links: dict[str, dict[str, Any]], moved: dict[str, int], full: str = "eth0") -> Limit:
    """The limit of a flow over `over`; one of these interfaces has a full shaper."""

    def at(second: float) -> Any:
        rows = [
            link(name, 2 + place, **{"parent": "p"} if name.startswith("eth") else {}, **more)
            for place, (name, more) in enumerate(links.items())
        ]
        counted = [
            netdev.Row(name, 0, 0, 0, 0, 0, 0, 0, 0, int(rate * second),
                       int(rate / 1400 * second), 0, 0, 0, 0, 0, 0)
            for name, rate in moved.items()
        ]  # fmt: skip
        shaper = qdiscs.Row(full, "root", "1:", "tbf", True, 90_000, 9, int(MOVES * second),
                            rate=8.0 * MOVES)  # fmt: skip
        more: Tables = {
            **OVER,
            "links": [HOST["links"][0], *rows],
            "netclass": [],
            "drvinfo": [drvinfo.Row(row.interface, "tun") for row in rows if row.kind == "tun"],
            "netdev": counted,
        }
        return moment(second, queue=shaper, more=more)

    return flow(limits(at))


STACKS: dict[str, tuple[dict[str, dict[str, Any]], dict[str, int]]] = {
    "VLAN": ({"eth0": {}, "over": {"kind": "vlan", "link": "eth0"}},
             {"eth0": MOVES, "over": MOVES}),
    "macvlan": ({"eth0": {}, "over": {"kind": "macvlan", "link": "eth0"}},
                {"eth0": MOVES, "over": MOVES}),
    "bridge with another port": (
        {"over": {"kind": "bridge"}, "eth0": {"master": "over"}, "eth1": {"master": "over"}},
        {"eth0": MOVES, "eth1": 1000, "over": MOVES},
    ),
    "VLAN on a bond": (
        {"over": {"kind": "vlan", "link": "bond0"}, "bond0": {"kind": "bond"},
         "eth0": {"master": "bond0"}},
        {"eth0": MOVES, "bond0": MOVES, "over": MOVES},
    ),
    "tunnel": ({"over": {"kind": "vxlan"}, "eth0": {}, "eth1": {}},
               {"eth0": MOVES, "eth1": 1000, "over": MOVES}),
    "tunnel over a bond": (
        {"over": {"kind": "wireguard"}, "bond0": {"kind": "bond"}, "eth0": {"master": "bond0"}},
        {"eth0": MOVES, "bond0": MOVES, "over": MOVES},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("links", "moved"), STACKS.values(), ids=STACKS)
def test_a_full_shaper_of_the_interface_below_limits(
    links: dict[str, dict[str, Any]], moved: dict[str, int]
) -> None:
    found = seen(links, moved)
    assert (found.stage.stage, found.stage.end) == ("qdisc", "here"), line(found)
    assert found.stage.name == "tbf 1: of eth0"
    assert found.nic == "over"


AMBIGUOUS: dict[str, tuple[dict[str, dict[str, Any]], dict[str, int]]] = {
    "two ports that move as much": (
        {"over": {"kind": "bridge"}, "eth0": {"master": "over"}, "eth1": {"master": "over"}},
        {"eth0": MOVES, "eth1": MOVES, "over": MOVES},
    ),
    "a port that moves less": ({"over": {"kind": "bridge"}, "eth0": {"master": "over"}},
                               {"eth0": MOVES // 3, "over": MOVES}),
    "a tunnel and two interfaces": ({"over": {"kind": "vxlan"}, "eth0": {}, "eth1": {}},
                                    {"eth0": MOVES, "eth1": MOVES, "over": MOVES}),
    "a tunnel that rests": ({"over": {"kind": "vxlan"}, "eth0": {}}, {"eth0": MOVES}),
    "a guest's port of a bridge": (
        {"over": {"kind": "tun", "master": "br0"}, "eth0": {}}, {"eth0": MOVES, "over": MOVES},
    ),
    "another interface": ({"over": {}, "eth0": {}}, {"eth0": MOVES, "over": MOVES}),
}  # fmt: skip


@pytest.mark.parametrize(("links", "moved"), AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_a_shaper_that_the_flow_may_not_pass_does_not_limit(
    links: dict[str, dict[str, Any]], moved: dict[str, int]
) -> None:
    found = seen(links, moved)
    assert all(one.stage != "qdisc" for one in found.ladder), line(found)
