"""What a generated host is: values that `files` and `wire` write as a kernel would.

Rates are per second. A counter is the sum of its rate over time, with noise, above a start that the
seed gives: the same seed is the same host.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, pairwise
from random import Random
from typing import Final

MOMENTS: Final = (0.0, 5.25, 10.5)  # seconds: each collector is read twice but the rarest


@dataclass
class Port:
    """A network interface; None: this kind of interface does not tell that."""

    name: str
    driver: str = ""
    kind: str = ""  # of a software interface: veth, bond, vlan …
    bus: str = "pci"
    node: int = 0
    index: int = 0
    type: int = 1  # ARPHRD
    mtu: int = 1500
    carrier: bool = True
    carrier_changes: float = 0.0
    carrier_before: int = 2  # changes of the link before the first moment
    speed: int | None = None  # Mbit/s
    duplex: int = 1
    modes: tuple[str, ...] = ()  # supported and advertised
    peer_modes: tuple[str, ...] = ()
    master: str = ""
    below: str = ""
    vlan: int = 0
    queues: int = 1
    cpus: list[int] = field(default_factory=list)  # CPU of each queue's interrupt
    allowed: str = ""  # smp_affinity_list of each interrupt; empty: the CPU alone
    shares: list[float] = field(default_factory=list)  # of the packets, by receive queue
    rx_packets: float = 0.0
    tx_packets: float = 0.0
    rx_size: int = 900
    tx_size: int = 900
    interrupts: float = 8000.0  # a second and queue, at most
    link: dict[str, float] = field(default_factory=dict)  # rtnl_link_stats64 beyond packets
    stats: dict[str, float] = field(default_factory=dict)  # ethtool -S
    ring: tuple[int, int, int, int] | None = None  # rx, rx_max, tx, tx_max
    channels: tuple[int, int] | None = None  # combined, its maximum
    coalesce: dict[str, int] | None = None
    pause: dict[str, int] | None = None  # autoneg, rx, tx
    features: dict[str, str] | None = None  # on, off, or fixed (off and not changeable)
    fec: tuple[float, float] | None = None  # corrected and uncorrectable blocks
    pcie: tuple[str, int, str, int] | None = None  # speed, width, and the maxima
    eee: tuple[bool, bool] | None = None  # active, enabled
    aspm: bool | None = None  # L1 enabled; None: the kernel does not control it
    qdisc: str = "mq"
    qdisc_drops: float = 0.0
    qdisc_backlog: int = 0
    qdisc_rate: float = 0.0  # bytes per second that a token bucket lets through
    function: int | None = None  # of the card that has several ports; None: a card of its own
    policed: float = 0.0  # packets per second that a filter on ingress drops
    rps: str = "0"
    tx_timeouts: float = 0.0
    xdp: int = 0
    xdp_mode: int = 1  # XDP_ATTACHED_DRV; 2: XDP_ATTACHED_SKB
    address: str = ""
    namespace: bool = False  # the other end of a veth is in another network namespace

    @property
    def hardware(self) -> bool:
        """Whether a device is below it."""
        return bool(self.driver) and not self.kind


@dataclass
class Flow:
    """An established TCP connection."""

    remote: str
    local_port: int
    remote_port: int
    local: str = ""  # empty: the address of the first interface
    tx: float = 1e5  # bytes per second
    rx: float = 1e5
    rtt: int = 300  # us
    min_rtt: int = 200
    rcv_rtt: int = 0  # us; 0: not measured
    cwnd: int = 40
    mss: int = 1448
    retransmits: float = 0.0  # segments per second
    lost: int = 0
    busy: float = 0.1  # share of the time with data in flight
    rwnd_limited: float = 0.0
    sndbuf_limited: float = 0.0
    rcvbuf: int = 131072
    sndbuf: int = 87040
    recv_q: int = 0
    send_q: int = 0
    notsent: int = 0
    flight: int = 0  # segments in flight all the time; 0: one that moves data has one
    window: int = 0  # bytes that the peer offers
    app_limited: bool = True
    options: int = 0b0111  # timestamps, SACK, window scaling
    scales: int = 0x77  # of the windows of both ends, a half byte each
    congestion: str = "cubic"
    backoff: int = 0
    acked: int | None = None  # bytes since it began; None: drawn
    received: int | None = None  # the same of what came in order
    segment: int = 0  # bytes of data in a segment; 0: the MSS
    gaps: float = 0.0  # segments a second that come behind a missing one
    behind: int = 0  # bytes of memory of segments that wait behind a missing one
    brief: bool = False  # at each moment another connection to the same server
    pid: int = 0
    inode: int = 0


@dataclass
class Listener:
    """A listening TCP socket: connections that wait, and how many may."""

    port: int
    waiting: int = 0
    backlog: int = 4096
    inode: int = 0


@dataclass
class Process:
    """A process: where it runs, and the share of a core that it takes."""

    pid: int
    name: str
    cpu: int = 0
    user: float = 0.02
    system: float = 0.01
    waited: float = 0.0  # share of the time that it waits for a core
    cgroup: str = ""
    nofile: int = 1 << 20  # RLIMIT_NOFILE
    kernel: bool = False
    inodes: list[int] = field(default_factory=list)


@dataclass
class Host:
    """A whole host."""

    seed: str
    kind: str
    kernel: tuple[int, int]
    release: str
    cpus: int
    moments: tuple[float, ...] = MOMENTS
    nodes: int = 1
    smt: bool = False
    arch: str = "x86"
    memory: int = 64 << 20  # KiB
    vendor: str = ""
    product: str = ""
    profile: str = "server"
    admin: bool = True
    container: bool = False
    ports: list[Port] = field(default_factory=list)
    user: dict[int, float] = field(default_factory=dict)  # share of a core
    softirq: dict[int, float] = field(default_factory=dict)  # beyond what packets cost
    steal: dict[int, float] = field(default_factory=dict)
    squeezed: dict[int, float] = field(default_factory=dict)
    dropped: dict[int, float] = field(default_factory=dict)
    snmp: dict[str, float] = field(default_factory=dict)  # Section.Name
    vanishing: float = 0.0  # share of the received IP packets that nothing counts
    sockstat: dict[str, int] = field(default_factory=dict)
    older: float = 3.0  # seconds that its connections were as busy before the first moment
    flows: list[Flow] = field(default_factory=list)
    listeners: list[Listener] = field(default_factory=list)
    # connections in TIME_WAIT that this host opened: remote address and port, and how many
    waiting: list[tuple[str, int, int]] = field(default_factory=list)
    datagrams: list[tuple[int, float]] = field(default_factory=list)  # port, drops a second
    processes: list[Process] = field(default_factory=list)
    sysctls: dict[str, str] = field(default_factory=dict)
    conntrack: dict[str, float] | None = None  # count, max; others are rates
    neighbours: dict[str, float] = field(default_factory=dict)
    xfrm: dict[str, float] = field(default_factory=dict)  # packets a second that IPsec drops
    governor: str | None = None  # None: no cpufreq
    scaling: str = "acpi-cpufreq"
    clock: tuple[int, int, int] = (3_000_000, 800_000, 3_000_000)  # kHz: now, least, most
    idle: float | None = None  # share of the time in a deep state; None: no cpuidle
    numa_miss: float = 0.0
    # by cgroup: the CPUs it may use, the share of its periods in which it is throttled
    quotas: dict[str, tuple[float, float]] = field(default_factory=dict)
    # rules of nf_tables: whether each limits a rate, and packets a second that it drops
    firewall: list[tuple[bool, float]] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)  # surfaces that this host lacks
    counted: dict[str, tuple[str, float]] = field(
        default_factory=dict
    )  # path: text, count a second
    needs: set[str] = field(default_factory=set)  # surfaces on which the planted fault shows

    def draw(self, *names: object) -> Random:
        """A random number generator for these names."""
        return Random(f"{self.seed} {' '.join(map(str, names))}")

    def port(self, name: str) -> Port:
        """The interface of that name."""
        return next(port for port in self.ports if port.name == name)

    @property
    def main(self) -> Port:
        """The device that carries the traffic."""
        devices = [port for port in self.ports if port.hardware and port.carrier]
        return max(devices or self.ports[-1:], key=lambda port: port.rx_packets + port.tx_packets)

    @property
    def half(self) -> int:
        """Physical cores."""
        return max(1, self.cpus // 2) if self.smt else self.cpus

    def core(self, cpu: int) -> list[int]:
        """The CPUs of its core."""
        return [*range(cpu % self.half, self.cpus, self.half)]

    def node(self, cpu: int) -> int:
        """Its NUMA node."""
        return (cpu % self.half) * self.nodes // self.half

    def on_node(self, node: int) -> list[int]:
        """The CPUs of a node."""
        half = self.half
        return [cpu for cpu in range(self.cpus) if cpu % half * self.nodes // half == node]

    def count(self, name: str, rate: float, moment: int, *, bits: int = 64) -> int:
        """A counter at a moment: a start of its own, and its rate over time with noise."""
        start, seconds = _course(self.seed, name, self.moments)
        return (start + round(rate * seconds[moment])) % (1 << bits)

    def received(self) -> list[float]:
        """Packets a second that each CPU takes from all ports."""
        rates = [0.0] * self.cpus
        for port in self.ports:
            for share, cpu in zip(port.shares, port.cpus, strict=False):
                rates[cpu] += port.rx_packets * share
        return rates


@lru_cache(maxsize=1 << 14)
def _course(seed: str, name: str, moments: tuple[float, ...]) -> tuple[int, tuple[float, ...]]:
    """The start of a counter of a host, and the seconds until each moment, with noise."""
    draw = Random(f"{seed} count {name}")
    start = draw.choice((0, draw.randrange(1 << 12), draw.randrange(1 << 30)))
    steps = ((after - before) * draw.uniform(0.93, 1.07) for before, after in pairwise(moments))
    return start, (0.0, *accumulate(steps))


def spread(draw: Random, count: int) -> list[float]:
    """Shares of `count` queues that RSS fills about evenly."""
    weights = [draw.uniform(0.7, 1.3) for _ in range(count)]
    return [weight / sum(weights) for weight in weights]


def among(draw: Random, values: Sequence[int], most: int) -> int:
    """One of the values that is not above `most`; the least when all are."""
    return draw.choice([value for value in values if value <= most] or [min(values)])
