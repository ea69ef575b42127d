# ruff: noqa: E501
"""A host whose receive ring overflows."""

from dataclasses import replace
from functools import cache

from nettop.collect.channels import Row as Channels
from nettop.collect.coalesce import Row as Coalesce
from nettop.collect.pause import Row as Pause
from nettop.collect.pci import Row as Pcie
from nettop.collect.rings import Row as Ring
from nettop.facts import Facts, Profile
from nettop.facts.kinds.host import HostFact
from nettop.facts.kinds.nic import Counters, Nic
from nettop.facts.kinds.path import Path, PathStage
from nettop.facts.kinds.queue import Queue
from nettop.facts.means import Means
from nettop.frame.rates import Frame
from nettop.views.scene import Scene

from . import limits, lossy_flows
from .found import FAR, FEATURES, PAUSE, RING, SACK, SILENT, STEPS, WALL, core


@cache
def lossy(second: int = 60) -> Scene:
    """8 cores on 2 nodes; e1000e receives 612 Mb/s on node 1, loses in its ring; iperf3 is on node 0."""
    wave = (second * 37) % 11 - 5
    rx_bytes = (612.4 + wave) * 1e6 / 8
    cores = (
        core(0, 0, user=1.2, system=0.8),
        core(1, 0, user=0.4),
        replace(core(2, 0, user=4.0, system=61.0), processes=("iperf3[3391]",)),
        core(3, 0, user=0.2, system=0.3),
        core(4, 1, system=0.6),
        core(5, 1, user=12.0, system=4.1),
        replace(
            core(6, 1, softirq=78.0, system=12.0, irq=7.0),
            nics=("eth0",),
            queues=("eth0/rx-0",),
            net_rx=5210.0,
            processed=51_700.0,
            squeezed=3.0,
            nic_irqs=8120.0,
            idle_peers=2,
        ),
        replace(
            core(7, 1, softirq=14.0, system=2.0),
            nics=("eth0",),
            queues=("eth0/tx-0",),
            net_tx=410.0,
            nic_irqs=610.0,
        ),
    )
    eth0 = Nic(
        "eth0",
        "nic",
        2,
        "e1000e",
        "6.1.0",
        "0.5-4",
        "0000:00:1f.6",
        up=True,
        carrier=True,
        speed=1e9,
        duplex="full",
        mtu=1500,
        max_mtu=9216,
        txqueuelen=1000,
        node=1,
        address="52:54:00:12:34:56",
        addresses=("192.0.2.10/24", "2001:db8::10/64"),
        local_cpus=(4, 5, 6, 7),
        node_cores=4,
        rx_queues=1,
        tx_queues=1,
        irqs=3,
        irq_cpus=(6,),
        irq_top_cpu=6,
        irq_top_share=0.93,
        irq_off_node=0,
        msi=True,
        flows=3,
        mean_rx_bytes=1448.0,
        rx_load=(612.4 + wave) / 941.5,
        tx_load=0.013,
        qdisc="fq_codel",
        rps=False,
        rfs=False,
        xps=False,
        threaded=False,
        defer_hard_irqs=0,
        gro_flush_timeout=0,
        gso_max_size=65536,
        gro_max_size=65536,
        carries_ssh=True,
        ring=Ring("", 256, 4096, 256, 4096),
        coalesce=Coalesce("", rx_usecs=3),
        pause=Pause("", True, rx=False, tx=False),
        channels=Channels("", 1, 1, rx_max=1, tx_max=1),
        pcie=Pcie("", 2.5, 1, 2.5, 1, 0, 0, usable=2e9),
        features=FEATURES,
        per_s=Counters(
            rx_bytes=rx_bytes,
            tx_bytes=1.51e6,
            rx_packets=52_900.0,
            tx_packets=13_100.0,
            rx_dropped=0.0,
            tx_dropped=0.0,
            rx_missed=1204.0,
            ring_drops=1204.0,
            phy_errors=0.0,
            pause_rx=0.0,
            pause_tx=0.0,
            interrupts=8730.0,
        ),
        total=Counters(
            rx_bytes=second * 76.5e6,
            tx_bytes=second * 1.5e6,
            rx_packets=second * 52_900.0,
            tx_packets=second * 13_100.0,
            ring_drops=second * 1204.0,
            phy_errors=2.0,
            carrier_changes=3.0,
        ),
    )
    eth1 = Nic(
        "eth1",
        "nic",
        3,
        "igb",
        None,
        None,
        "0000:41:00.0",
        up=True,
        carrier=True,
        speed=1e9,
        mtu=9000,
        node=0,
        rx_queues=4,
        tx_queues=4,
        rx_load=0.0,
        tx_load=0.0,
        per_s=Counters(
            rx_bytes=820.0,
            tx_bytes=410.0,
            rx_packets=6.0,
            tx_packets=3.0,
            ring_drops=0.0,
            rx_dropped=0.0,
            tx_dropped=0.0,
        ),
        total=Counters(rx_bytes=9e6, tx_bytes=4e6, rx_packets=9e3, tx_packets=8e3),
    )
    lo = Nic("lo", "loopback", 1, mtu=65536, carrier=True, per_s=Counters(0.0, 0.0, 0.0, 0.0))
    queues = (
        Queue(
            "eth0",
            "rx-0",
            "rx",
            0,
            38,
            "eth0-rx-0",
            6,
            (4, 5, 6, 7),
            (6,),
            (),
            1,
            False,
            8120.0,
            52_900.0,
            rx_bytes,
            1204.0,
            1.0,
            (),
            0,
            78.0,
        ),
        Queue(
            "eth0",
            "tx-0",
            "tx",
            0,
            39,
            "eth0-tx-0",
            7,
            (4, 5, 6, 7),
            (7,),
            (),
            1,
            False,
            610.0,
            13_100.0,
            1.51e6,
            None,
            1.0,
            (),
            None,
            14.0,
        ),
        *(
            Queue(
                "eth1",
                f"rx-{i}",
                "rx",
                i,
                60 + i,
                f"eth1-TxRx-{i}",
                i,
                (0, 1, 2, 3),
                (i,),
                (),
                0,
                False,
                1.0,
                2.0,
                200.0,
                0.0,
                0.25,
                (),
                0,
                0.1,
            )
            for i in range(4)
        ),
    )
    path = Path(
        "eth0",
        "rx",
        (
            PathStage("wire", "1 Gb/s", 54_104.0, lost=0.0, why="rx_crc_errors"),
            PathStage("ring", "256/4096", 52_900.0, lost=1204.0, why="rx_missed_errors"),
            PathStage("core", "6, node 1", 97.0, "% busy", lost=None),
            PathStage("backlog", "1000", 52_900.0, lost=0.0, why="softnet_stat"),
            PathStage("rcvbuf", "6 MiB", 51_100.0, lost=0.0, why="TCPRcvQDrop"),
            PathStage(
                "thread", "iperf3[3391] core 2, OTHER NODE", rx_bytes * 0.96 * 8, "bit/s", lost=None
            ),
        ),
        1204.0,
        "ring",
    )
    host = HostFact(
        "vm7",
        (6, 1),
        "6.1.0-28-amd64",
        8,
        8,
        2,
        2,
        False,
        root=True,
        busiest_cpu=6,
        idle=74.6,
        tcp_retrans=3.0,
        squeezed=3.0,
        cpu_backlog_drops=0.0,
        irqbalance=False,
        forwarding=False,
        tcp_flows=2,
        bulk_flows=1,
        nettop_cpu=0.6,
        virtual="kvm",
        max_speed=1e9,
        memory=16 * 2.0**30,
    )
    facts = Facts(
        host,
        Profile("bulk-lan", "rtt 0.2 ms"),
        float(second),
        (lo, eth0, eth1),
        queues,
        cores,
        lossy_flows.flows(rx_bytes),
        lossy_flows.processes(rx_bytes),
        (),
        (path,),
        {"net.core.netdev_max_backlog": "1000"},
        {"module": "no optics on eth0"},
        limits=limits.LOSSY,
        means=Means(10.0),
    )
    return Scene(
        facts,
        Frame(
            float(second),
            WALL + second,
            {},
            {"module": "no optics on eth0"},
            {"interrupts": 0.0004},
        ),
        (RING, FAR, PAUSE, SACK),
        SILENT,
        STEPS,
        wall=WALL + second,
    )


def several() -> Scene:
    """The same host with three interfaces that carry data."""
    scene = lossy()
    assert scene.facts is not None
    _, eth0, eth1 = scene.facts.nics
    busy = tuple(
        replace(eth1, name=name, per_s=replace(eth1.per_s, rx_bytes=eth0.per_s.rx_bytes))
        for name in ("eth1", "eth2")
    )
    return replace(scene, facts=replace(scene.facts, nics=(eth0, *busy)))
