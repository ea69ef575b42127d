"""Bridges whose ports do not forward yet, or drop frames that are too long for them."""

from dataclasses import replace
from typing import Any

import pytest
from drops_told import seen, told
from folded import folded
from way_tables import link

from nettop.collect.arp_requests import Row as Ask
from nettop.collect.drop_reasons import Row as Drop
from nettop.collect.fdb import Row as Entry
from nettop.collect.fdb_moves import Row as Move
from nettop.collect.link_stats import Row as Counters
from nettop.facts.kinds.bridge import Bridge, build, moving
from nettop.frame.pairs import entries
from nettop.frame.rates import Frame

BRIDGE = link("br0", 2, kind="bridge", mtu=9000, stp=True, delay=15.0)
LONG = "br_nf_dev_queue_xmit"


def port(name: str, index: int, state: str = "forwarding", mtu: int = 9000) -> Any:
    return link(name, index, master="br0", slave_kind="bridge", port_state=state, mtu=mtu)


def bridges(*links: Any, drops: Any = (), **more: Any) -> tuple[Bridge, ...]:
    tables = {"links": links, "drop_reasons": drops, "addresses": (), **more}
    seen: Any = type("Seen", (), {"nics": ()})
    return build(Frame(0.0, 0.0, {n: entries(r, (), 1.0) for n, r in tables.items()}), seen)


def dropped(place: str = LONG, interface: str = "3", packets: int = 9, where: str = "here") -> Drop:
    return Drop("NOT_SPECIFIED", place, where, interface, "tcp", "40000", packets)


@pytest.mark.parametrize(("state", "told"), [
    ("listening", "v1 (listening, 30 s by spanning tree)"),
    ("learning", "v1 (learning, 30 s by spanning tree)"), ("disabled", "v1 (disabled)"),
])  # fmt: skip
def test_a_new_port_beside_those_that_forward_is_told_with_the_time_that_it_waits(
    state: str, told: str
) -> None:
    (one,) = bridges(BRIDGE, port("v0", 3), port("v1", 4, state))
    assert (one.held, one.states) == (("v1",), told)
    assert one.waits == "for twice the forward delay of br0, 15 s"


def test_a_second_way_that_spanning_tree_blocks_is_as_it_should_be() -> None:
    assert bridges(BRIDGE, port("v0", 3), port("v1", 4, "blocking")) == ()


@pytest.mark.parametrize(("drop", "lost"), [
    (dropped(), 9), (dropped("br_dev_queue_push_xmit", "4"), 9), (dropped("ip_forward"), 0),
    (dropped(interface="7"), 0), (dropped(where="elsewhere"), 0),
])  # fmt: skip
def test_the_port_that_drops_longer_frames_is_named(drop: Drop, lost: int) -> None:
    (one,) = bridges(BRIDGE, port("v0", 3), port("v1", 4, mtu=1500), drops=[drop])
    assert (one.small, one.large, one.lost) == (("v1",), ("v0",), lost)
    assert one.loses == (": frames above 1500 bytes to v1 are dropped" if lost else "")


def test_what_the_host_itself_sends_may_be_too_long_for_every_port() -> None:
    (one,) = bridges(BRIDGE, port("v0", 3, mtu=1500), drops=[dropped(interface="2")])
    assert (one.least, one.most, one.large) == (1500, 9000, ("br0",))
    assert one.loses == ": frames above 1500 bytes to v0 are dropped"


@pytest.mark.parametrize(("known", "received", "told"), [
    ((), 31, ("v1",)),
    ((Entry("v1", "33:33:00:00:00:01", "", 0, None, "permanent"),), 31, ("v1",)),  # its own
    ((Entry("v1", "02:00:00:00:00:09", "", 0, "br0", "static"),), 31, ()),
    ((), 0, ()),  # nothing is behind it, as of a port that mirrors
])  # fmt: skip
def test_a_port_without_flooding_and_entries_gets_no_frame_for_one_host(
    known: Any, received: int, told: tuple[str, ...]
) -> None:
    ports = [BRIDGE, port("v0", 3), replace(port("v1", 4), floods=False)]
    zero: dict[str, Any] = dict.fromkeys(Counters.__dataclass_fields__, 0)
    counted = [Counters(**{**zero, "interface": "v1", "rx_packets": received})]
    found = bridges(*ports, fdb=known, link_stats=counted)
    assert [one.unreached for one in found] == [told] * bool(told)


def test_an_address_behind_two_ports_is_told_with_who_asks_with_it() -> None:
    def asks(source: str, hardware: str) -> Ask:
        return Ask("br0", source, hardware, "10.0.0.1", 1)

    mac = "52:54:00:ab:12:34"
    tables: dict[str, Any] = {"fdb_moves": [Move("br0", mac, 7, ("v0", "v1"), 4, 5.0)],
              "arp_requests": [asks("10.0.0.7", mac), asks("10.0.0.8", mac),
                               asks("10.0.0.9", "02:00:00:00:00:09")]}  # fmt: skip
    frame = Frame(0.0, 0.0, {name: entries(rows, (), 1.0) for name, rows in tables.items()})
    (one,) = moving(frame, None)  # type: ignore[arg-type]
    assert (one.id, one.ports) == (f"{mac}@br0", "v0, v1 in VLAN 7")
    assert (one.addresses, one.moves, one.per_s) == (("10.0.0.7", "10.0.0.8"), 4, 0.8)


@pytest.mark.parametrize(("querier", "floods", "groups", "left_out"), [
    (False, False, 2, ("v1",)), (True, False, 2, ()), (None, False, 2, ()), (False, True, 2, ()),
    (False, None, 2, ()), (False, False, 0, ()), (False, False, None, ()),
])  # fmt: skip
def test_a_port_that_gets_no_multicast_though_a_host_behind_it_joined(
    querier: bool | None, floods: bool | None, groups: int | None, left_out: tuple[str, ...]
) -> None:
    bridge = replace(BRIDGE, querier=querier)
    ports = port("v0", 3), replace(port("v1", 4), multicasts=floods, groups=groups)
    assert [one.left_out for one in bridges(bridge, *ports)] == [left_out] * bool(left_out)


@folded(("flags", "querier", "at", "ports"), [
    ({"p1": False}, False, "p0", "p1"), ({"p1": False, "p2": False}, False, "p0", "p1, p2"),
    ({"p0": False, "p1": False}, False, "", "p0, p1"),
    ({"p0": False}, False, "p0", ""), ({"p0": False}, False, "", ""),  # that of the sender, or so
    ({"p1": True}, False, "p0", ""), ({}, False, "p0", ""), ({"p1": False}, True, "p0", ""),
])  # fmt: skip
def test_the_ports_that_get_none_of_a_group_that_nobody_joined_here_are_named(
    flags: dict[str, bool], querier: bool, at: str, ports: str
) -> None:
    links = [replace(BRIDGE, querier=querier), *(
        replace(port(name, index), multicasts=flags.get(name))
        for index, name in enumerate(("p0", "p1", "p2"), start=5)
    )]  # fmt: skip
    mac = "02:00:00:00:00:02"
    row = seen("NOT_SPECIFIED", "ip_rcv_finish_core", to="239.9.9.9", sender=mac)
    one = told(row, links=links, fdb=[Entry(at, mac, "", 0, "br0")] if at else [])
    assert one.means.startswith("Nobody joined")
    assert (f" to {ports} (mcast_flood off)" in one.means) == one.exact == bool(ports)
    assert (f"dev {ports[:2]} mcast_flood on`" in one.advice) == bool(ports)
    assert one.advice.endswith("`ip route add GROUP dev INTERFACE`.")
