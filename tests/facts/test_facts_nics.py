"""Interfaces joined: kinds, ports, rates, losses, settings, limits."""

import pytest
from nic_tables import FOUR, Tables, frames, joined, link, served, stats

from nettop.collect import (
    addresses,
    channels,
    drvinfo,
    eee,
    features,
    netclass,
    nicqueues,
    pause,
    pci,
    qdiscs,
    queues,
    rings,
    routes,
    rss,
    sysctls,
)
from nettop.facts import Facts
from nettop.facts.joined import Joiner
from nettop.facts.kinds.nic import Nic


def nic_of(facts: Facts, name: str) -> Nic:
    return next(nic for nic in facts.nics if nic.name == name)


def test_kinds_and_the_ports_below() -> None:
    facts = joined(
        {
            "links": [
                link("lo", 1, type=772, loopback=True),
                link("eth0", 2, parent="0000:03:00.0", bus="pci", master="bond0"),
                link("eth1", 3, parent="0000:03:00.1", bus="pci", master="bond0"),
                link("bond0", 4, kind="bond", master="br0"),
                link("bond0.7", 5, kind="vlan", link="bond0"),
                link("br0", 6, kind="bridge"),
                link("veth1", 7, kind="veth", link_netns=1),
                link("wg0", 8, kind="wireguard", type=65534),
                link("virt0", 9, parent="virtio2", bus="virtio"),
                link("dummy0", 10, kind="dummy"),
            ]
        }
    )
    assert {nic.name: nic.kind for nic in facts.nics} == {
        "lo": "loopback", "eth0": "nic", "eth1": "nic", "bond0": "bond", "bond0.7": "vlan",
        "br0": "bridge", "veth1": "veth", "wg0": "tunnel", "virt0": "nic", "dummy0": "other",
    }  # fmt: skip
    assert nic_of(facts, "bond0.7").lower == ("eth0", "eth1")
    assert nic_of(facts, "br0").lower == ("eth0", "eth1")
    assert nic_of(facts, "eth0").lower == ()
    assert nic_of(facts, "eth0").master == "bond0"


def test_a_loop_of_interfaces_ends() -> None:
    facts = joined(
        {"links": [link("a", 1, kind="vlan", link="b"), link("b", 2, kind="vlan", link="a")]}
    )
    assert [nic.lower for nic in facts.nics] == [(), ()]


def test_without_rtnetlink_sysfs_tells() -> None:
    facts = joined(
        {
            "netclass": [
                netclass.Row("lo", type=772),
                netclass.Row(
                    "eth0", 2, 1, device="0000:03:00.0", bus="pci", address="0000:03:00.0",
                    driver="e1000e", speed=1e9, mtu=1500, flags=0x1103, carrier=True,
                ),
                netclass.Row("br0", 3, 1, devtype="bridge", lower=("eth0",)),
            ]
        }
    )  # fmt: skip
    eth0 = nic_of(facts, "eth0")
    assert (eth0.kind, eth0.driver, eth0.speed, eth0.mtu) == ("nic", "e1000e", 1e9, 1500)
    assert (eth0.up, eth0.promisc, eth0.carrier) == (True, True, True)
    assert nic_of(facts, "lo").kind == "loopback"
    assert nic_of(facts, "br0").lower == ("eth0",)


def test_software_interfaces_have_no_ring() -> None:
    facts = joined({"links": [link("br0", kind="bridge")], "link_stats": [stats("br0")]})
    assert nic_of(facts, "br0").total.ring_drops is None


def test_settings_and_limits() -> None:
    facts = joined(
        {
            "topology": FOUR,
            "links": [link("eth0", parent="0000:03:00.0", mtu=9000, max_mtu=9216, xdp="driver",
                           promiscuity=1)],
            "netclass": [netclass.Row("eth0", device="0000:03:00.0", node=1, local_cpus=(2, 3, 9))],
            "rings": [rings.Row("eth0", 256, 4096, 256, 4096)],
            "channels": [channels.Row("eth0", combined=2, combined_max=8)],
            "pause": [pause.Row("eth0", True, True, False, 5, 6)],
            "eee": [eee.Row("eth0", False, True, True, 17)],
            "pci": [pci.carried(pci.Row("eth0", 8.0, 8, 16.0, 16, 1, 0))],
            "drvinfo": [drvinfo.Row("eth0", "ice", "6.1", "4.2", "0000:03:00.0")],
            "features": [features.Row("eth0", "rx-gro", True, True, False),
                         features.Row("eth0", "rx-ntuple-filter", False, False, False)],
            "addresses": [addresses.Row("eth0", "10.0.0.1", 24, 4, "global")],
            "qdiscs": [qdiscs.Row("eth0", "root", "0:", "mq", True, drops=4),
                       qdiscs.Row("eth0", ":1", "0:", "fq_codel", False, drops=4)],
            "queues": [queues.Row("eth0", "rx-0", (0,), 4096), queues.Row("eth0", "rx-1", (), 0),
                       queues.Row("eth0", "tx-0", xps_cpus=(0,)),
                       queues.Row("eth0", "tx-1", xps_cpus=(1,))],
            "rss": [rss.Row("eth0", ":".join(["6d", "5a"] * 20), (0, 1), "toeplitz", False,
                            hash_udp4="sd")],
            "sysctls": [sysctls.Row("net.ipv4.ip_forward", "1")],
        }
    )  # fmt: skip
    nic = facts.nics[0]
    assert (nic.ring.rx, nic.ring.rx_max, nic.mtu, nic.max_mtu) == (256, 4096, 9000, 9216)
    assert (nic.rx_queues, nic.tx_queues, nic.channels.combined_max) == (2, 2, 8)
    assert (nic.pause.rx, nic.pause.tx, nic.total.pause_rx) == (True, False, 5)
    assert (nic.eee.active, nic.eee.enabled, nic.eee.tx_lpi_usecs) == (False, True, 17)
    assert nic.pcie.usable == pytest.approx(63.0e9, rel=1e-3)
    assert (nic.driver, nic.driver_version, nic.firmware) == ("ice", "6.1", "4.2")
    assert (nic.node, nic.local_cpus, nic.node_cores) == (1, (2, 3), 1)
    assert (nic.qdisc, nic.leaf_qdisc, nic.total.qdisc_drops) == ("mq", "fq_codel", 4)
    assert (nic.rps, nic.rfs, nic.xps, nic.xps_one_to_one) == (True, True, True, True)
    assert (nic.rss_symmetric, nic.rx_hash_udp4, nic.ntuple_rules) == (True, "sd", 0)
    assert (nic.forwards, nic.xdp, nic.promisc) == (True, True, True)
    assert (nic.promisc_set, nic.promisc_users, nic.macvlans) == (False, 1, 0)
    assert nic.addresses == ("10.0.0.1",)
    assert [f.name for f in nic.features if f.on] == ["rx-gro"]


def test_the_ssh_session_marks_its_interface_and_port() -> None:
    tables: Tables = {
        "links": [
            link("eth0", 2, parent="p", master="bond0"),
            link("bond0", 3, kind="bond"),
            link("eth1", 4, parent="q"),
        ],
        "addresses": [addresses.Row("bond0", "10.0.0.1", 24, 4, "global")],
        "routes": [
            routes.Row("10.0.0.0/24", "bond0", 0, 254),
            routes.Row("0.0.0.0/0", "eth1", 100, 254),
            routes.Row("10.0.0.0/8", "eth1", 0, 77),  # another table
        ],
    }
    facts = joined(tables, ssh_peer="10.0.0.9")
    assert {nic.name for nic in facts.nics if nic.carries_ssh} == {"bond0", "eth0"}
    facts = joined(tables, ssh_peer="8.8.8.8")
    assert {nic.name for nic in facts.nics if nic.carries_ssh} == {"eth1"}
    assert not [nic for nic in joined(tables).nics if nic.carries_ssh]


def test_one_interface_brings_its_ports_along() -> None:
    tables: Tables = {
        "links": [link("eth0", 2, parent="p", master="bond0"), link("bond0", 3, kind="bond"),
                  link("eth1", 4, parent="q")],
        "queues": [queues.Row(n, "rx-0", ()) for n in ("eth0", "eth1")],
    }  # fmt: skip
    facts = Joiner().build(frames(tables)[0], interface="bond0")
    assert {nic.name for nic in facts.nics} == {"eth0", "bond0"}
    assert {q.nic for q in facts.queues} == {"eth0"}
    assert {p.nic for p in facts.paths} == {"eth0"}


def test_still_tables_are_joined_once() -> None:
    names = ("ports", "slots", "landing", "lines")
    joiner = Joiner()
    first, read_afresh, changed = frames(
        served({0: 1}, {}),
        served({0: 5}, {}),
        served({0: 9}, {}, rings=[rings.Row("eth0", 256, 4096)]),
    )
    kept = []
    for frame in (first, read_afresh, changed):
        joiner.build(frame)
        kept.append([joiner.memo.kept[name][1] for name in names])
    assert all(a is b for a, b in zip(kept[0], kept[1], strict=True))
    assert kept[2][0] is not kept[1][0]
    assert kept[2][0]["eth0"].nic.ring.rx == 256


def losses(
    driver: str | None, link_ring: str | None, *, kind: str = "pci", **tables: Tables
) -> Nic:
    """One interface that counted 5 of each link statistic within a second."""
    still: Tables = {"links": [link("eth0", parent="0000:03:00.0", bus=kind)]}
    if driver is not None:
        still = {**still, "drvinfo": [drvinfo.Row("eth0", driver, link_ring=link_ring)]}
    counts = {"rx_missed_errors": 5, "rx_fifo_errors": 6, "rx_over_errors": 7, "rx_dropped": 900}
    moments = [
        {**still, "link_stats": [stats("eth0")], **tables.get("first", {})},
        {**still, "link_stats": [stats("eth0", **counts)], **tables.get("then", {})},
    ]
    return nic_of(joined(*moments), "eth0")


@pytest.mark.parametrize(
    ("link_ring", "lost"),
    [(None, 6), ("rx_missed_errors", 5), ("rx_over_errors", 7), ("", None)],
)
def test_the_link_statistic_of_a_full_ring_is_the_drivers_or_none(
    link_ring: str | None, lost: float | None
) -> None:
    nic = losses("one", link_ring)
    assert (nic.per_s.ring_drops, nic.total.ring_drops) == (lost, lost)
    assert nic.link_only
    assert nic.per_s.rx_dropped == 900


def test_what_the_queues_lost_at_their_rings_is_known() -> None:
    """virtio_net since Linux 6.10: only the kernel's queue statistics have it."""
    rows = [nicqueues.Row("eth0", "rx-0", 1, 1, 0), nicqueues.Row("eth0", "rx-1", 1, 1, 0)]
    more = [nicqueues.Row("eth0", "rx-0", 2, 2, 3), nicqueues.Row("eth0", "rx-1", 2, 2, 4)]
    nic = losses("virtio_net", "", first={"nicqueues": rows}, then={"nicqueues": more})
    assert (nic.per_s.ring_drops, nic.total.ring_drops, nic.link_only) == (7, 7, False)


@pytest.mark.parametrize(
    ("carrier", "up", "down"), [(False, True, 1), (True, True, 0), (False, False, 0)]
)
def test_a_bond_knows_its_ports_without_a_link(carrier: bool, up: bool, down: int) -> None:
    facts = joined(
        {
            "links": [
                link("eth0", 2, parent="0000:03:00.0", bus="pci", master="bond0", carrier=True),
                link(
                    "eth1", 3, parent="0000:03:00.1", bus="pci", master="bond0", carrier=carrier,
                    up=up,
                ),
                link("bond0", 4, kind="bond", carrier=True),
            ]
        }
    )  # fmt: skip
    assert nic_of(facts, "bond0").ports_down == down
    assert nic_of(facts, "eth0").ports_down is None
