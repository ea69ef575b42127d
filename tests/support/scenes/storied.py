# ruff: noqa: E501, PLW2901
"""The lossy host after ten minutes: history, journal, results."""

from dataclasses import replace
from functools import cache

from nettop.views.past import History
from nettop.views.scene import JournalEntry, Note, Pending, RunningTest, Scene

from .found import FAR, RING, WALL
from .lossy import lossy


@cache
def storied() -> Scene:
    """The lossy host after ten minutes: history, a journal, results, a change waiting to be confirmed."""
    past = History()
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
        JournalEntry("14", WALL + 420, "ring.rx@eth0", "256", "512", "pending", RING.id, "root"),
        JournalEntry(
            "13", WALL + 300, "process.affinity@3391", "0-7", "4,5,7", "undone", FAR.id, "root"
        ),
        JournalEntry(
            "12",
            WALL + 120,
            "sysctl.net.core.rmem_max",
            "212992",
            "67108864",
            "applied",
            "",
            "root",
        ),
        JournalEntry(
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
        progress=RunningTest(
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
    return replace(lossy(), past=History(storied().past.fine[:420]))
