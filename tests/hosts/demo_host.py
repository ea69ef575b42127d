"""A generated host of 100 Gbit/s for the demos: mlx5, 32 cores on two nodes, hardly busy.

All is counted from the packets of each connection in each second, so that figures agree: what
connections, queues and interface carry; interrupts, soft interrupts and TCP; the time of a core,
which is that of its processes and soft interrupts. The same program gives the same bytes.
"""

import argparse
import base64
import gzip
import struct
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from generated.archive import entries
from generated.cards import CARDS
from generated.draw import bare, card, settle
from generated.files import lines_of
from generated.model import Flow, Host, Listener, Port, Process

from nettop.facts.toeplitz import Packet, key_bytes, queue_of
from nettop.host.archive import RecordedMoment

SECONDS = 20
BEGAN = 1_795_194_609.0  # wall clock of the first moment
BEFORE = 600  # seconds for which the counters have run at the mean rate of the recording
NIC, PLAIN = "ens2np0", "ens1f0"
QUEUES, CPUS = 16, 32
MSS, HEADERS = 8948, 66  # bytes: the headers are those of Ethernet, IP and TCP with timestamps
SMALL, SCREEN = 24, 1114  # bytes of a segment that ssh and the scrape receive, and send
OWN = 32_768  # the first port of connections that a host opens itself
SOFT, HARD = 0.23, 0.007  # percent of a core for 1000 packets: soft and hard interrupts
KEY = (
    "6d:5a:56:da:25:5b:0e:c2:41:67:25:3d:43:a3:8f:b0:d0:ca:2b:cb:"
    "ae:7b:30:b4:77:cb:2d:a3:80:30:f2:0c:6a:42:b7:3b:be:ac:01:fa"
)
TABLE = tuple(n % QUEUES for n in range(128))
DAEMONS = (  # name, core, and percent of it
    ("systemd", 2, 0.1), ("systemd-journal", 5, 0.3), ("systemd-udevd", 9, 0.0),
    ("chronyd", 7, 0.1), ("dbus-daemon", 4, 0.0), ("rsyslogd", 6, 0.2), ("crond", 10, 0.0),
    ("systemd-logind", 8, 0.0), ("agetty", 0, 0.0), ("node_exporter", 11, 1.2), ("sshd", 3, 0.6),
    ("bash", 3, 0.0), ("nettop", 12, 2.1), ("kworker/16:1", 16, 0.4), ("kworker/24:2", 24, 0.2),
)  # fmt: skip
TUNED = {
    "net.core.rmem_max": "268435456", "net.core.wmem_max": "268435456",
    "net.core.optmem_max": "1048576", "net.core.netdev_max_backlog": "30000",
    "net.ipv4.tcp_rmem": "4096\t131072\t268435456", "net.ipv4.tcp_wmem": "4096\t65536\t268435456",
    "net.ipv4.tcp_mtu_probing": "1", "net.ipv4.tcp_no_metrics_save": "1",
    "kernel.numa_balancing": "0",
}  # fmt: skip
NOT = "!95 Operation not supported\n"


@dataclass
class Demo(Host):
    """A host whose counters grow by what `course` has for each second, or else at their rates."""

    course: dict[str, list[int]] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    early: float = 0.0  # seconds before the moment, at which it is read

    def count(self, name: str, rate: float, moment: int, *, bits: int = 64) -> int:
        """A counter at a moment."""
        if name not in self.course:
            draw = Random(name)
            self.course[name] = whole([rate * draw.uniform(0.95, 1.05) for _ in range(SECONDS)])
        steps = self.course[name]
        start = self.starts.setdefault(name, sum(steps) * BEFORE // SECONDS)
        later = round(self.early * steps[max(0, moment - 1)])
        return (start + sum(steps[:moment]) - later) % (1 << bits)


@dataclass
class Steps:
    """What each second adds: to counters by name, in percent of a core by cpu and by pid."""

    counts: dict[str, list[float]] = field(default_factory=lambda: defaultdict(_none))
    soft: dict[int, list[float]] = field(default_factory=lambda: defaultdict(_none))
    hard: dict[int, list[float]] = field(default_factory=lambda: defaultdict(_none))
    user: dict[int, list[float]] = field(default_factory=lambda: defaultdict(_none))
    system: dict[int, list[float]] = field(default_factory=lambda: defaultdict(_none))

    def ticks(self, one: Process, moment: int) -> tuple[int, int]:
        """User and kernel time of a process since the first moment."""
        user, system = (sum(whole(by[one.pid])[:moment]) for by in (self.user, self.system))
        return user, system


def _none() -> list[float]:
    return [0.0] * SECONDS


def whole(rates: Sequence[float]) -> list[int]:
    """Whole steps whose sums are those of the rates."""
    return [after - before for before, after in pairwise((0, *map(int, accumulate(rates))))]


def machine(
    seed: str, name: str, kernel: tuple[int, int], addresses: tuple[str, str],
    sizes: tuple[int, int], tuned: Mapping[str, str],
) -> Demo:  # fmt: skip
    """The host, without what its traffic counts; `sizes`: bytes that the fast card receives, sends.

    `tuned` is in /etc/sysctl.d too.
    """
    draw = Random(seed)
    made = Demo(seed, name, kernel, f"{kernel[0]}.{kernel[1]}.0", CPUS, nodes=2, memory=256 << 20)
    made.sysctls = bare(draw, "", "", CPUS, memory=made.memory).sysctls | dict(tuned)
    made.moments = tuple(map(float, range(SECONDS + 1)))
    made.governor, made.clock = "performance", (3_500_000, 1_500_000, 3_500_000)
    made.vendor, made.product = "Dell Inc.", "PowerEdge R7525"
    made.ports.append(Port("lo", mtu=65536, type=772, qdisc="noqueue", address="127.0.0.1", bus=""))
    fast = card(draw, made, "mlx5_core", NIC, queues=QUEUES, node=1)
    slow = card(draw, made, "igb", PLAIN, queues=4)
    fast.address, fast.speed, fast.mtu = addresses[0], 100_000, 9000
    fast.modes = fast.peer_modes = ("100000baseCR4/Full", "FIBRE", "Autoneg")
    fast.channels, fast.pause = (QUEUES, QUEUES), {"autoneg": 0, "rx": 0, "tx": 0}
    fast.pcie, fast.aspm, fast.fec = 2 * ("16.0 GT/s PCIe", 16), False, (11.0, 0.0)
    fast.rx_size, fast.tx_size = (size + HEADERS for size in sizes)
    slow.address, slow.pcie = addresses[1], 2 * ("5.0 GT/s PCIe", 4)
    slow.aspm, slow.eee = False, None
    slow.rx_size, slow.tx_size = SMALL + HEADERS, SCREEN + HEADERS
    for index, port in enumerate(made.ports, 1):
        port.index, port.rx_packets, port.tx_packets = index, 0.0, 0.0
    settle(made)
    names = [f"{way}{n}_bytes" for way in ("rx", "tx") for n in range(QUEUES)]
    fast.stats |= dict.fromkeys((*names, "rx_bytes_phy", "tx_bytes_phy"), 0.0)
    lines = "".join(f"{name} = {value}\n" for name, value in tuned.items())
    made.files = {
        "/etc/": "sysctl.conf\nsysctl.d\n", "/etc/sysctl.d/": "90-transfer.conf\n",
        "/etc/sysctl.d/90-transfer.conf": lines.replace("\t", " "),
        "/etc/sysctl.conf": "# see sysctl.d\n", "/etc/tuned/active_profile": "",
        "/sys/class/": "dmi\nnet\n", "/sys/class/net/": f"{PLAIN}\n{NIC}\nlo\n",
    }  # fmt: skip
    for n in range(QUEUES):
        for what, value in (("limit", 22792), ("limit_max", 1879048192), ("inflight", 0)):
            here = f"/sys/class/net/{NIC}/queues/tx-{n}/byte_queue_limits"
            made.files[f"{here}/{what}"] = f"{value}\n"
    return made


def programs(
    made: Demo, streams: Sequence[tuple[str, Flow]], others: tuple[str, str], first: int = 4100
) -> None:
    """Processes with their sockets: the streams, a session of ssh and a scrape of `others`.

    A stream runs on the node of the card, on a core that takes no packets of any.
    """
    made.processes = [Process(2, "kthreadd", kernel=True)]
    made.processes += [Process(16 + 6 * n, f"ksoftirqd/{n}", n, kernel=True) for n in range(CPUS)]
    for place, (name, cpu, _) in enumerate(DAEMONS):
        pid = 1 if name == "systemd" else 900 + 37 * place
        made.processes.append(Process(pid, name, cpu, kernel=name.startswith("kworker")))
    served = {made.port(NIC).cpus[queue_for(flow)] for _, flow in streams}
    free = [cpu for cpu in made.on_node(1) if cpu not in served]
    for n, (name, flow) in enumerate(streams):
        made.processes.append(Process(first + n, name, free[n]))
        _connection(made, made.processes[-1], flow)
    for name, client, local, port in (
        ("sshd", others[0], 22, 51544), ("node_exporter", others[1], 9100, 38870),
    ):  # fmt: skip
        one = next(one for one in made.processes if one.name == name)
        plain = made.port(PLAIN).address
        _connection(made, one, Flow(client, local, port, local=plain, segment=SCREEN))
    used = len(made.flows) + len(made.listeners)
    made.sockstat = {"inuse": used, "alloc": used, "tw": 0, "mem": 9200}


def _connection(made: Demo, one: Process, flow: Flow) -> None:
    """Give a process a connection, and the socket that listens if it did not open it itself."""
    first = 70_000 + 2 * len(made.flows)
    one.inodes, flow.pid, flow.inode = [first, first + 1], one.pid, first + 1
    if flow.local_port < OWN:
        made.listeners.append(Listener(flow.local_port, 0, 4096, first))
    made.flows.append(flow)


def queue_for(flow: Flow) -> int:
    """The receive queue of a flow on the fast card."""
    packet = Packet(flow.remote, flow.local, flow.remote_port, flow.local_port)
    queue = queue_of(key_bytes(KEY), TABLE, "toeplitz", "sdfn", packet)
    assert queue is not None
    return queue


def rest(made: Demo, steps: Steps, at: int, draw: Random) -> None:
    """What the session, the scrape and the daemons add in a second."""
    scrape = (34, 62) if at % 5 == 2 else (0, 0)
    session = draw.randrange(4, 8), draw.randrange(5, 9)
    small, slow = made.flows[-2:], made.port(PLAIN)
    for queue, (flow, (come, sent)) in enumerate(zip(small, (session, scrape), strict=True), 1):
        move(made, steps, at, flow, slow, queue, (come, come, sent, come + sent // 2))
    for one in made.processes:
        percent = {name: percent for name, _, percent in DAEMONS}.get(one.name, 0.0)
        user = 0.0 if one.kernel else 0.6
        time = percent * draw.uniform(0.5, 1.5)
        steps.user[one.pid][at] += user * time
        steps.system[one.pid][at] += (1 - user) * time


def name_of(flow: Flow) -> str:
    return f"{flow.local_port} {flow.remote_port} {flow.remote}"


def move(
    made: Demo, steps: Steps, at: int, flow: Flow, port: Port, queue: int,
    many: tuple[int, int, int, int],
) -> None:  # fmt: skip
    """Count packets of a connection: received, the same after GRO, sent, and interrupts."""
    come, merged, sent, turns = many
    nic, name, cpu = port.name, name_of(flow), port.cpus[queue]
    irq = next(irq for irq, _, own in lines_of(made, port) if own == queue)
    data, acked = come * (port.rx_size - HEADERS), sent * (port.tx_size - HEADERS)
    rx, tx = (one.format(n=queue) for one in CARDS[port.driver].packets or ())
    octets = data + merged * 52  # of IP: once for what GRO merged
    for counter, amount in (
        (f"{nic} rx", come), (f"{nic} {rx}", come), (f"{nic} rx_packets_phy", come),
        (f"{nic} rx{queue}_bytes", come * port.rx_size),
        (f"{nic} rx_bytes_phy", come * (port.rx_size + 4)),
        (f"{nic} tx", sent), (f"{nic} {tx}", sent), (f"{nic} tx_packets_phy", sent),
        (f"{nic} tx{queue}_bytes", sent * port.tx_size), (f"{nic} tx queue {queue}", sent),
        (f"{nic} tx_bytes_phy", sent * (port.tx_size + 4)), (f"irq {irq}", turns),
        (f"NET_RX {cpu}", round(turns * 1.1)), (f"softnet {cpu}", merged),
        (f"{name} received", data), (f"{name} in", come), (f"{name} data in", come if data else 0),
        (f"{name} out", sent), (f"{name} acked", acked), (f"{name} delivered", sent),
        (f"{name} data out", sent if acked else 0), ("Ip.InReceives", merged),
        ("Ip.InDelivers", merged), ("Tcp.InSegs", merged), ("Tcp.OutSegs", sent),
        ("Ip.OutRequests", sent), ("IpExt.InOctets", octets),
        ("IpExt.OutOctets", acked + sent * 52),
    ):  # fmt: skip
        steps.counts[counter][at] += amount


def own(made: Demo, steps: Steps, moment: int) -> Iterator[tuple[str, str]]:
    """Entries that the generated hosts lack, or whose times are not sums there."""
    rows = []
    for cpu in range(CPUS):
        here = [steps.ticks(one, moment) for one in made.processes if one.cpu == cpu]
        user, system = map(sum, zip((0, 0), *here, strict=True))
        hard, soft = (sum(whole(by[cpu])[:moment]) for by in (steps.hard, steps.soft))
        idle = 380_000 + 100 * moment - user - system - hard - soft
        rows.append([5000 + user, 0, 9000 + system, idle, 0, hard, 700 + soft, 0, 0, 0])
    named = [("cpu ", [sum(column) for column in zip(*rows, strict=True)])]
    named += [(f"cpu{cpu}", row) for cpu, row in enumerate(rows)]
    times = "".join(f"{name} {' '.join(map(str, row))}\n" for name, row in named)
    lines = [name for name in made.course if name.startswith(("irq ", "loc "))]
    yield (
        "/proc/stat",
        (
            f"{times}intr {sum(made.count(name, 0, moment) for name in lines)}\n"
            f"ctxt {made.count('switches', 61_000, moment)}\nbtime {BEGAN - 4000:.0f}\n"
            "processes 5400\nprocs_running 3\nprocs_blocked 0\n"
            f"softirq {made.count('soft', 190_000, moment)} 0 0 0 0 0 0 0 0 0 0\n"
        ),
    )
    told = ["Inter-|   Receive  |  Transmit", " face |bytes packets|bytes packets"]
    for port in made.ports:
        come, sent, missed = (
            made.count(f"{port.name} {what}", 0, moment)
            for what in ("rx", "tx", "rx_missed_errors")
        )
        told.append(f"{port.name:>6}: {come * port.rx_size} {come} 0 {missed} 0 0 0 0 "
                    f"{sent * port.tx_size} {sent} 0 0 0 0 0 0")  # fmt: skip
    yield "/proc/net/dev", "\n".join(told)
    pid = next(one.pid for one in made.processes if one.name == "nettop")
    yield "/proc/self/stat", dict(entries(made, moment))[f"/proc/{pid}/stat"]
    yield "/proc/self/statm", "8106 5874 1623 1 0 4729 0"


def fixed(made: Demo) -> Iterator[tuple[str, str]]:
    """Answers of the drivers that do not change."""
    key = key_bytes(KEY)
    head = struct.pack("=IIIIB7x", 0x46, 0, len(TABLE), len(key), 1)
    answers = {
        "rss-size": head, "rss": head + struct.pack(f"={len(TABLE)}I", *TABLE) + key,
        "rx-rings": struct.pack("=IIQ184x", 0x2D, 0, QUEUES),
        "rule-count": struct.pack("=IIQ184x", 0x2E, 0, 0),
    }  # fmt: skip
    for number, flow in ((1, "tcp4"), (2, "udp4"), (5, "tcp6"), (6, "udp6")):
        answers[f"hash/{flow}"] = struct.pack("=IIQ184x", 0x29, number, 0xF0)  # addresses and ports
    for name, raw in answers.items():
        yield f"ioctl/{name}/{NIC}", base64.b64encode(raw).decode()
    for port in made.ports:
        yield f"netlink/ethtool/eeprom/{port.name}/0/1/0/0/80", NOT
        if port.name != NIC:
            yield from ((f"ioctl/{what}/{port.name}", NOT) for what in ("rss-size", "rule-count"))
    yield from ((f"netlink/{name}", "") for name in
                ("ethtool/stats", "ethtool/privflags", "sock_diag/syn-recv"))  # fmt: skip


def moments(
    made: Demo, steps: Steps, shown: Callable[[Demo, int], Iterable[tuple[str, str]]]
) -> Iterator[dict[str, bytes]]:
    """All entries of each moment; `shown` sets what the flows show then, and has more entries."""
    for moment in range(SECONDS + 1):
        more = dict(shown(made, moment))
        for one in made.processes:  # `files` counts the ticks of 400 s and of the moment
            all_, now = steps.ticks(one, SECONDS), steps.ticks(one, moment)
            one.user, one.system = (
                (a * BEFORE // SECONDS + b) / (100 * (400 + moment))
                for a, b in zip(all_, now, strict=True)
            )
        found = {**dict(entries(made, moment)), **dict(own(made, steps, moment)), **more}
        found |= {} if moment else dict(fixed(made))
        yield {name: f"{body.rstrip()}\n".encode() for name, body in found.items()}


def changes(
    told: Iterable[dict[str, bytes]], *, below: Sequence[RecordedMoment] = (), began: float = BEGAN
) -> Iterator[RecordedMoment]:
    """What each moment changes, or what must be changed after those of `below`."""
    known: dict[str, bytes | None] = {}
    for at, found in enumerate(told):
        known |= below[at].changed if below else {}
        changed = {name: body for name, body in found.items() if known.get(name) != body}
        known |= changed
        yield RecordedMoment(float(at), began + at, {**changed})


def write(archives: Iterable[tuple[str, bytes]], told: str | None) -> None:
    """Write recordings into the folder that the command line names, or rules; `told`: its help."""
    parser = argparse.ArgumentParser(description=told)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[2] / "rules")
    out = parser.parse_args().out
    for name, data in archives:
        (out / name).write_bytes(gzip.compress(data, mtime=0))
