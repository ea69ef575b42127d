# ruff: noqa: E501, PLR0917, PLW2901
"""Synthetic scenes: hosts in telling states, for tests of panes and for screenshots."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from nettop.advice.rules.rule import Finding, Silent, Wanted
from nettop.facts import Facts, Profile
from nettop.facts.kinds.capture import Capture
from nettop.facts.kinds.core import Core
from nettop.facts.kinds.flow import Flow
from nettop.facts.kinds.host import Host
from nettop.facts.kinds.nic import Channels, Coalesce, Counters, Feature, Nic, Pause, Pcie, Ring
from nettop.facts.kinds.path import Path, Stage
from nettop.facts.kinds.process import Process
from nettop.facts.kinds.queue import Queue
from nettop.frame.rates import Frame
from nettop.views.past import Past
from nettop.views.scene import Made, Note, Pending, Progress, Scene, Step

WALL = 1_790_000_000.0


def Seen(field: str, value: object, unit: str = "") -> dict[str, object]:  # noqa: N802
    return {"field": field, "value": value, "unit": unit}


def Cited(paper: str, place: str, figure: str, because: str = "") -> dict[str, str]:  # noqa: N802
    found = {"paper": paper, "place": place, "figure": figure}
    return found | {"because": because} if because else found


def Found(  # noqa: N802
    id_: str,
    severity: str,
    title: str,
    why: str,
    held: float = 12.0,
    evidence: tuple[dict[str, object], ...] = (),
    sources: tuple[dict[str, str], ...] = (),
    competing: tuple[dict[str, str], ...] = (),
    encodes: tuple[str, ...] = (),
    wanted: tuple[Wanted, ...] = (),
    advice: tuple[str, ...] = (),
    expected: str = "",
) -> Finding:
    rule, _, target = id_.partition("@")
    return Finding(
        id_,
        rule,
        target,
        severity,
        title,
        why,
        held,
        evidence,
        sources,
        competing,
        encodes,
        wanted,
        advice,
        expected,
    )


RING = Found(
    "rx-ring-overrun@eth0",
    "critical",
    "1,204 packets/s lost in the receive ring of eth0 (256 of 4096 descriptors)",
    "The NIC writes packets into the ring faster than the softirq takes them out. A burst that does not"
    " fit is lost before Linux sees it, TCP sends it again and halves its window.\n\n"
    "A larger ring rides out longer bursts. It costs 2 KiB of memory a descriptor and, on some drivers,"
    " takes the link down for seconds.",
    31,
    (
        Seen("nic.per_s.ring_drops", 1204.0, "packets/s"),
        Seen("nic.ring.rx", 256, "descriptors"),
        Seen("nic.ring.rx_max", 4096, "descriptors"),
    ),
    (
        Cited("Boscia & Sidhu, NASA NAS", "section V", "larger rings preferred on WAN (no figure)"),
        Cited("perfSONAR", "project#1081", "+30 % with 4096 descriptors"),
    ),
    (
        Cited(
            "Boscia & Sidhu, NASA NAS",
            "Table 5",
            "16 → 21000, 8192 → 18100 Mbit/s",
            "one lossless LAN stream; here the ring overflows",
        ),
    ),
    ("p-ring-grow", "n-ring-wan"),
    (Wanted("ring.rx@eth0", "512"),),
    (),
    "drops stop; perfSONAR saw +30 % with 4096",
)
FAR = Found(
    "app-on-other-node@3391",
    "warning",
    "iperf3 runs on node 0, its interrupt on node 1: every packet crosses the socket link",
    "The softirq writes the data into node 1's cache; the process reads it from node 0 through the"
    " interconnect. Reads that miss the shared cache take about twice as long.",
    31,
    (Seen("process.cpu", 2), Seen("process.irq_cpu", 6), Seen("process.distance", "other node")),
    (Cited("Boscia & Sidhu, NASA NAS", "Table 4", "7.1 → 19 Gbit/s with both on the NIC's node"),),
    (),
    (),
    (Wanted("process.affinity@3391", "4,5,7"),),
    (),
    "up to 2.7 times the rate where one core is the limit",
)
PAUSE = Found(
    "pause-off@eth0",
    "advice",
    "Pause frames are off while the ring overflows: the switch could wait instead",
    "With flow control the NIC asks the switch to hold back for microseconds. It helps a single fast"
    " sender and hurts everybody who shares the port.",
    31,
    (Seen("nic.pause.rx", False), Seen("nic.pause.tx", False)),
    (Cited("Wu & Crawford, Fermilab", "section 4.2", "receive loss 1.3 % → 0 with pause"),),
    (),
    (),
    (Wanted("pause.tx@eth0", "on", True),),
)
SACK = Found(
    "legacy-sack@host",
    "info",
    "net.ipv4.tcp_sack = 0 in /etc/sysctl.d/90-tuning.conf slows recovery from loss",
    "Without SACK one lost segment makes the sender guess which of the later ones arrived.",
    31,
    (Seen("sysctl net.ipv4.tcp_sack", 0),),
    (Cited("ESnet fasterdata", "host tuning", "leave SACK on"),),
    (),
    (),
    (Wanted("sysctl.net.ipv4.tcp_sack", "1"),),
)
STEPS = {
    RING.id: (Step("ring.rx@eth0", "256", "512", "ethtool -G eth0 rx 512", "link"),),
    FAR.id: (Step("process.affinity@3391", "0-7", "4,5,7", "taskset -apc 4,5,7 3391", "none"),),
    PAUSE.id: (Step("pause.tx@eth0", "off", "on", "ethtool -A eth0 tx on", "link"),),
    SACK.id: (
        Step(
            "sysctl.net.ipv4.tcp_sack",
            "0",
            "1",
            "sysctl -w net.ipv4.tcp_sack=1",
            "none",
            "not root",
        ),
    ),
}
SILENT = (
    Silent("app-on-irq-core", "3391", "process.on_irq_cpu is false"),
    Silent("lro-while-forwarding", "eth0", "not nic.forwards: this host forwards nothing"),
    Silent("pcie-narrow", "eth0", "nic.pcie.width is not known: the slot does not tell"),
    Silent(
        "ring-at-maximum", "lo", "lo is of kind loopback, where this does not apply", applies=False
    ),
    Silent("time-squeeze", "host", "information only, and no packet was lost at a backlog"),
)
FEATURES = tuple(
    Feature(name, on, on, fixed)
    for name, on, fixed in (
        ("rx-checksum", True, False),
        ("tx-checksum-ip-generic", True, False),
        ("tx-scatter-gather", True, False),
        ("tx-tcp-segmentation", True, False),
        ("tx-generic-segmentation", True, False),
        ("rx-gro", True, False),
        ("rx-lro", False, True),
        ("rx-hashing", True, False),
        ("rx-ntuple-filter", False, True),
        ("rx-vlan-hw-parse", True, False),
        ("tx-vlan-hw-insert", True, False),
        ("highdma", True, True),
    )
)


def core(cpu: int, node: int | None, **shares: float) -> Core:
    used = sum(shares.values())
    return Core(
        cpu,
        node,
        package=node,
        l2=(cpu,),
        idle=max(0.0, 100.0 - used),
        user=shares.get("user", 0.0),
        system=shares.get("system", 0.0),
        irq=shares.get("irq", 0.0),
        softirq=shares.get("softirq", 0.0),
        steal=0.0,
        iowait=0.0,
        net_rx=0.0,
        net_tx=0.0,
        processed=0.0,
        backlog_drops=0.0,
        squeezed=0.0,
        received_rps=0.0,
        nic_irqs=0.0,
        all_irqs=40.0,
    )


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
        ring=Ring(256, 4096, 256, 4096),
        coalesce=Coalesce(rx_usecs=3),
        pause=Pause(True, rx=False, tx=False),
        channels=Channels(1, 1, None, 1, 1, None),
        pcie=Pcie(2.5, 1, 2.5, 1, 2e9, 0, 0),
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
    flows = (
        Flow(
            "tcp 192.0.2.10:5201-192.0.2.20:40112",
            "tcp",
            "192.0.2.10",
            5201,
            "192.0.2.20",
            40112,
            7712,
            3391,
            "iperf3",
            "eth0",
            rx_bytes * 0.96,
            0.0,
            0.00021,
            0.00018,
            0.00004,
            10,
            None,
            1448,
            direction="receive",
            bulk=True,
            queue="rx-0",
            queue_why="one queue",
            irq_cpu=6,
            app_cpu=2,
            distance="other node",
            far=True,
            limit="receiver",
            rcvbuf=6_291_456,
            recv_q=1_120_000,
            congestion="cubic",
            timestamps=True,
            sack=False,
            wscale=True,
            retransmits_per_s=0.0,
            limit_why="core 6 spends 78 % in softirq and the ring loses 1,204 packets/s",
        ),
        Flow(
            "tcp 192.0.2.10:22-198.51.100.7:51514",
            "tcp",
            "192.0.2.10",
            22,
            "198.51.100.7",
            51514,
            7713,
            911,
            "sshd",
            "eth0",
            410.0,
            2210.0,
            0.031,
            0.029,
            0.004,
            10,
            7,
            1448,
            direction="send",
            queue="rx-0",
            irq_cpu=6,
            app_cpu=0,
            distance="other node",
            far=True,
            limit="application",
            congestion="cubic",
            timestamps=True,
            sack=False,
            wscale=True,
            retransmits_per_s=0.0,
            limit_why="nothing to send",
        ),
        Flow(
            "udp 192.0.2.10:4789-203.0.113.9:4789",
            "udp",
            "192.0.2.10",
            4789,
            "203.0.113.9",
            4789,
            7714,
            1202,
            "voip",
            "eth0",
            None,
            None,
            queue="rx-0",
            irq_cpu=6,
            app_cpu=5,
            distance="same node",
            drops_per_s=0.0,
            recv_q=0,
        ),
    )
    processes = (
        Process(
            3391,
            "iperf3",
            88_123,
            4.0,
            61.0,
            2,
            0,
            tuple(range(8)),
            False,
            0,
            1,
            0.0,
            rx_bytes * 0.96,
            0.0,
            2,
            nic="eth0",
            irq_cpu=6,
            distance="other node",
            far=True,
            on_irq_cpu=False,
            nic_node=1,
            networked=True,
        ),
        Process(
            911,
            "sshd",
            1_201,
            0.2,
            0.3,
            0,
            0,
            rx_per_s=410.0,
            tx_per_s=2210.0,
            tcp=1,
            nic="eth0",
            irq_cpu=6,
            distance="other node",
            far=True,
            networked=True,
        ),
        Process(
            1202,
            "voip",
            5_001,
            11.0,
            3.9,
            5,
            1,
            udp=2,
            nic="eth0",
            irq_cpu=6,
            distance="same node",
            far=False,
            networked=True,
        ),
    )
    path = Path(
        "eth0",
        "rx",
        (
            Stage("wire", "1 Gb/s", 54_104.0, lost=0.0, why="rx_crc_errors"),
            Stage("ring", "256/4096", 52_900.0, lost=1204.0, why="rx_missed_errors"),
            Stage("core", "6, node 1", 97.0, "% busy", lost=None),
            Stage("backlog", "1000", 52_900.0, lost=0.0, why="softnet_stat"),
            Stage("socket", "6 MiB", 51_100.0, lost=0.0, why="TCPRcvQDrop"),
            Stage("iperf3[3391]", "core 2, OTHER NODE", rx_bytes * 0.96 * 8, "bit/s", lost=None),
        ),
        1204.0,
        "ring",
    )
    host = Host(
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
        backlog_dropped=0.0,
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
        flows,
        processes,
        (),
        (path,),
        {"net.core.netdev_max_backlog": "1000"},
        {"module": "no optics on eth0"},
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
        version="0.1.0",
    )


@cache
def storied() -> Scene:
    """The lossy host after ten minutes: history, a journal, results, a change waiting to be confirmed."""
    past = Past()
    scene = lossy()
    for second in range(600):
        moment = lossy(second).facts
        assert moment is not None
        if second >= 420:
            ports = []
            for nic in moment.nics:
                if nic.name == "eth0":
                    fast = replace(nic.per_s, rx_bytes=114e6 + second % 7 * 4e5, ring_drops=0.0)
                    gone = second - 420
                    total = replace(
                        nic.total, rx_bytes=420 * 76.5e6 + gone * 115.2e6, ring_drops=420 * 1204.0
                    )
                    nic = replace(nic, per_s=fast, total=total)
                ports.append(nic)
            moment = replace(moment, nics=tuple(ports))
        swing = abs(second % 46 - 23) / 23  # a flow breathes
        flows = (
            replace(
                moment.flows[0],
                rx_per_s=(0.84 + 0.16 * swing) * (moment.flows[0].rx_per_s or 0.0),
                rtt=0.00021 + 0.00009 * (1 - swing) + second % 5 * 4e-6,
                cwnd=10 + round(34 * swing),
                retransmits_per_s=float(second % 46 == 23) * 3,
            ),
            *moment.flows[1:],
        )
        moment = replace(moment, flows=flows)
        past = past.add(moment, WALL + second)
    journal = (
        Made("14", WALL + 420, "ring.rx@eth0", "256", "512", "pending", RING.id, "root"),
        Made("13", WALL + 300, "process.affinity@3391", "0-7", "4,5,7", "undone", FAR.id, "root"),
        Made(
            "12",
            WALL + 120,
            "sysctl.net.core.rmem_max",
            "212992",
            "67108864",
            "applied",
            "",
            "root",
        ),
        Made(
            "11",
            WALL + 60,
            "coalesce.rx-usecs@eth0",
            "3",
            "50",
            "rounded",
            "",
            "root",
            "the driver took 48",
        ),
    )
    from stories import BEFORE, LATENCY, PAPERS, PROOF, STUDY

    results = (PROOF, BEFORE, LATENCY, STUDY)
    return replace(
        scene,
        past=past,
        journal=journal,
        results=results,
        studies=PAPERS,
        wall=WALL + 600,
        pending=(Pending("14", "ring.rx@eth0", WALL + 622),),
        notes=(
            Note("ring.rx@eth0: 256 → 512, read back after the link came up", "good", WALL + 598),
        ),
        progress=Progress(
            "iperf3 to 192.0.2.20, 4 streams",
            6.0,
            10.0,
            (688e6, 701e6, 699e6, 695e6, 702e6, 690e6),
            1102.0,
            {2: 65.0, 6: 97.0, 7: 16.0},
            {0: 22.0, 1: 41.0},
            "running",
        ),
    )


@cache
def lately() -> Scene:
    """The lossy host with the seven minutes before."""
    return replace(lossy(), past=Past(storied().past.fine[:420]))


@cache
def big(cpus: int = 256) -> Scene:
    """Two packages of many cores, eight L3 each, two 100G NICs of 63 queues; four cores are hot."""
    half = cpus // 2
    cores = []
    for cpu in range(cpus):
        node = cpu // half
        one = core(cpu, node, user=(cpu * 7 % 13) / 4, system=(cpu * 5 % 7) / 4)
        if cpu % half < min(63, half):
            one = replace(
                one,
                queues=(f"ens{node}f0/rx-{cpu % half}",),
                nics=(f"ens{node}f0",),
                nic_irqs=900.0,
                softirq=6.0 + cpu % 9,
                idle=(one.idle or 0.0) - 6.0 - cpu % 9,
            )
        if cpu % half in (3, 17):
            one = replace(one, softirq=91.0, idle=1.0, system=6.0, user=2.0)
        if cpu % half == half - 2:
            one = replace(one, user=88.0, idle=4.0, processes=(f"dtn-mover[{5000 + cpu}]",))
        block = cpu // 16 * 16
        cores.append(replace(one, l3=tuple(range(block, block + 16))))
    nics = tuple(
        Nic(
            f"ens{i}f0",
            "nic",
            2 + i,
            "mlx5_core",
            None,
            "16.35.2000",
            f"0000:{i * 8}1:00.0",
            up=True,
            carrier=True,
            speed=100e9,
            mtu=9000,
            node=i,
            rx_queues=63,
            tx_queues=63,
            irqs=64,
            rx_load=0.61 - i * 0.5,
            tx_load=0.32 + i * 0.2,
            ring=Ring(1024, 8192, 1024, 8192),
            coalesce=Coalesce(True, True, 8, 128, 8, 128),
            channels=Channels(None, None, 63, None, None, 63),
            pause=Pause(False, rx=True, tx=True),
            pcie=Pcie(16.0, 16, 16.0, 16, 252e9, 0, 0),
            features=FEATURES,
            per_s=Counters(
                7.6e9 - i * 6e9,
                4e9 + i * 2e9,
                880e3,
                520e3,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
                pause_rx=0.0,
                pause_tx=0.0,
                interrupts=56_000.0,
            ),
            total=Counters(rx_bytes=8e15, tx_bytes=3e15, rx_packets=1e12, tx_packets=5e11),
        )
        for i in (0, 1)
    )
    queues = tuple(
        Queue(
            f"ens{i}f0",
            f"rx-{n}",
            "rx",
            n,
            200 + 64 * i + n,
            f"mlx5_comp{n}@pci:0000:{i * 8}1:00.0",
            n % half + i * half,
            tuple(range(i * half, i * half + half)),
            (n % half + i * half,),
            (),
            i,
            False,
            900.0,
            14_000.0,
            1e8,
            0.0,
            1 / 63,
        )
        for i in (0, 1)
        for n in range(63)
    )
    flows = tuple(
        Flow(
            f"tcp 192.0.2.1:{2000 + i}-198.51.100.{i % 200}:443",
            "tcp",
            "192.0.2.1",
            2000 + i,
            f"198.51.100.{i % 200}",
            443,
            i,
            5000,
            "dtn-mover",
            "ens0f0",
            1e9 / (i + 1),
            5e8 / (i + 1),
            0.041,
            0.040,
            0.0001,
            900 - i,
            None,
            8948,
            bulk=i < 40,
            retransmits_per_s=float(i % 3),
            irq_cpu=i % half,
            app_cpu=half - 2,
            distance="same node",
            far=False,
            limit="network",
            queue=f"rx-{i % 63}",
        )
        for i in range(300)
    )
    path = Path(
        "ens0f0",
        "rx",
        (
            Stage("wire", "100 Gb/s", 880e3, lost=0.0),
            Stage("ring", "1024/8192 × 63", 880e3, lost=0.0),
            Stage("cores", "3 of 63 hot", 92.0, "% busy", lost=None),
            Stage("backlog", "1000", 880e3, lost=0.0),
            Stage("socket", "64 MiB", 880e3, lost=0.0),
            Stage("dtn-mover[5126]", "core 126, node 0", 58e9, "bit/s", lost=None),
        ),
        0.0,
    )
    host = Host(
        "dtn1",
        (6, 8),
        "6.8.0",
        cpus,
        cpus // 2,
        2,
        2,
        True,
        idle=88.0,
        nettop_cpu=1.4,
        tcp_flows=300,
    )
    facts = Facts(
        host,
        Profile("bulk-wan", "41 ms to the peers of 40 flows"),
        60.0,
        nics,
        queues,
        tuple(cores),
        flows,
        (
            Process(
                5126,
                "dtn-mover",
                1,
                88.0,
                6.0,
                half - 2,
                0,
                rx_per_s=7.2e9,
                tx_per_s=4e9,
                tcp=300,
                nic="ens0f0",
                irq_cpu=3,
                distance="same node",
                far=False,
                networked=True,
            ),
        ),
        (),
        (path,),
    )
    hot = Found(
        "hot-softirq-core@3",
        "warning",
        "Core 3 is 91 % softirq while 60 cores of its node idle",
        "All packets of some queues land on one core.",
        20,
        (Seen("core.softirq", 91.0, "%"),),
    )
    return Scene(facts, Frame(60.0, WALL, {}), (hot,), SILENT, {}, wall=WALL)


@cache
def healthy() -> Scene:
    """Two cores, a virtio NIC, nothing wrong."""
    cores = (
        replace(
            core(0, None, user=1.0, system=0.7), queues=("eth0/rx-0", "eth0/tx-0"), nics=("eth0",)
        ),
        core(1, None, user=0.6),
    )
    nic = Nic(
        "eth0",
        "nic",
        2,
        "virtio_net",
        "1.0.0",
        None,
        "0000:00:03.0",
        para=True,
        up=True,
        carrier=True,
        mtu=1500,
        txqueuelen=1000,
        rx_queues=1,
        tx_queues=1,
        addresses=("203.0.113.5/24",),
        ring=Ring(256, 256, 256, 256),
        channels=Channels(None, None, 1, None, None, 1),
        features=FEATURES,
        per_s=Counters(1210.0, 3400.0, 9.0, 11.0, 0.0, 0.0),
        total=Counters(4e9, 1e9, 6e6, 3e6, 0.0, 0.0),
    )
    queue = Queue(
        "eth0",
        "rx-0",
        "rx",
        0,
        25,
        "virtio0-input.0",
        0,
        (0, 1),
        (0,),
        irq_per_s=9.0,
        packets_per_s=9.0,
        share=1.0,
    )
    path = Path(
        "eth0",
        "rx",
        (
            Stage("wire", "virtio", 9.0, lost=None, why="the hypervisor does not tell"),
            Stage("ring", "256/256", 9.0, lost=0.0),
            Stage("core", "0", 2.0, "% busy"),
            Stage("backlog", "1000", 9.0, lost=0.0),
            Stage("socket", "128 KiB", 9.0, lost=0.0),
        ),
        0.0,
    )
    host = Host(
        "web", (6, 12), "6.12.0", 2, 2, 1, 1, root=False, idle=98.0, nettop_cpu=0.5, virtual="kvm"
    )
    facts = Facts(
        host, Profile("server", "no bulk flow seen"), 60.0, (nic,), (queue,), cores, paths=(path,)
    )
    return Scene(facts, Frame(60.0, WALL, {}), (), SILENT, {}, wall=WALL)


@cache
def bare() -> Scene:
    """A container that may read almost nothing."""
    facts = Facts(
        Host("box", container=True, root=False),
        Profile("server", "nothing else seen"),
        1.0,
        (Nic("lo", "loopback", 1), Nic("eth0", "veth", 7, "veth", carrier=True, up=True)),
        missing={
            "cpu": "No such file or directory: /proc/stat",
            "links": "Operation not permitted",
        },
    )
    return Scene(facts, Frame(1.0, WALL, {}, dict(facts.missing)), (), (), {}, wall=WALL)


@cache
def hostile() -> Scene:
    """Names that try to break the screen: escapes, wide, combining, bidirectional, endless."""
    scene = lossy()
    facts = scene.facts
    assert facts is not None
    evil = "\x1b[2J\x1b]0;pwned\x07\u202egnp.exe\u0301\u0301漢字" + "x" * 300
    nics = tuple(replace(n, driver=evil) for n in facts.nics)
    processes = tuple(replace(p, name=evil) for p in facts.processes)
    flows = tuple(replace(f, process=evil) for f in facts.flows)
    cores = tuple(replace(c, processes=(evil,), queues=(evil,)) for c in facts.cores)
    captured = (Capture(1, "eth0", 9, evil, "raw", 3, 1 << 20),)
    facts = replace(
        facts,
        nics=nics,
        processes=processes,
        flows=flows,
        cores=cores,
        captures=captured,
        host=replace(facts.host, name=evil),
    )
    return replace(scene, facts=facts, notes=(Note(evil),), origin=evil)


SCENES = {
    "lossy": lossy,
    "storied": storied,
    "big": big,
    "healthy": healthy,
    "bare": bare,
    "hostile": hostile,
}
