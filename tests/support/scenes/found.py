# ruff: noqa: E501, PLR0917
"""Findings, their steps, rules that are silent: the advice of a lossy host."""

from __future__ import annotations

from nettop.advice.language.values import Value
from nettop.advice.rules.rule import Evidence, Finding, Silent, Wanted
from nettop.facts.kinds.core import Core
from nettop.facts.kinds.nic import Feature
from nettop.views.scene import Step

WALL = 1_790_000_000.0


def Seen(field: str, value: Value | None, unit: str = "") -> Evidence:  # noqa: N802
    return Evidence(field=field, value=value, unit=unit)


def Cited(paper: str, place: str, figure: str, because: str = "") -> dict[str, str]:  # noqa: N802
    found = {"paper": paper, "place": place, "figure": figure}
    return found | {"because": because} if because else found


def Found(  # noqa: N802
    id_: str,
    severity: str,
    title: str,
    why: str,
    held: float = 12.0,
    evidence: tuple[Evidence, ...] = (),
    sources: tuple[dict[str, str], ...] = (),
    competing: tuple[dict[str, str], ...] = (),
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
    Silent("pcie-narrow", "eth0", "not evaluated: PCIe lanes in use unknown (not reported)"),
    Silent("ring-at-maximum", "lo", "does not apply to interfaces of kind loopback", applies=False),
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
