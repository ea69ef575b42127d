"""A NIC receive or transmit queue with its interrupt and where that is served."""

from __future__ import annotations

from dataclasses import dataclass

from ..frame import gauge, label


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue, named `rx-0` or `tx-0` (a combined pair is two queues that share an IRQ)."""

    nic: str = label("interface")
    name: str = label("rx-N or tx-N")
    direction: str = gauge("rx or tx")
    number: int = gauge("queue number")
    irq: int | None = gauge("interrupt number", default=None)
    irq_name: str | None = gauge("interrupt name as in /proc/interrupts", default=None)
    cpu: int | None = gauge("CPU that serves it now (effective affinity, else seen)", default=None)
    allowed: tuple[int, ...] = gauge("CPUs its interrupt may use", default=())
    effective: tuple[int, ...] = gauge("CPUs its interrupt does use", default=())
    hint: tuple[int, ...] = gauge("CPUs the driver suggests", default=())
    node: int | None = gauge("NUMA node of that CPU", default=None)
    off_node: bool | None = gauge("served off the NIC's node", default=None)
    irq_per_s: float | None = gauge("interrupts", "interrupts/s", default=None)
    packets_per_s: float | None = gauge("packets", "packets/s", default=None)
    bytes_per_s: float | None = gauge("bytes", "bytes/s", default=None)
    drops_per_s: float | None = gauge("lost in this queue's ring", "packets/s", default=None)
    share: float | None = gauge("part of the NIC's packets", "ratio", default=None)
    rps_cpus: tuple[int, ...] = gauge("RPS or XPS CPUs", default=())
    rps_flow_cnt: int | None = gauge("RFS flows of this queue", "flows", default=None)
    core_si: float | None = gauge("softirq load of its CPU", "%", default=None)
    rule_steered: bool = gauge("a flow-steering rule points at it", default=False)
