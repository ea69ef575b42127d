"""Writes a directory that looks like a large host: N CPUs, nodes, NICs, queues, interrupt lines.

    python tests/hosts/make_big.py FOLDER [--cpus 256] [--nodes 4] [--nics 1] [--queues 64]
                                          [--lines 1200] [--seconds 0]

The same arguments always give the same bytes. `step` writes only what a second of traffic changes:
one interrupt line in ten, and the counters of CPUs and interfaces. No rtnetlink, so collectors fall
back to sysfs and /proc.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Big:
    """The size of the host. SMT: CPU n and n + cpus/2 share a core; eight cores share an L3."""

    cpus: int = 256
    nodes: int = 4
    nics: int = 1
    queues: int = 64
    lines: int = 1200

    @property
    def half(self) -> int:
        return max(1, self.cpus // 2)

    def core(self, cpu: int) -> list[int]:
        first = cpu % self.half
        return sorted({first, min(first + self.half, self.cpus - 1)}) if self.cpus > 1 else [0]

    def node(self, cpu: int) -> int:
        return (cpu % self.half) * self.nodes // self.half

    def with_l3(self, cpu: int) -> list[int]:
        block = cpu % self.half // 8
        return [n for n in range(self.cpus) if n % self.half // 8 == block]

    def on_node(self, node: int) -> list[int]:
        return [cpu for cpu in range(self.cpus) if self.node(cpu) == node]

    def bus(self, nic: int) -> str:
        return f"0000:{nic + 1:02x}:00.0"

    def irqs(self, nic: int) -> range:
        first = 100 + nic * (self.queues + 1)
        return range(first, first + self.queues + 1)


def listed(cpus: list[int]) -> str:
    return ",".join(map(str, cpus)) + "\n"


def still(big: Big) -> Iterator[tuple[str, str]]:
    """What does not change: path and text; a text that begins with `->` is a link."""
    everyone = f"0-{big.cpus - 1}\n"
    cpu_root = "sys/devices/system/cpu"
    yield f"{cpu_root}/online", everyone
    yield f"{cpu_root}/present", everyone
    for node in range(big.nodes):
        yield f"sys/devices/system/node/node{node}/cpulist", listed(big.on_node(node))
    for cpu in range(big.cpus):
        here = f"{cpu_root}/cpu{cpu}"
        yield f"{here}/topology/thread_siblings_list", listed(big.core(cpu))
        yield f"{here}/topology/core_siblings_list", listed(big.on_node(big.node(cpu)))
        yield f"{here}/topology/physical_package_id", f"{big.node(cpu)}\n"
        yield f"{here}/topology/core_id", f"{cpu % big.half}\n"
        for index, level, shared in ((2, 2, big.core(cpu)), (3, 3, big.with_l3(cpu))):
            yield f"{here}/cache/index{index}/level", f"{level}\n"
            yield f"{here}/cache/index{index}/type", "Unified\n"
            yield f"{here}/cache/index{index}/shared_cpu_list", listed(shared)
    yield "proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"
    yield "proc/sys/kernel/hostname", "big\n"
    yield "proc/sys/net/core/netdev_max_backlog", "1000\n"
    yield "proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"
    yield "proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n"
    yield "proc/cmdline", "quiet\n"
    yield "proc/meminfo", "MemTotal:       536870912 kB\n"
    for nic in range(big.nics):
        yield from _nic(big, nic)
    for irq in (irq for nic in range(big.nics) for irq in big.irqs(nic)):
        cpu = irq % big.cpus
        yield f"proc/irq/{irq}/smp_affinity_list", f"{cpu}\n"
        yield f"proc/irq/{irq}/effective_affinity_list", f"{cpu}\n"
        yield f"proc/irq/{irq}/node", f"{big.node(cpu)}\n"


def _nic(big: Big, nic: int) -> Iterator[tuple[str, str]]:
    here, device = f"sys/class/net/eth{nic}", f"sys/devices/pci0000:00/{big.bus(nic)}"
    node = nic % big.nodes
    yield f"{here}/device", f"->../../../devices/pci0000:00/{big.bus(nic)}"
    yield f"{device}/driver", "->../../../bus/pci/drivers/ice"
    yield f"{device}/subsystem", "->../../../bus/pci"
    yield f"{device}/numa_node", f"{node}\n"
    yield f"{device}/local_cpulist", listed(big.on_node(node))
    yield f"{device}/uevent", f"DRIVER=ice\nPCI_SLOT_NAME={big.bus(nic)}\n"
    for name, text in (("type", "1"), ("mtu", "9000"), ("flags", "0x1003"), ("carrier", "1"),
                       ("speed", "100000"), ("duplex", "full"), ("operstate", "up"),
                       ("tx_queue_len", "1000"),
                       ("uevent", f"INTERFACE=eth{nic}\nIFINDEX={nic + 2}"),
                       ("threaded", "0"), ("napi_defer_hard_irqs", "0"),
                       ("gro_flush_timeout", "0")):  # fmt: skip
        yield f"{here}/{name}", f"{text}\n"
    for irq in big.irqs(nic):
        yield f"{device}/msi_irqs/{irq}", "msix\n"
    for queue in range(big.queues):
        yield f"{here}/queues/rx-{queue}/rps_cpus", "0\n"
        yield f"{here}/queues/rx-{queue}/rps_flow_cnt", "0\n"
        yield f"{here}/queues/tx-{queue}/xps_cpus", "0\n"


def moving(big: Big, second: int) -> Iterator[tuple[str, str]]:
    """What a second changes."""
    yield "proc/interrupts", interrupts(big, second)
    rows = ["cpu  0 0 0 0 0 0 0 0 0 0"]
    rows += [
        f"cpu{n} {second * (n % 7)} 0 {second * 5} {second * (90 - n % 7)} 0 0 {second * 5} 0 0 0"
        for n in range(big.cpus)
    ]
    yield "proc/stat", "\n".join([*rows, "intr 0", "ctxt 0", "btime 0", ""])
    soft = ["                    " + " ".join(f"CPU{n}" for n in range(big.cpus))]
    ticks = " ".join(str(second * (n % 50)) for n in range(big.cpus))
    soft += [f"{kind:>12}: {ticks}" for kind in ("HI", "TIMER", "NET_TX", "NET_RX", "TASKLET")]
    yield "proc/softirqs", "\n".join(soft) + "\n"
    work = [
        " ".join(
            f"{v:08x}" for v in (second * n * 100, 0, second, 0, 0, 0, 0, 0, 0, 0, 0, 0, n, 0, 0)
        )
        for n in range(big.cpus)
    ]
    yield "proc/net/softnet_stat", "\n".join(work) + "\n"
    lines = ["Inter-|   Receive  |  Transmit", " face |bytes packets|bytes packets"]
    for nic in range(big.nics):
        packets = second * 1_000_000
        lines.append(f"  eth{nic}: {packets * 9000} {packets} 0 0 0 0 0 0 "
                     f"{packets * 66} {packets} 0 0 0 0 0 0")  # fmt: skip
    yield "proc/net/dev", "\n".join(lines) + "\n"


def interrupts(big: Big, second: int) -> str:
    """/proc/interrupts; in each second one line in ten counts further."""
    out = ["            " + "       ".join(f"CPU{n:<4}" for n in range(big.cpus))]
    names = {}
    for nic in range(big.nics):
        for queue, irq in enumerate(big.irqs(nic)):
            last = queue == big.queues
            names[irq] = f"ice-{big.bus(nic)}:misc" if last else f"ice-eth{nic}-TxRx-{queue}"
    other = 10_000
    while len(names) < big.lines:
        names[other] = f"nvme{other % 64}q{other}"
        other += 1
    for place, (irq, name) in enumerate(names.items()):
        counts = ["0"] * big.cpus
        ticks = (second + 9 - place % 10) // 10 + (0 if place % 10 else 1)
        counts[irq % big.cpus] = str(1000 + ticks * 500)
        columns = " ".join(count.rjust(10) for count in counts)
        out.append(f"{irq:>6}: {columns}  PCI-MSIX-0000:00 {irq}-edge  {name}")
    return "\n".join(out) + "\n"


def write(folder: str, big: Big) -> None:
    """The whole host, at second 0."""
    for path, text in still(big):
        _put(folder, path, text)
    step(folder, big, 0)


def step(folder: str, big: Big, second: int) -> None:
    """The host at a later second."""
    for path, text in moving(big, second):
        _put(folder, path, text)


def _put(folder: str, path: str, text: str) -> None:
    whole = os.path.join(folder, path)
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    if text.startswith("->"):
        os.symlink(text[2:], whole)
        return
    with open(whole, "w", encoding="ascii") as file:
        file.write(text)


def main() -> None:
    """Write a host from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("folder")
    for name, value in (("cpus", 256), ("nodes", 4), ("nics", 1), ("queues", 64), ("lines", 1200)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--seconds", type=int, default=0)
    args = parser.parse_args()
    big = Big(args.cpus, args.nodes, args.nics, args.queues, args.lines)
    write(args.folder, big)
    if args.seconds:
        step(args.folder, big, args.seconds)


if __name__ == "__main__":
    main()
