"""A process (or one of its threads) that matters to the network, and where it runs."""

from __future__ import annotations

from dataclasses import dataclass

from ..frame import gauge, label


@dataclass(frozen=True, slots=True)
class Process:
    """One process; `cpu` is the CPU its busiest thread last ran on."""

    pid: int = label("process")
    name: str = gauge("command name")
    started: int = gauge(
        "start time in clock ticks after boot: tells a reused pid apart", default=0
    )
    user: float | None = gauge("user time", "%", default=None)
    system: float | None = gauge("kernel time", "%", default=None)
    cpu: int | None = gauge("CPU it last ran on", default=None)
    node: int | None = gauge("NUMA node of that CPU", default=None)
    allowed: tuple[int, ...] = gauge("CPUs it may use", default=())
    pinned: bool | None = gauge("may use only some CPUs", default=None)
    nice: int | None = gauge("nice value", default=None)
    threads: int | None = gauge("threads", "threads", default=None)
    wait: float | None = gauge("runnable but waiting for a CPU", "%", default=None)
    rx_per_s: float | None = gauge("TCP bytes received by its sockets", "bytes/s", default=None)
    tx_per_s: float | None = gauge("TCP bytes acknowledged of its sockets", "bytes/s", default=None)
    tcp: int = gauge("established TCP sockets", "sockets", default=0)
    udp: int = gauge("UDP sockets", "sockets", default=0)
    udp_drops: float | None = gauge("datagrams dropped at its sockets", "packets/s", default=None)
    packet_sockets: int = gauge("packet sockets (capture)", "sockets", default=0)
    nic: str | None = gauge("interface of most of its traffic", default=None)
    irq_cpu: int | None = gauge("CPU that takes the interrupts of its traffic", default=None)
    distance: str | None = gauge(
        "from that CPU: same core, SMT sibling, shared L2, shared L3, same node, other node",
        default=None,
    )
    far: bool | None = gauge("on another node than its traffic's interrupts", default=None)
    on_irq_cpu: bool | None = gauge("on the CPU that takes its traffic's interrupts", default=None)
    nic_node: int | None = gauge("NUMA node of that interface", default=None)
    networked: bool = gauge("moves packets (sockets with traffic, capture)", default=False)
