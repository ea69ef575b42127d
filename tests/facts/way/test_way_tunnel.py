"""What carries a tunnel: its own address, and the way of its packets to the other end."""

from typing import Any

import pytest
from way_tables import FAR, NEAR, SOUND, frame, link, route, went

from nettop.collect.fdb import Row as Entry
from nettop.collect.neighbour_states import Row as Neighbour
from nettop.collect.nft_hooks import Row as Hook
from nettop.collect.nft_rules import Row as Rule
from nettop.facts.way import STOPS, SUSPECT

TO = "10.9.0.2"
DROP = ("immediate", 0, "0:")
UDP, GRE = ((("meta", 16, 1), ("cmp", 1, 0, number)) for number in ("11", "2f"))
PORT = (("payload", 1, 2, 2, 2), ("cmp", 1, 0, "12b5"))  # 4789
HOST = "host"
ON_THE_WAY = f", on the way of t0 to {FAR}"


def tunnelled(
    kind: str = "vxlan", rule: Any = (), neighbour: str = "reachable", fib: Any = (), **ends: Any
) -> Any:
    """A host with a tunnel `t0` (10.9.0.1/24) over `a0`."""
    known = {"tunnel_local": NEAR, "tunnel_remote": FAR, "tunnel_port": 4789, "tunnel_id": 7}
    ether = kind in ("vxlan", "gretap")
    t0 = link("t0", 9, kind=kind, type=1 if ether else 778, noarp=not ether, **{**known, **ends})
    routes = [*fib, route("10.9.0.0/24", "t0", source="10.9.0.1"), *SOUND["fib"]]
    near = Neighbour("a0", FAR, 4, neighbour, "02:00:00:00:00:02" if "ea" in neighbour else None)
    far = Neighbour("t0", TO, 4, "reachable", "02:00:00:00:00:09")
    hooks = [Hook("inet", "t", "c", "output", 0, "filter", drops=False)]
    rules = [Rule("inet", "t", "c", 2, (*rule, DROP))] if rule else []
    return frame(
        links=[*SOUND["links"], t0], fib=routes, neighbour_states=[near, far],
        nft_hooks=hooks, nft_rules=rules,
        fdb=[Entry("t0", "02:00:00:00:00:09", FAR, 0)],
    )  # fmt: skip


@pytest.mark.parametrize(("changed", "saw"), [
    ({}, None),
    ({"kind": "gre"}, None),
    ({"tunnel_local": "10.0.0.77"},
     f"t0 (vxlan) sends from 10.0.0.77, which is no address of this {HOST}"),
    ({"tunnel_local": None}, None),
    ({"tunnel_remote": None}, None),
    ({"tunnel_remote": "239.1.1.1"}, None),
    ({"fib": [route("10.0.0.2/32", None, kind="blackhole")]},
     f"route 10.0.0.2/32 is a blackhole{ON_THE_WAY}"),
    ({"neighbour": "failed"}, f"no neighbour answers for {FAR} on a0{ON_THE_WAY}"),
    ({"rule": (*UDP, *PORT)},
     f"rule of handle 2 in chain c (hook output, inet t) drops packets{ON_THE_WAY}"),
    ({"rule": (*UDP, *PORT), "tunnel_port": 8472}, None),
    ({"rule": GRE, "kind": "gre"},
     f"rule of handle 2 in chain c (hook output, inet t) drops packets{ON_THE_WAY}"),
    ({"rule": GRE}, None),
    ({"rule": UDP, "kind": "gretap"}, None),
])  # fmt: skip
def test_what_stops_a_tunnel_stops_what_goes_through_it(
    changed: dict[str, Any], saw: str | None
) -> None:
    way = went(TO, tunnelled(**changed), port=80)
    assert (way.decider.saw if way.decider else None) == saw
    assert not way.of(SUSPECT)


def test_the_change_has_an_address_of_this_host_and_the_number_of_the_tunnel() -> None:
    decider = went(TO, tunnelled(tunnel_local="10.0.0.77"), port=80).decider
    assert decider is not None
    assert decider.change.startswith("ip link set t0 type vxlan id 7 local 10.0.0.1 with")
    decider = went(TO, tunnelled("gre", tunnel_local="10.0.0.77", tunnel_id=None), port=80).decider
    assert decider is not None
    assert decider.change.startswith("ip link set t0 type gre local 10.0.0.1 with")


def test_a_tunnel_that_is_a_port_of_the_bridge_is_followed() -> None:
    seen = tunnelled(neighbour="failed")
    bridge = link("br0", 10, kind="bridge")
    port = link("t0", 9, tunnel_local=NEAR, tunnel_remote=FAR, kind="vxlan", master="br0",
                slave_kind="bridge", port_state="forwarding")  # fmt: skip
    near = Neighbour("a0", FAR, 4, "failed", None)
    far = Neighbour("br0", TO, 4, "reachable", "02:00:00:00:00:09")
    tables = {
        "links": [*SOUND["links"], bridge, port], "neighbour_states": [near, far],
        "fib": [route("10.9.0.0/24", "br0", source="10.9.0.1"), *SOUND["fib"]],
        "fdb": [Entry("t0", "02:00:00:00:00:09", "", 0, "br0")],
        "addresses": seen.rows("addresses"),
    }  # fmt: skip
    way = went(TO, frame(**tables), port=80)
    assert [one.saw for one in way.steps if one.outcome == STOPS] == [
        f"no neighbour answers for {FAR} on a0{ON_THE_WAY}"
    ]
