"""What the hot tables cost: here, against only reading their files, and on a generated large host.

Run it: `python tests/benchmarks/hot_sample.py`. It prints figures and asserts nothing.
"""

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

from nettop import collect
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler

FILES = {
    "cpu": "/proc/stat",
    "interrupts": "/proc/interrupts",
    "softirqs": "/proc/softirqs",
    "softnet": "/proc/net/softnet_stat",
    "netdev": "/proc/net/dev",
}
CPUS, LINES, ROUNDS = 256, 1200, 12


def milliseconds(run: Callable[[], object], rounds: int) -> float:
    """The median CPU time of one run."""
    spent = []
    for _ in range(rounds):
        begun = time.process_time_ns()
        run()
        spent.append((time.process_time_ns() - begun) / 1e6)
    return statistics.median(spent)


class Large(Live):
    """A host of 256 CPUs and 1,200 interrupt lines, of which one in ten changes between samples."""

    def __init__(self) -> None:
        super().__init__("/nowhere")
        self.chance = random.Random(1)
        self.clock = 0.0
        self.counts = [[0] * CPUS for _ in range(LINES)]
        for counts in self.counts:
            for _ in range(self.chance.choice((1, 1, 2, 5, 20))):
                counts[self.chance.randrange(CPUS)] = self.chance.randrange(1 << 31)
        header = " " * 11 + " ".join(f"CPU{cpu:<8}" for cpu in range(CPUS))
        self.lines = [header.encode(), *map(self.line, range(LINES))]
        self.files: dict[str, bytes] = {}

    def line(self, irq: int) -> bytes:
        counts = "".join(f"{count:11}" for count in self.counts[irq])
        name = f"eth{irq // 64}-TxRx-{irq % 64}"
        return f"{irq:4}:{counts}  PCI-MSI {524288 + irq}-edge      {name}".encode()

    def step(self) -> None:
        """Change the host to one second later."""
        self.clock += 1.0
        for irq in self.chance.sample(range(LINES), LINES // 10):
            self.counts[irq][self.chance.randrange(CPUS)] += self.chance.randrange(1, 1000)
            self.lines[irq + 1] = self.line(irq)
        tick = int(self.clock * 100)
        stat = "".join(f"cpu{n} {tick} 0 {tick} {tick * 8} 1 0 {tick} 0 0 0\n" for n in range(CPUS))
        cpus = " ".join(f"CPU{n}" for n in range(CPUS))
        kinds = "HI TIMER NET_TX NET_RX BLOCK IRQ_POLL TASKLET SCHED HRTIMER RCU".split()
        softirqs = "".join(f"{kind:>12}: {' '.join([str(tick)] * CPUS)}\n" for kind in kinds)
        softnet = "".join(
            f"{tick:08x} " + "00000000 " * 11 + f"{n:08x} 00000000 00000000\n" for n in range(CPUS)
        )
        devices = "".join(f"  eth{n}: " + f"{tick} " * 16 + "\n" for n in range(20))
        self.files = {
            "/proc/interrupts": b"\n".join(self.lines) + b"\n",
            "/proc/stat": f"cpu 1 2 3 4\n{stat}intr 1{' 0' * 4096}\nctxt 1\n".encode(),
            "/proc/softirqs": f"    {cpus}\n{softirqs}".encode(),
            "/proc/net/softnet_stat": softnet.encode(),
            "/proc/net/dev": f"Inter-|R|T\n face |a|b\n{devices}".encode(),
        }

    def now(self) -> float:
        return self.clock

    def data(self, path: str) -> bytes:
        return self.files[path]


def here() -> None:
    """This machine: the ratio of sampling to reading."""
    source = Live()
    raw = milliseconds(lambda: [source.data(path) for path in FILES.values()], 200)
    tables = [*FILES]
    if "link_stats" in collect.names():
        tables[-1] = "link_stats"
    sampler = Sampler(source)
    whole = milliseconds(lambda: sampler.take(tables), 200)
    memory: dict[str, dict[str, Any]] = {name: {} for name in FILES}

    def read(name: str) -> Callable[[], object]:
        module = collect.collector(name)
        if hasattr(module, "update"):
            return lambda: module.update(source, memory[name])
        return lambda: module.read(source)

    print(f"this machine: reading the five files {raw:.3f} ms")
    for name, path in FILES.items():
        own = milliseconds(read(name), 200)
        bare = milliseconds(lambda path=path: source.data(path), 200)  # type: ignore[misc]
        print(f"  {name:10} read and parsed {own:.3f} ms, only read {bare:.3f} ms")
    print(f"  a frame of {', '.join(tables)}: {whole:.3f} ms, {whole / raw:.2f} times reading")
    print(f"  at 10 Hz: {whole:.2f} % of a core")


def large() -> None:
    """The generated host: CPU time of a frame with rates, once everything is warm."""
    source = Large()
    sampler = Sampler(source)
    spent = []
    for _ in range(ROUNDS):
        source.step()
        begun = time.process_time_ns()
        frame = sampler.take([*FILES])
        spent.append((time.process_time_ns() - begun) / 1e6)
        if frame.missing:
            raise SystemExit(f"not read: {dict(frame.missing)}")
    memory: dict[str, Any] = {}
    module = collect.collector("interrupts")
    module.update(source, memory)
    lines = []
    for _ in range(ROUNDS):
        source.step()
        begun = time.process_time_ns()
        module.update(source, memory)
        lines.append((time.process_time_ns() - begun) / 1e6)
    size = len(source.files["/proc/interrupts"]) / 2**20
    print(f"{CPUS} CPUs, {LINES} interrupt lines ({size:.1f} MiB), one line in ten changing:")
    print(f"  interrupts alone {statistics.median(lines):.2f} ms")
    print(
        f"  a frame with rates {statistics.median(spent[2:]):.2f} ms, the first {spent[0]:.1f} ms"
    )


if __name__ == "__main__":
    here()
    large()
