"""Two packages of many cores."""

from dataclasses import replace
from functools import cache

from nettop.collect.channels import Row as Channels
from nettop.collect.coalesce import Row as Coalesce
from nettop.collect.pause import Row as Pause
from nettop.collect.pci import Row as Pcie
from nettop.collect.rings import Row as Ring
from nettop.facts import Facts, Profile
from nettop.facts.kinds.flow import Flow
from nettop.facts.kinds.host import HostFact
from nettop.facts.kinds.nic import Counters, Nic
from nettop.facts.kinds.path import Path, PathStage
from nettop.facts.kinds.process import Process
from nettop.facts.kinds.queue import Queue
from nettop.facts.means import Means
from nettop.frame.rates import Frame
from nettop.views.scene import Scene

from . import limits
from .found import FEATURES, SILENT, WALL, Found, Seen, core


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
            ring=Ring("", 1024, 8192, 1024, 8192),
            coalesce=Coalesce("", True, True, 8, 128, 8, 128),
            channels=Channels("", combined=63, combined_max=63),
            pause=Pause("", False, rx=True, tx=True),
            pcie=Pcie("", 16.0, 16, 16.0, 16, 0, 0, usable=252e9),
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
            limit="path",
            queue=f"rx-{i % 63}",
        )
        for i in range(300)
    )
    path = Path(
        "ens0f0",
        "rx",
        (
            PathStage("wire", "100 Gb/s", 880e3, lost=0.0),
            PathStage("ring", "1024/8192 × 63", 880e3, lost=0.0),
            PathStage("core", "3 of 63 hot", 92.0, "% busy", lost=None),
            PathStage("backlog", "1000", 880e3, lost=0.0),
            PathStage("rcvbuf", "64 MiB", 880e3, lost=0.0),
            PathStage("thread", "dtn-mover[5126] core 126, node 0", 58e9, "bit/s", lost=None),
        ),
        0.0,
    )
    host = HostFact(
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
        limits=limits.BIG,
        means=Means(10.0),
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
