"""Interfaces, queues and interrupts joined: hand-made tables in, the vocabulary out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from nettop.collect import (
    addresses,
    channels,
    cpu,
    drvinfo,
    features,
    interrupts,
    irqs,
    link_stats,
    linkmodes,
    links,
    netclass,
    nicqueues,
    nicstats,
    ntuple,
    pause,
    pci,
    qdiscs,
    queues,
    rings,
    routes,
    rss,
    services,
    sysctls,
    topology,
)
from nettop.facts import Facts
from nettop.facts.joined import Joiner
from nettop.facts.kinds.nic import Nic
from nettop.frame.rates import Frame, entries

Tables = Mapping[str, Sequence[Any]]


def frames(*moments: Tables) -> list[Frame]:
    """Frames one second apart, rates made as the sampler does."""
    out: list[Frame] = []
    for second, tables in enumerate(moments):
        past = out[-1].tables if out else {}
        out.append(
            Frame(
                float(second),
                0.0,
                {name: entries(rows, past.get(name, ()), 1.0) for name, rows in tables.items()},
            )
        )
    return out


def joined(*moments: Tables, **options: Any) -> Facts:
    joiner = Joiner(**options)
    return [joiner.build(frame) for frame in frames(*moments)][-1]


def link(name: str, index: int = 1, **more: Any) -> links.Row:
    plain = {
        "type": 1, "kind": "", "loopback": False, "up": True, "running": True, "promisc": False,
    }  # fmt: skip
    return links.Row(interface=name, index=index, **{**plain, **more})


def stats(name: str, **counts: int) -> Any:
    every: dict[str, Any] = dict.fromkeys(
        (
            field
            for field in link_stats.Row.__dataclass_fields__
            if field not in ("interface", "index")
        ),
        0,
    )
    return link_stats.Row(name, 1, **{**every, **counts})


def line(irq: int, name: str, by_cpu: dict[int, int], chip: str = "PCI-MSI 1-edge") -> Any:
    return interrupts.Row(str(irq), name, chip, by_cpu, sum(by_cpu.values()))


def spot(number: int, node: int, core: tuple[int, ...], l3: tuple[int, ...]) -> topology.Row:
    return topology.Row(number, True, node, number, node, core, core, l3)


FOUR = [spot(0, 0, (0, 1), (0, 1)), spot(1, 0, (0, 1), (0, 1)),
        spot(2, 1, (2, 3), (2, 3)), spot(3, 1, (2, 3), (2, 3))]  # fmt: skip


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


def test_sysfs_of_another_namespace_or_of_a_while_ago_adds_no_interface() -> None:
    facts = joined(
        {
            "links": [link("lo", 1, loopback=True)],
            "netclass": [netclass.Row("lo", type=772), netclass.Row("eth0", 2, 1, driver="e1000e")],
        }
    )
    assert [nic.name for nic in facts.nics] == ["lo"]


def test_rates_loads_and_losses() -> None:
    still: Tables = {
        "links": [link("eth0", parent="0000:03:00.0", mtu=1500)],
        "netclass": [netclass.Row("eth0", device="0000:03:00.0", speed=1e9)],
    }
    full = 81_274
    facts = joined(
        {**still, "link_stats": [stats("eth0")]},
        {
            **still,
            "link_stats": [
                stats(
                    "eth0", rx_packets=full, rx_bytes=full * 1514, tx_packets=1000, tx_bytes=66_000,
                    rx_missed_errors=1204, rx_fifo_errors=1204, rx_crc_errors=3, rx_length_errors=2,
                )
            ],
        },
    )  # fmt: skip
    nic = nic_of(facts, "eth0")
    assert nic.per_s.ring_drops == 1204  # one loss in two counters is one loss
    assert (nic.per_s.phy_errors, nic.per_s.length_errors) == (3, 2)
    assert nic.rx_load == pytest.approx(1.0, abs=1e-4)
    assert nic.mean_rx_bytes == 1514
    assert nic.mean_tx_bytes == 66
    assert nic.total.rx_packets == full


def test_the_drivers_own_word_on_losses_wins() -> None:
    still = {"links": [link("eth0", parent="0000:03:00.0")]}
    facts = joined(
        {
            **still,
            "link_stats": [stats("eth0")],
            "nicstats": [nicstats.Row("eth0", "mlx5_core", 10)],
        },
        {
            **still,
            "link_stats": [stats("eth0", rx_missed_errors=7)],
            "nicstats": [nicstats.Row("eth0", "mlx5_core", 60, phy_discards=None)],
        },
    )
    assert nic_of(facts, "eth0").per_s.ring_drops == 50
    assert nic_of(facts, "eth0").per_s.phy_discards is None


def test_a_nominal_speed_is_no_speed() -> None:
    tables: Tables = {
        "links": [link("veth1", 1, kind="veth"), link("bond0", 2, kind="bond")],
        "linkmodes": [linkmodes.Row("veth1", 10e9, "full"), linkmodes.Row("bond0", 2e9, "full")],
        "link_stats": [stats("veth1"), stats("bond0")],
    }
    assert [(nic.speed, nic.rx_load) for nic in joined(tables, tables).nics] == [
        (None, None),
        (2e9, 0),
    ]


def test_software_interfaces_have_no_ring() -> None:
    facts = joined({"links": [link("br0", kind="bridge")], "link_stats": [stats("br0")]})
    assert nic_of(facts, "br0").total.ring_drops is None


def served(by_rx: dict[int, int], by_tx: dict[int, int], **more: Sequence[Any]) -> Tables:
    return {
        "cpu": [cpu.Row(n, 1.0, 0.0, 1.0, 1.0) for n in range(4)],
        "topology": FOUR,
        "links": [link("eth0", 2, parent="virtio2", bus="virtio")],
        "netclass": [netclass.Row("eth0", device="virtio2", address="0000:00:05.0", node=0,
                                  local_cpus=(0, 1))],
        "queues": [queues.Row("eth0", "rx-0", (), 0), queues.Row("eth0", "tx-0")],
        "interrupts": [
            line(1, "i8042", {0: 9}),
            line(50, "virtio2-config", {}),
            line(51, "virtio2-input.0", by_rx),
            line(52, "virtio2-output.0", by_tx),
        ],
        **more,
    }  # fmt: skip


def test_virtio_lines_serve_the_queues_of_their_interface() -> None:
    facts = joined(served({}, {}), served({2: 500}, {1: 40}))
    rx, tx = facts.queues
    assert (rx.name, rx.irq, rx.irq_name, rx.cpu, rx.irq_per_s) == (
        "rx-0", 51, "virtio2-input.0", 2, 500,
    )  # fmt: skip
    assert (tx.name, tx.irq, tx.cpu) == ("tx-0", 52, 1)
    assert (rx.node, rx.off_node) == (1, True)
    assert tx.off_node is False
    nic = facts.nics[0]
    assert (nic.irqs, nic.irq_off_node, nic.irq_cpus, nic.irq_top_cpu) == (2, 1, (2,), 2)
    assert nic.irq_top_share == 1.0
    assert nic.msi is True
    assert nic.per_s.interrupts == 540
    core = facts.cores[2]
    assert (core.nics, core.queues, core.nic_irqs) == (("eth0",), ("eth0/rx-0",), 500)
    assert facts.cores[0].nic_irqs == 0


def test_effective_affinity_tells_before_the_first_interrupt() -> None:
    place = irqs.Row("51", (0, 1, 2, 3), (3,), (), nics=("eth0",))
    facts = joined(served({}, {}, irqs=[place]))
    assert facts.queues[0].cpu == 3
    assert facts.queues[0].effective == (3,)
    assert facts.queues[1].cpu is None


def test_the_counters_beat_a_stale_affinity() -> None:
    place = [irqs.Row("51", (0,), (0,), (), nics=("eth0",))]
    facts = joined(served({}, {}, irqs=place), served({3: 10}, {}, irqs=place))
    assert facts.queues[0].cpu == 3


def test_the_last_seen_cpu_is_remembered_when_affinity_is_not_told() -> None:
    quiet = served({3: 10}, {})
    facts = joined(served({}, {}), quiet, quiet)
    assert facts.queues[0].cpu == 3
    assert facts.nics[0].irq_top_cpu == 3
    assert facts.nics[0].irq_moved is False


def test_a_moved_interrupt_is_noticed() -> None:
    facts = joined(served({}, {}), served({1: 9}, {}), served({1: 9, 2: 9}, {}))
    assert facts.nics[0].irq_moved is True


def test_interrupts_placed_by_hand() -> None:
    def judged(
        running: bool | None, allowed: tuple[int, ...], hint: tuple[int, ...]
    ) -> bool | None:
        table = [irqs.Row("51", allowed, allowed, hint, nics=("eth0",)),
                 irqs.Row("52", (0, 1, 2, 3), (0,), (), nics=("eth0",))]  # fmt: skip
        service = [services.Row("irqbalance", running)]
        return joined(served({}, {}, irqs=table, services=service)).nics[0].manual_affinity

    assert judged(False, (2,), ()) is True
    assert judged(False, (2,), (2,)) is False  # as the driver hints
    assert judged(False, (0, 1, 2, 3), ()) is False
    assert judged(True, (2,), ()) is None
    assert judged(None, (2,), ()) is None


def test_a_line_that_carries_the_bare_name_serves_everything() -> None:
    tables: Tables = {
        "links": [link("eth1", parent="0000:00:04.0")],
        "netclass": [netclass.Row("eth1", device="0000:00:04.0", address="0000:00:04.0")],
        "queues": [queues.Row("eth1", "rx-0", ()), queues.Row("eth1", "tx-0")],
        "interrupts": [line(20, "ehci_hcd:usb1, eth1", {0: 5}, "IO-APIC 20-fasteoi")],
    }
    facts = joined(tables)
    assert [q.irq for q in facts.queues] == [20, 20]
    assert facts.nics[0].msi is False


def test_the_kernels_word_on_a_queues_interrupt_beats_the_names() -> None:
    """Linux 6.8 tells which queues an interrupt serves; names are a driver's habit."""
    tables: Tables = {
        "links": [link("eth1", parent="0000:00:04.0")],
        "netclass": [netclass.Row("eth1", device="0000:00:04.0", address="0000:00:04.0")],
        "queues": [queues.Row("eth1", name, ()) for name in ("rx-0", "rx-1", "tx-0", "tx-1")],
        "irqs": [
            irqs.Row("20", nics=("eth1",), queues=("eth1/rx-1", "eth1/tx-1")),
            irqs.Row("21", nics=("eth1",), queues=("eth1/rx-0",)),
            irqs.Row("22", nics=("eth1",)),
            irqs.Row("23", queues=("eth1/tx-0",)),  # whose it is nothing else tells
        ],
        "interrupts": [
            line(20, "eth1-TxRx-0", {0: 1}), line(21, "eth1-TxRx-1", {1: 1}),
            line(22, "eth1", {}), line(23, "mystery", {2: 1}),
        ],
    }  # fmt: skip
    facts = joined(tables)
    assert {q.name: q.irq for q in facts.queues} == {"rx-0": 21, "rx-1": 20, "tx-0": 23, "tx-1": 20}
    silent = {**tables, "irqs": [irqs.Row(str(n), nics=("eth1",)) for n in (20, 21, 22)]}
    assert {q.name: q.irq for q in joined(silent).queues} == {
        "rx-0": 20, "rx-1": 21, "tx-0": 20, "tx-1": 21,
    }  # fmt: skip


def test_two_functions_of_one_name_are_told_apart_by_their_bus() -> None:
    def comp(irq: int, bus: str, count: int) -> Any:
        return line(irq, f"mlx5_comp0@pci:{bus}", {count: 3})

    one, two = "8b76:00:02.0", "83a4:00:02.0"
    tables: Tables = {
        "links": [link("ens1", 2, parent=one), link("ens2", 3, parent=two)],
        "netclass": [netclass.Row("ens1", device=one, address=one),
                     netclass.Row("ens2", device=two, address=two)],
        "interrupts": [comp(28, one, 0), comp(40, two, 1)],
    }  # fmt: skip
    facts = joined(tables)
    assert [(q.nic, q.name, q.irq) for q in facts.queues] == [
        ("ens1", "rx-0", 28), ("ens1", "tx-0", 28), ("ens2", "rx-0", 40), ("ens2", "tx-0", 40),
    ]  # fmt: skip


def test_queue_shares_and_skew() -> None:
    def at(counts: Sequence[int]) -> Tables:
        return {
            "links": [link("eth0", parent="0000:03:00.0")],
            "queues": [queues.Row("eth0", f"rx-{n}", ()) for n in range(4)],
            "link_stats": [stats("eth0", rx_packets=sum(counts))],
            "nicqueues": [
                nicqueues.Row("eth0", f"rx-{n}", c, c * 100, 0) for n, c in enumerate(counts)
            ],
        }

    facts = joined(at([0, 0, 0, 0]), at([700, 100, 100, 0]))
    nic = facts.nics[0]
    assert nic.queue_skew == pytest.approx(700 / 225)
    assert nic.queues_active == 3
    assert [q.share for q in facts.queues] == pytest.approx([7 / 9, 1 / 9, 1 / 9, 0])
    assert facts.queues[0].bytes_per_s == 70_000


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
            "pci": [pci.Row("eth0", 8.0, 8, 16.0, 16, 1, 0)],
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
    assert nic.pcie.usable == pytest.approx(63.0e9, rel=1e-3)
    assert (nic.driver, nic.driver_version, nic.firmware) == ("ice", "6.1", "4.2")
    assert (nic.node, nic.local_cpus, nic.node_cores) == (1, (2, 3), 1)
    assert (nic.qdisc, nic.leaf_qdisc, nic.total.qdisc_drops) == ("mq", "fq_codel", 4)
    assert (nic.rps, nic.rfs, nic.xps, nic.xps_one_to_one) == (True, True, True, True)
    assert (nic.rss_symmetric, nic.rx_hash_udp4, nic.ntuple_rules) == (True, "sd", 0)
    assert (nic.forwards, nic.xdp, nic.promisc) == (True, True, True)
    assert nic.addresses == ("10.0.0.1",)
    assert [f.name for f in nic.features if f.on] == ["rx-gro"]


def test_one_node_is_no_node() -> None:
    tables: Tables = {
        "topology": FOUR[:2],
        "links": [link("eth0", parent="p")],
        "netclass": [netclass.Row("eth0", device="p", node=0)],
    }
    assert joined(tables).nics[0].node is None


def test_steering_rules_mark_their_queue() -> None:
    tables: Tables = {
        "links": [link("eth0", parent="p")],
        "queues": [queues.Row("eth0", "rx-0", ()), queues.Row("eth0", "rx-3", ())],
        "ntuple": [ntuple.Row("eth0", 0, "tcp4", destination_port=5001, queue=3)],
    }
    facts = joined(tables)
    assert [q.rule_steered for q in facts.queues] == [False, True]
    assert facts.nics[0].ntuple_rules == 1


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
    assert kept[2][0]["eth0"].fixed["ring"].rx == 256


def test_a_line_that_appears_is_seen() -> None:
    more = interrupts.Row("53", "virtio2-input.1", "PCI-MSI 9-edge", {1: 4}, 4)
    later = dict(served({0: 5}, {}))
    later["interrupts"] = [*later["interrupts"], more]
    later["queues"] = [*later["queues"], queues.Row("eth0", "rx-1", (), 0)]
    facts = joined(served({0: 1}, {}), later)
    assert [(q.name, q.irq) for q in facts.queues] == [("rx-0", 51), ("tx-0", 52), ("rx-1", 53)]
