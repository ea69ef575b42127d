"""A packet capture: its process, interface, ring and losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from operator import attrgetter
from typing import Final

from ...collect.packet_sockets import Row as PacketSocketRow
from ...frame.fields import gauge, label, light, maybe
from ...frame.rates import Entry
from ...terms.dataclass import dataclass
from ..kind import Kind
from .core import Core
from .nic import Nic
from .process import Tasks
from .queue import Queue


@light
@dataclass(frozen=True, slots=True)
class Capture:
    """One AF_PACKET socket with its owner."""

    inode: int = label("socket inode")
    nic: str | None = maybe("interface; None: all")
    pid: int | None = maybe("owning process")
    process: str | None = maybe("name of the owning process")
    type: str | None = maybe("raw or dgram")
    ring_version: int | None = maybe("TPACKET version; None: no ring")
    ring_bytes: int | None = maybe("receive ring", "bytes")
    ring_seconds: float | None = maybe("traffic that the ring holds, at the present rate", "s")
    rcvbuf: int | None = maybe("receive buffer", "bytes")
    queued: int | None = maybe("queued bytes", "bytes")
    drops_per_s: float | None = maybe("packets dropped, capture buffer full", "packets/s")
    unread: bool | None = maybe(
        "nobody reads it: all packets of the interface are dropped at its full buffer"
    )
    fanout: int | None = maybe("fanout group; None: no group")
    fanout_size: int | None = maybe("sockets in the fanout group", "sockets")
    cpu: int | None = maybe("CPU of the owning process")
    node: int | None = maybe("NUMA node of its CPU")
    on_irq_cpu: bool | None = maybe(
        "capture on an interrupt CPU of the NIC, or on an RPS CPU if it has no interrupts"
    )
    on_irq_sibling: bool | None = maybe("capture on an SMT sibling of an interrupt CPU")
    off_node: bool | None = maybe("capture on a remote NUMA node")
    core_load: float | None = maybe("load of the capture's CPU", "%")
    nice: int | None = maybe("nice value of the owner")
    elsewhere: tuple[int, ...] = gauge(
        "free CPUs of the NIC's NUMA node: no interrupts of it and not the owner, on all siblings",
        default=(),
    )


KIND = Kind(
    Capture, "captures", target=lambda capture: f"{capture.nic or 'any'}/{capture.inode}",
    owner=attrgetter("process"), parents={"nic": attrgetter("nic"), "process": attrgetter("pid")},
    example={"inode": 7001, "nic": "eth0"}, tables={"": "packet_sockets"},
)  # fmt: skip


CONTROL: Final = frozenset(
    "dhclient dhcpcd dhcpd udhcpc systemd-network systemd-resolve NetworkManager nm-dispatcher "
    "lldpd lldpad wpa_supplicant hostapd connmand arping keepalived ptp4l".split()
)  # programs of the link itself; their packet sockets are no captures
_NEARLY_ALL: Final = 0.9  # of the packets: both were not counted at the same moment
ALL: Final = 3  # ETH_P_ALL, include/uapi/linux/if_ether.h


def listens(row: PacketSocketRow, name: str | None) -> bool:
    """Whether a packet socket is a capture: a ring, a fanout group, or all protocols.

    DHCP clients and LLDP daemons also have packet sockets, for a few frames of one protocol.
    """
    if row.ring_version is not None or row.fanout is not None:
        return True
    return row.protocol in (ALL, None) and name not in CONTROL


@dataclass(frozen=True, slots=True)
class CaptureInputs:
    """The other facts that a capture is joined with."""

    names: Mapping[int, str] = field(default_factory=dict)  # interfaces by index
    owners: Mapping[int, tuple[int, str]] = field(default_factory=dict)
    tasks: Tasks = field(default_factory=Tasks)
    nics: Mapping[str, Nic] = field(default_factory=dict)
    cores: Mapping[int, Core] = field(default_factory=dict)
    queues: Mapping[str, Sequence[Queue]] = field(default_factory=dict)  # by interface


def of(
    entries: Sequence[Entry[PacketSocketRow]], owners: Mapping[int, tuple[int, str]]
) -> list[Entry[PacketSocketRow]]:
    """The entries of the packet_sockets table that are captures."""
    return [
        entry
        for entry in entries
        if listens(entry.now, owners[entry.now.inode][1] if entry.now.inode in owners else None)
    ]


def build(entries: Sequence[Entry[PacketSocketRow]], scene: CaptureInputs) -> tuple[Capture, ...]:
    """A fact for each capture."""
    groups = Counter(e.now.fanout for e in entries if e.now.fanout is not None)
    return tuple(_make(entry, scene, groups) for entry in entries)


def _make(
    entry: Entry[PacketSocketRow], scene: CaptureInputs, groups: Mapping[int, int]
) -> Capture:
    row, rate = entry.now, entry.per_s
    drops = rate.drops if rate is not None else None
    name = scene.names.get(row.index) if row.index else None
    pid, process = scene.owners.get(row.inode, (None, None))
    task = scene.tasks.by_pid.get(pid) if pid is not None else None
    cpu = task.cpu if task is not None else None
    core = scene.cores.get(cpu) if cpu is not None else None
    nics = [
        nic
        for nic in scene.nics.values()
        if nic.name == name or (name is None and nic.kind == "nic")
    ]
    taken = {c for nic in nics for c in receiving(nic, scene.queues.get(nic.name, ()))}
    siblings = {s for c in taken if c in scene.cores for s in scene.cores[c].siblings}
    nodes = {nic.node for nic in nics if nic.node is not None}
    arrives = sum(nic.per_s.rx_bytes or 0.0 for nic in nics)
    return Capture(
        row.inode, name, pid, process, row.type, row.ring_version, row.ring_bytes,
        row.ring_bytes / arrives if row.ring_bytes and arrives else None,
        row.rcvbuf, row.queued, drops, _unread(row, drops, nics),
        row.fanout, groups.get(row.fanout) if row.fanout is not None else None,
        cpu, core.node if core is not None else None,
        cpu in taken if cpu is not None and taken else None,
        cpu in siblings if cpu is not None and taken else None,
        core.node not in nodes if core is not None and core.node is not None and nodes else None,
        100.0 - core.idle if core is not None and core.idle is not None else None,
        task.row.nice if task is not None else None,
        _elsewhere(cpu, taken | siblings, nics, scene.cores),
    )  # fmt: skip


def _unread(row: PacketSocketRow, drops: float | None, nics: Sequence[Nic]) -> bool | None:
    """Whether it drops what the interface receives and sends; a slow reader takes a part of it.

    The losses of a ring are not known, and a filter takes only a part.
    """
    if drops is None or row.ring_version is not None or row.fanout is not None:
        return None
    seen = sum((nic.per_s.rx_packets or 0.0) + (nic.per_s.tx_packets or 0.0) for nic in nics)
    return seen > 0 and drops >= _NEARLY_ALL * seen


def receiving(nic: Nic, queues: Sequence[Queue]) -> tuple[int, ...]:
    """The CPUs that receive the packets of the interface's queues.

    Packets of a device without interrupts (veth) are received on the sender's CPU, or by RPS.
    """
    if nic.irq_cpus or nic.kind == "nic":
        return nic.irq_cpus
    return tuple(sorted({c for q in queues if q.direction == "rx" for c in q.rps_cpus}))


def _elsewhere(
    cpu: int | None, taken: Collection[int], nics: Sequence[Nic], cores: Mapping[int, Core]
) -> tuple[int, ...]:
    own = cores.get(cpu) if cpu is not None else None
    near = {c for nic in nics for c in nic.local_cpus} or set(cores)
    return tuple(sorted(near - {*taken, cpu, *(own.siblings if own is not None else ())}))
