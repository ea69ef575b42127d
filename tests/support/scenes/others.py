"""Healthy, almost unreadable and hostile hosts."""

from dataclasses import replace
from functools import cache

from nettop.collect.channels import Row as Channels
from nettop.collect.rings import Row as Ring
from nettop.facts import Facts, Profile
from nettop.facts.kinds.capture import Capture
from nettop.facts.kinds.host import HostFact
from nettop.facts.kinds.nic import Counters, Nic
from nettop.facts.kinds.path import Path, PathStage
from nettop.facts.kinds.queue import Queue
from nettop.facts.means import Means
from nettop.frame.rates import Frame
from nettop.views.scene import Note, Scene, SceneOrigin

from . import limits
from .found import FEATURES, SILENT, WALL, core
from .lossy import lossy


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
        ring=Ring("", 256, 256, 256, 256),
        channels=Channels("", combined=1, combined_max=1),
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
            PathStage("wire", "virtio", 9.0, lost=None, why="the hypervisor does not tell"),
            PathStage("ring", "256/256", 9.0, lost=0.0),
            PathStage("core", "0", 2.0, "% busy"),
            PathStage("backlog", "1000", 9.0, lost=0.0),
            PathStage("rcvbuf", "128 KiB", 9.0, lost=0.0),
        ),
        0.0,
    )
    host = HostFact(
        "web", (6, 12), "6.12.0", 2, 2, 1, 1, root=False, idle=98.0, nettop_cpu=0.5, virtual="kvm"
    )
    facts = Facts(
        host, Profile("server", "no bulk flow seen"), 60.0, (nic,), (queue,), cores,
        paths=(path,), limits=limits.HEALTHY, means=Means(10.0),
    )  # fmt: skip
    return Scene(facts, Frame(60.0, WALL, {}), (), SILENT, {}, wall=WALL)


@cache
def bare() -> Scene:
    """A container that may read almost nothing."""
    facts = Facts(
        HostFact("box", container=True, root=False),
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
    return replace(scene, facts=facts, notes=(Note(evil),), origin=SceneOrigin("recording", evil))
