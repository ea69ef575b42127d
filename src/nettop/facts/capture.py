"""A packet socket: who captures where, with what ring, losing how much."""

from __future__ import annotations

from dataclasses import dataclass

from ..frame import gauge, label


@dataclass(frozen=True, slots=True)
class Capture:
    """One AF_PACKET socket with its owner."""

    inode: int = label("socket inode")
    nic: str | None = gauge("interface; None: all", default=None)
    pid: int | None = gauge("owner", default=None)
    process: str | None = gauge("owner's name", default=None)
    type: str | None = gauge("raw or dgram", default=None)
    ring_version: int | None = gauge("TPACKET version; None: no ring", default=None)
    ring_bytes: int | None = gauge("receive ring", "bytes", default=None)
    ring_seconds: float | None = gauge(
        "traffic the ring holds at the present rate", "s", default=None
    )
    rcvbuf: int | None = gauge("receive buffer", "bytes", default=None)
    queued: int | None = gauge("bytes waiting", "bytes", default=None)
    drops_per_s: float | None = gauge("packets the socket lost", "packets/s", default=None)
    fanout: int | None = gauge("fanout group; None: not in one", default=None)
    fanout_size: int | None = gauge("sockets in its group", "sockets", default=None)
    cpu: int | None = gauge("CPU its owner runs on", default=None)
    node: int | None = gauge("NUMA node of that CPU", default=None)
    on_irq_cpu: bool | None = gauge("that CPU takes the NIC's interrupts", default=None)
    on_irq_sibling: bool | None = gauge(
        "that CPU is an SMT sibling of the interrupt's", default=None
    )
    off_node: bool | None = gauge("not on the NIC's node", default=None)
    core_load: float | None = gauge("load of that CPU", "%", default=None)
    nice: int | None = gauge("nice value of the owner", default=None)
