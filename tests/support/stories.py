"""Results, published tables and the cured state of the lossy host."""

from dataclasses import replace
from functools import cache

from scenes import RING, WALL, limits, lossy, lossy_flows

from nettop.facts import Facts
from nettop.views.scene import Paper, StoredResult

RATE = 938.4e6 / 8  # bytes/s received without drops


@cache
def cured() -> Facts:
    """The same host with 512 descriptors: no drops, and the link is full."""
    facts = lossy().facts
    assert facts is not None
    nics = []
    for nic in facts.nics:
        now = nic
        if nic.name == "eth0":
            assert nic.ring is not None
            after = replace(nic.per_s, rx_bytes=RATE, rx_packets=81_000.0, ring_drops=0.0)
            after = replace(after, rx_missed=0.0)
            now = replace(nic, per_s=after, ring=replace(nic.ring, rx=512), rx_load=938.4 / 941.5)
        nics.append(now)
    (path,) = facts.paths
    stages = []
    for stage in path.stages:
        lost = None if stage.lost is None else 0.0
        rate = 81_000.0 if stage.unit == "packets/s" else stage.rate
        text = "512/4096" if stage.name == "ring" else stage.detail
        if stage.unit == "bit/s":
            rate = RATE * 8
        stages.append(replace(stage, rate=rate, lost=lost, detail=text))
    busy = tuple(replace(p, rx_per_s=RATE) if p.name == "iperf3" else p for p in facts.processes)
    flows = lossy_flows.flows(RATE)
    return replace(
        facts, nics=tuple(nics), processes=busy, limits=limits.CURED,
        flows=(replace(flows[0], limit="wire"), *flows[1:]),
        paths=(replace(path, stages=tuple(stages), lost=0.0, worst=None),),
    )  # fmt: skip


PROOF = StoredResult(
    "20260921-142017-prove", WALL + 500, "prove", RING.id, None,
    (("median", "+34.8%"), ("94%", "+31.0% … +38.2%"), ("pairs", "5"), ("", "kept"),
     ("✓ retransmits", "0.412% → 0.001%")),
    verdict="better", unit="bit/s",
    before=(695.9e6, 702.3e6, 689.2e6, 699.8e6, 691.4e6),
    after=(938.1e6, 938.4e6, 938.0e6, 938.3e6, 938.2e6),
    interval=(0.310, 0.382), middle=0.348, higher=True,
    settings={"ring.rx@eth0": "512", "pause.rx@eth0": "off"},
)  # fmt: skip
BEFORE = StoredResult(
    "20260921-141408-test", WALL + 200, "iperf3", "to 192.0.2.20, 10 s, 4 streams", 695.9e6,
    (("retransmits", "1,882"),), tuple(690e6 + i % 4 * 4e6 for i in range(10)),
    settings={"ring.rx@eth0": "256", "pause.rx@eth0": "off"},
)  # fmt: skip
LATENCY = StoredResult(
    "20260921-141218-test", WALL + 90, "udp-latency", "to 192.0.2.20, 10 s, 1 streams", None,
    (("p50", "42.0 us"), ("p99", "61.0 us"), ("max", "310.0 us")),
)  # fmt: skip
STUDY = StoredResult(
    "20260921-140101-study", WALL + 20, "study",
    "nasa-4: Performance implications of CPU affinity (IRQs on CPU 0)",
    figures=(("", "3 of 4 points measured"),), unit="Mbit/s", study="nasa-4",
    rows=(
        ("CPU 0 / CPU 0", "18,500 – 19,500", "611.3", "0.03", ""),
        ("CPU 2 / CPU 2", "11,600 – 17,400", "938.2", "0.06", ""),
        ("CPU 6 / CPU 6", "11,700 – 13,200", "902.5", "0.07", ""),
        ("CPU 8 / CPU 8", "7,100 – 7,400", "–", "", "there is no CPU 8 here"),
    ),
)  # fmt: skip
PAPERS = (
    Paper(
        "nasa-4", "Performance implications of CPU affinity (IRQs on CPU 0)",
        "Boscia & Sidhu, NASA NAS", "V Table 4", "bulk", "Mbit/s",
        tuple((name, published, skip) for name, published, _, _, skip in STUDY.rows),
        ("The paper had the NIC's interrupts on CPU 0 at both ends.",),
    ),
    Paper(
        "nasa-5", "Receive ring buffer size", "Boscia & Sidhu, NASA NAS", "V Table 5", "bulk",
        "Mbit/s", (("16", "21,000", ""), ("8192", "18,100", "")),
    ),
    Paper(
        "manchester-8", "Throughput against message size", "Hughes-Jones et al.", "figure 8",
        "udp-sweep", "Mbit/s", (("1472 bytes", "996", ""),),
    ),
)  # fmt: skip


FORM = {"tool": "bulk", "to": "192.0.2.20", "peer": "ssh vm8", "streams": "4"}
