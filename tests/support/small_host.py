"""A host of four CPUs and one interface, in memory; its counters grow with its clock."""

from collections.abc import Callable

from nettop.host.source import Live

CPUS = 4


class Small(Live):
    """A host of four CPUs and one interface, in memory; its counters grow with its clock."""

    def __init__(self, every: float = 1.0) -> None:
        """`every`: seconds of its clock for each step of its counters."""
        super().__init__("/nowhere", host="small")
        self.second = 0
        self.every = every

    def now(self) -> float:
        """Simulated seconds."""
        return self.second * self.every

    def data(self, path: str) -> bytes:
        """The bytes of a file of `FILES`."""
        write = FILES.get(path)
        if write is None:
            raise FileNotFoundError(2, "no such file", path)
        return write(self.second).encode()

    def listing(self, path: str) -> list[str]:
        """No directories."""
        raise FileNotFoundError(2, "no such directory", path)

    def link(self, path: str) -> str:
        """No links."""
        raise FileNotFoundError(2, "no such link", path)


def _stat(t: int) -> str:
    return "".join(f"cpu{n} {t * 5} 0 {t * 9} {t * 80} 0 0 {t * 6} 0 0 0\n" for n in range(CPUS))


def _interrupts(t: int) -> str:
    head = "           " + " ".join(f"CPU{n:<7}" for n in range(CPUS))
    rows = [
        f"{30 + n:>4}:" + "".join(f"{t * 700 if n == c else 0:>11}" for c in range(CPUS))
        + f"  PCI-MSI {n}-edge      eth0-TxRx-{n}"
        for n in range(CPUS)
    ]  # fmt: skip
    return "\n".join([head, *rows, ""])


def _softnet(t: int) -> str:
    return "".join(f"{t * 900:08x} " + "00000000 " * 11 + f"{n:08x}\n" for n in range(CPUS))


FILES: dict[str, Callable[[int], str]] = {
    "/proc/stat": _stat,
    "/proc/interrupts": _interrupts,
    "/proc/net/softnet_stat": _softnet,
    "/proc/softirqs": lambda t: f"   CPU0 CPU1 CPU2 CPU3\nNET_RX: {t} {t} {t} {t}\n",
    "/proc/net/dev": lambda t: (
        "Inter-|   Receive                            |  Transmit\n"
        " face |bytes packets errs drop fifo frame compressed multicast|bytes packets\n"
        f" eth0: {t * 10**8} {t * 10**5} {t % 7} 0 0 0 0 0 "
        f"{t * 10**6} {t * 10**4} 0 0 0 0 0 0\n"
    ),
    "/proc/sys/kernel/osrelease": lambda _: "6.1.0\n",
}
