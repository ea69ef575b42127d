"""Facts of an interface that come from another one: macvlan above it, the other end of a veth."""

from types import SimpleNamespace
from typing import Any

from nic_tables import FOUR, Tables, joined, link

from nettop.collect import netclass, netns_links
from nettop.facts.wiring import far_ends, far_mtu


def test_macvlan_and_macvtap_interfaces_are_counted_at_the_one_below() -> None:
    rows = [
        link("eth0", parent="0000:03:00.0"),
        link("macvtap0", kind="macvtap", link="eth0"),
        link("mv0", kind="macvlan", link="eth0"),
        link("vlan5", kind="vlan", link="eth0"),
    ]
    nics = {nic.name: nic for nic in joined({"topology": FOUR, "links": rows}).nics}
    assert (nics["eth0"].macvlans, nics["mv0"].macvlans) == (2, 0)
    without: Tables = {"topology": FOUR, "netclass": [netclass.Row("eth0", device="0000:03:00.0")]}
    assert joined(without).nics[0].macvlans is None


def test_the_mtu_of_the_other_end_of_a_veth() -> None:
    rows = [
        link("v0", kind="veth", link="v1", mtu=1500),
        link("v1", kind="veth", link="v0", mtu=9000),
        link("v2", 5, kind="veth", mtu=1500, peer=2),  # the other end is in a namespace
        link("vlan5", kind="vlan", link="v1", mtu=1500),
    ]
    for far, known in (
        ([], None),
        ([netns_links.Row(7, "v", 2, 0, 0, 0, 0, 0, 0, 0, 0, peer=5, mtu=9000)], 9000),
    ):
        facts = joined({"topology": FOUR, "links": rows, "netns_links": far})
        assert {nic.name: nic.peer_mtu for nic in facts.nics} == {
            "v0": 9000, "v1": 1500, "v2": known, "vlan5": None,
        }  # fmt: skip


def test_a_veth_is_the_port_below_a_macvlan_and_a_vlan_but_not_below_a_bridge() -> None:
    rows = [
        link("eth0", kind="veth"),
        link("mv0", kind="macvlan", link="eth0"),
        link("vlan5", kind="vlan", link="eth0"),
        link("br0", kind="bridge"),
        link("v9", kind="veth", master="br0"),
    ]
    nics = {nic.name: nic for nic in joined({"topology": FOUR, "links": rows}).nics}
    assert [nics[name].lower for name in ("mv0", "vlan5", "br0")] == [("eth0",), ("eth0",), ()]


# The MTU of the end of a veth pair that is in another network namespace.


def row(namespace: int, index: int, peer: int | None, mtu: int | None) -> Any:
    return SimpleNamespace(namespace=namespace, index=index, peer=peer, mtu=mtu)


def links(*indices: int) -> Any:
    """The ends here."""
    return [SimpleNamespace(index=index) for index in indices]


OWN = links(5, 6)


def test_both_ends_name_each_other() -> None:
    ends = far_ends({}, [row(7, 2, 5, 9000), row(8, 2, 6, 1500), row(8, 3, None, 1500)], OWN)
    assert [far_mtu(2, index, ends) for index in (5, 6, 4)] == [9000, 1500, None]
    assert far_mtu(None, 5, ends) is None


def test_a_namespace_at_rest_keeps_its_end() -> None:
    known = far_ends({}, [row(7, 2, 5, 9000)], OWN)
    assert far_ends(known, [], OWN) is known
    assert far_mtu(2, 5, known) == 9000
    assert far_mtu(2, 5, far_ends(known, [row(7, 2, 5, 1500)], OWN)) == 1500


def test_a_pair_that_is_gone_is_forgotten() -> None:
    rows = [row(space, 2, space, 1500) for space in range(1, 400)]
    known = far_ends({}, rows, links(*range(400)))
    assert len(known) == 399
    assert list(far_ends(known, [], OWN)) == [(5, 2, 5), (6, 2, 6)]
    assert not far_ends(known, [row(7, 2, 9, 1500)], ())


def test_two_that_may_be_it_are_not_known_unless_alike() -> None:
    for other, found in ((1500, None), (9000, 9000)):
        ends = far_ends({}, [row(7, 2, 5, 9000), row(8, 2, 5, other)], OWN)
        assert far_mtu(2, 5, ends) == found


# Features of many interfaces, as facts: those that are alike are one object.


# Which links can have full duplex.
