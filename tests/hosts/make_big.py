"""Writes a directory that looks like a large host: N CPUs, nodes, NICs, queues, interrupt lines.

    python tests/hosts/make_big.py FOLDER [--cpus 256] [--nodes 4] [--nics 1] [--queues 64]
                                          [--lines 1200] [--driver ice] [--seconds 0]

The same arguments always give the same bytes. `step` writes only what a second of traffic changes:
one interrupt line in ten, and the counters of CPUs and interfaces. No rtnetlink, so collectors fall
back to sysfs and /proc. Lines, chips and names have the shapes drivers and architectures give them.
"""

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Card:
    """How a driver names its interrupts, where its device hangs, and how fast it is."""

    before: tuple[str, ...]  # lines before those of the queues; {nic} {bus} {virtio} {n}
    queue: tuple[str, ...]  # the lines of one queue
    after: tuple[str, ...] = ()
    speed: int | None = None  # Mbit/s; None: the driver does not tell
    mtu: int = 1500
    bus: str = "pci"
    packets: int = 400_000  # a second, each way received and a tenth of them sent


CARDS = {
    "ice": Card((), ("ice-{nic}-TxRx-{n}",), ("ice-{bus}:misc",), 100_000, 9000, packets=1_000_000),
    "i40e": Card(("i40e-{bus}:misc",), ("i40e-{nic}-TxRx-{n}",), (), 40_000, 9000),
    "mlx5_core": Card(
        ("mlx5_async0@pci:{bus}",), ("mlx5_comp{n}@pci:{bus}",), (), 200_000, 9000,
        packets=1_500_000,
    ),
    "ena": Card(("ena-mgmnt@pci:{bus}",), ("{nic}-Tx-Rx-{n}",), mtu=9001, packets=120_000),
    "virtio_net": Card(
        ("{virtio}-config",), ("{virtio}-input.{n}", "{virtio}-output.{n}"), ("{virtio}-control",),
        bus="virtio",
    ),
    "hv_netvsc": Card((), (), (), 50_000, bus="vmbus"),
    "mlx5_s390": Card(
        ("mlx5_async@pci:{bus}",), ("mlx5_comp{n}@pci:{bus}",), (), 25_000, packets=150_000
    ),
}  # fmt: skip
CHIPS = {
    "x86": "PCI-MSI {pin}-edge",
    "x86-6.5": "PCI-MSIX-0000:00:00.0 {irq}-edge",
    "arm": "ITS-MSI {pin} Edge",
    "s390": "PCI-MSI  {irq}-edge",
}
LETTERS = {  # what stands below the devices' lines: label, meaning
    "x86": (("NMI", "Non-maskable interrupts"), ("LOC", "Local timer interrupts"),
            ("RES", "Rescheduling interrupts"), ("CAL", "Function call interrupts"),
            ("HYP", "Hypervisor callback interrupts")),
    "arm": (("IPI0", "Rescheduling interrupts"), ("IPI1", "Function call interrupts"),
            ("IPI2", "CPU stop interrupts"), ("IPI5", "IRQ work interrupts")),
    "s390": (("CLK", "[EXT] Clock Comparator"), ("EXC", "[EXT] External Call"),
             ("EMS", "[EXT] Emergency Signal"), ("TMR", "[EXT] CPU Timer"),
             ("QAI", "[AIO] QDIO Adapter Interrupt"), ("PCI", "[AIO] PCI Interrupt"),
             ("NMI", "[NMI] Machine Check"), ("RST", "[CPU] CPU Restart")),
}  # fmt: skip


@dataclass(frozen=True)
class Big:
    """The size of the host. SMT: CPU n and n + cpus/2 share a core; eight cores share an L3.

    Interrupts of a NIC go to the cores of its node, unless `spread`: then to any. Every
    `offline`-th CPU is off, so that numbers have holes.
    """

    cpus: int = 256
    nodes: int = 4
    nics: int = 1
    queues: int = 64
    lines: int = 1200
    driver: str = "ice"
    arch: str = "x86"
    smt: bool = True
    spread: bool = False
    offline: int = 0
    release: str = "6.1.0-18-amd64"
    product: str = ""
    vendor: str = ""

    @property
    def half(self) -> int:
        return max(1, self.cpus // 2) if self.smt else self.cpus

    @cached_property
    def online(self) -> list[int]:
        off = self.offline
        return [cpu for cpu in range(self.cpus) if not off or cpu % off != off - 1]

    @property
    def card(self) -> Card:
        return CARDS[self.driver]

    def core(self, cpu: int) -> list[int]:
        first = cpu % self.half
        return [n for n in self.online if n % self.half == first]

    def node(self, cpu: int) -> int:
        return (cpu % self.half) * self.nodes // self.half

    def with_l3(self, cpu: int) -> list[int]:
        block = cpu % self.half // 8
        return [n for n in self.online if n % self.half // 8 == block]

    def on_node(self, node: int) -> list[int]:
        return [cpu for cpu in self.online if self.node(cpu) == node]

    def name(self, nic: int) -> str:
        return f"eth{nic}"

    def device(self, nic: int) -> str:
        """The device's name on its bus."""
        return {
            "virtio": f"virtio{nic + 1}",
            "vmbus": f"00000000-0000-4000-8000-{nic:012x}",
        }.get(self.card.bus, self.bus(nic))

    def bus(self, nic: int) -> str:
        return f"0000:{nic + 1:02x}:00.0"

    def actions(self, nic: int) -> list[str]:
        """The names of a NIC's interrupts, in the order of their numbers."""
        card = self.card
        names = [
            *card.before,
            *(one.replace("{n}", str(n)) for n in range(self.queues) for one in card.queue),
            *card.after,
        ]
        words = {"nic": self.name(nic), "bus": self.bus(nic), "virtio": self.device(nic)}
        return [name.format(**words) for name in names]

    def irqs(self, nic: int) -> range:
        count = len(self.actions(0))
        first = 100 + nic * count
        return range(first, first + count)

    def home(self, nic: int, irq: int) -> int:
        """The CPU that takes an interrupt of a NIC: physical cores of its node, one by one."""
        if self.spread:
            return self.online[irq % len(self.online)]
        here = self.on_node(nic % self.nodes)
        place = irq - self.irqs(nic).start - len(self.card.before)
        return here[place // max(1, len(self.card.queue)) % len(here)]


def listed(cpus: list[int]) -> str:
    return ",".join(map(str, cpus)) + "\n"


def still(big: Big) -> Iterator[tuple[str, str]]:
    """What does not change: path and text; a text that begins with `->` is a link."""
    cpu_root = "sys/devices/system/cpu"
    yield f"{cpu_root}/online", listed(big.online)
    yield f"{cpu_root}/present", f"0-{big.cpus - 1}\n"
    for node in range(big.nodes):
        yield f"sys/devices/system/node/node{node}/cpulist", listed(big.on_node(node))
    for cpu in big.online:
        here = f"{cpu_root}/cpu{cpu}"
        yield f"{here}/topology/thread_siblings_list", listed(big.core(cpu))
        yield f"{here}/topology/core_siblings_list", listed(big.on_node(big.node(cpu)))
        yield f"{here}/topology/physical_package_id", f"{big.node(cpu)}\n"
        yield f"{here}/topology/core_id", f"{cpu % big.half}\n"
        for index, level, shared in ((2, 2, big.core(cpu)), (3, 3, big.with_l3(cpu))):
            yield f"{here}/cache/index{index}/level", f"{level}\n"
            yield f"{here}/cache/index{index}/type", "Unified\n"
            yield f"{here}/cache/index{index}/shared_cpu_list", listed(shared)
    yield "proc/sys/kernel/osrelease", f"{big.release}\n"
    yield "proc/sys/kernel/hostname", "big\n"
    yield "proc/sys/net/core/netdev_max_backlog", "1000\n"
    yield "proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"
    yield "proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n"
    yield "proc/cmdline", "quiet\n"
    yield "proc/meminfo", "MemTotal:       536870912 kB\n"
    if big.product:
        yield "sys/class/dmi/id/product_name", f"{big.product}\n"
        yield "sys/class/dmi/id/sys_vendor", f"{big.vendor}\n"
    for nic in range(big.nics):
        yield from _nic(big, nic)
        for irq in big.irqs(nic):
            cpu = big.home(nic, irq)
            yield f"proc/irq/{irq}/smp_affinity_list", f"{cpu}\n"
            yield f"proc/irq/{irq}/effective_affinity_list", f"{cpu}\n"
            yield f"proc/irq/{irq}/node", f"{big.node(cpu)}\n"
    yield "proc/irq/default_smp_affinity", "ffffffff\n"


def _nic(big: Big, nic: int) -> Iterator[tuple[str, str]]:
    card, name = big.card, big.name(nic)
    here, root = f"sys/class/net/{name}", f"sys/devices/pci0000:00/{big.bus(nic)}"
    device = root
    node = nic % big.nodes
    driver = "mlx5_core" if big.driver == "mlx5_s390" else big.driver
    if card.bus != "pci":
        device = f"{root}/{big.device(nic)}"
        yield f"{root}/driver", "->../../../bus/pci/drivers/virtio-pci"
    yield f"{here}/device", f"->../../../{device.removeprefix('sys/')}"
    yield f"{device}/driver", f"->../../../bus/{card.bus}/drivers/{driver}"
    yield f"{device}/subsystem", f"->../../../bus/{card.bus}"
    if card.bus != "vmbus":
        yield f"{root}/numa_node", f"{node if big.nodes > 1 else -1}\n"
        yield f"{root}/local_cpulist", listed(big.on_node(node))
        yield f"{root}/uevent", f"DRIVER={driver}\nPCI_SLOT_NAME={big.bus(nic)}\n"
        for irq in big.irqs(nic):
            yield f"{root}/msi_irqs/{irq}", "msix\n"
    for file, text in (("type", "1"), ("mtu", f"{card.mtu}"), ("flags", "0x1003"),
                       ("carrier", "1"), ("operstate", "up"), ("tx_queue_len", "1000"),
                       ("uevent", f"INTERFACE={name}\nIFINDEX={nic + 2}"),
                       ("threaded", "0"), ("napi_defer_hard_irqs", "0"),
                       ("gro_flush_timeout", "0")):  # fmt: skip
        yield f"{here}/{file}", f"{text}\n"
    if card.speed is not None:
        yield f"{here}/speed", f"{card.speed}\n"
        yield f"{here}/duplex", "full\n"
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
        for n in big.online
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
        for n in big.online
    ]
    yield "proc/net/softnet_stat", "\n".join(work) + "\n"
    lines = ["Inter-|   Receive  |  Transmit", " face |bytes packets|bytes packets"]
    for nic in range(big.nics):
        packets = second * big.card.packets
        lines.append(f"  {big.name(nic)}: {packets * big.card.mtu} {packets} 0 0 0 0 0 0 "
                     f"{packets * 66} {packets} 0 0 0 0 0 0")  # fmt: skip
    yield "proc/net/dev", "\n".join(lines) + "\n"


def interrupts(big: Big, second: int) -> str:
    """/proc/interrupts; in each second one line in ten counts further."""
    columns = {cpu: place for place, cpu in enumerate(big.online)}
    out = ["            " + "       ".join(f"CPU{n:<4}" for n in big.online)]
    names: dict[int, tuple[str, int]] = {}
    for nic in range(big.nics):
        for irq, name in zip(big.irqs(nic), big.actions(nic), strict=True):
            names[irq] = name, big.home(nic, irq)
    other = 10_000
    while len(names) < big.lines:
        names[other] = f"nvme{other % 64}q{other}", big.online[other % len(big.online)]
        other += 1
    none = ["         0"] * len(columns)
    for place, (irq, (name, cpu)) in enumerate(names.items()):
        counts = none.copy()
        ticks = (second + 9 - place % 10) // 10 + (0 if place % 10 else 1)
        counts[columns[cpu]] = str(1000 + ticks * 500).rjust(10)
        chip = CHIPS[big.arch].format(pin=65536 + irq, irq=irq)
        out.append(f"{irq:>6}: {' '.join(counts)}  {chip}  {name}")
    for label, meaning in LETTERS[big.arch.partition("-")[0]]:
        counts = [str(second * (n % 5) * 100).rjust(10) for n in big.online]
        out.append(f"{label:>6}: {' '.join(counts)}  {meaning}")
    return "\n".join([*out, "   ERR:          0", ""])


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
    parser.add_argument("--driver", default="ice", choices=CARDS)
    parser.add_argument("--seconds", type=int, default=0)
    args = parser.parse_args()
    big = Big(args.cpus, args.nodes, args.nics, args.queues, args.lines, args.driver)
    write(args.folder, big)
    if args.seconds:
        step(args.folder, big, args.seconds)


if __name__ == "__main__":
    main()
