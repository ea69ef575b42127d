"""A CPU: what it spends its time on, which queues interrupt it, which processes sit on it."""

from __future__ import annotations

from dataclasses import dataclass

from ..frame import gauge, label


@dataclass(frozen=True, slots=True)
class Core:
    """One online CPU. Shares of time are percent of the interval; None on the first frame."""

    cpu: int = label("CPU number")
    node: int | None = gauge("NUMA node", default=None)
    package: int | None = gauge("physical package", default=None)
    siblings: tuple[int, ...] = gauge("SMT siblings, itself excluded", default=())
    l2: tuple[int, ...] = gauge("CPUs that share its L2, itself included", default=())
    l3: tuple[int, ...] = gauge("CPUs that share its L3, itself included", default=())
    user: float | None = gauge("user and nice", "%", default=None)
    system: float | None = gauge("kernel", "%", default=None)
    irq: float | None = gauge("hard interrupts", "%", default=None)
    softirq: float | None = gauge("soft interrupts", "%", default=None)
    steal: float | None = gauge("taken by the hypervisor", "%", default=None)
    iowait: float | None = gauge("waiting for disks", "%", default=None)
    idle: float | None = gauge("idle", "%", default=None)
    net_rx: float | None = gauge("NET_RX softirqs", "softirqs/s", default=None)
    net_tx: float | None = gauge("NET_TX softirqs", "softirqs/s", default=None)
    processed: float | None = gauge("packets taken off a queue", "packets/s", default=None)
    backlog_drops: float | None = gauge(
        "lost because the backlog was full", "packets/s", default=None
    )
    squeezed: float | None = gauge("polls that ran out of budget or time", "polls/s", default=None)
    received_rps: float | None = gauge("packets steered here by RPS", "packets/s", default=None)
    flow_limited: float | None = gauge("dropped by the flow limit", "packets/s", default=None)
    nic_irqs: float | None = gauge("interrupts of NIC queues", "interrupts/s", default=None)
    all_irqs: float | None = gauge("interrupts of every device", "interrupts/s", default=None)
    nics: tuple[str, ...] = gauge("NICs whose queues interrupt it", default=())
    queues: tuple[str, ...] = gauge("their queues, as eth0/rx-0", default=())
    processes: tuple[str, ...] = gauge("busiest processes on it, as iperf3[3391]", default=())
    ksoftirqd: float | None = gauge("CPU of its ksoftirqd", "%", default=None)
    frequency: float | None = gauge("current clock", "Hz", default=None)
    governor: str | None = gauge("cpufreq governor", default=None)
    epp: str | None = gauge("energy preference", default=None)
    deep_idle: float | None = gauge(
        "time in C-states with exit latency above 10 us", "%", default=None
    )
    idle_peers: int | None = gauge("cores of its node more than 80 % idle", "cores", default=None)
