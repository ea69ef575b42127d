"""Facts of an interface that come from another one: macvlan above it, the other end of a veth."""

from __future__ import annotations

from nic_tables import FOUR, Tables, joined, link

from nettop.collect import netclass


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
        link("v2", kind="veth", mtu=1500),  # the other end is in a namespace
        link("vlan5", kind="vlan", link="v1", mtu=1500),
    ]
    nics = {nic.name: nic for nic in joined({"topology": FOUR, "links": rows}).nics}
    assert [nics[name].peer_mtu for name in ("v0", "v1", "v2", "vlan5")] == [
        9000, 1500, None, None,
    ]  # fmt: skip


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
