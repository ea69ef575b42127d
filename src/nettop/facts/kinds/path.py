"""The path of packets through one NIC: rate and loss at each stage from wire to process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Final

from ...frame.fields import gauge, label, light
from ...terms.dataclass import dataclass
from ..kind import Kind
from .core import Core
from .host import HostFact
from .nic import Nic
from .process import Process

Reasons = tuple[tuple[str, float], ...]


@light
@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: wire port ring core backlog socket process; sending: tx-ring qdisc."""

    name: str = label("stage")
    detail: str = gauge("details, e.g. 256/4096 or core 6", default="")
    rate: float | None = gauge("rate", default=None)
    unit: str = gauge("unit of the rate", default="packets/s")
    lost: float | None = gauge(
        "packets lost at this stage; None: not reported", "packets/s", default=None
    )
    why: str = gauge(
        "source of the loss figure, or why it is unknown; empty: this stage loses nothing",
        default="",
    )


@light
@dataclass(frozen=True, slots=True)
class Path:
    """The stages of one direction of one NIC, the wire first."""

    nic: str = label("interface")
    direction: str = label("rx or tx")
    stages: tuple[Stage, ...] = gauge("stages", default=())
    lost: float | None = gauge("sum of the known losses", "packets/s", default=None)
    worst: str | None = gauge("stage with most losses", default=None)
    reasons: tuple[tuple[str, float], ...] | None = gauge(
        "drop reasons of the kernel, most frequent first, each per second; for the whole host, "
        "on the receive path with most traffic; None: not counted",
        default=None,
    )


KIND = Kind(
    name="path", type=Path, plural="paths", key=attrgetter("nic", "direction"),
    target=lambda path: f"{path.nic}/{path.direction}", parents={"nic": attrgetter("nic")},
    needs_nic=True, names={"path": "path.direction"}, example={"nic": "eth0", "direction": "rx"},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ends:
    """The stages behind the NIC: its cores, the busiest process, and the socket losses of the host.

    The kernel counts losses at sockets for the whole host, so only the path with the most traffic
    (`main`) shows them.
    """

    cores: Sequence[Core] = ()
    backlog: float | None = None  # limit of the backlog, packets
    process: Process | None = None
    host: HostFact | None = None
    main: bool = False
    reasons: Reasons | None = None


def build(
    nics: Sequence[Nic], cores: Mapping[int, Core], processes: Sequence[Process], host: HostFact,
    backlog: int | None, reasons: Reasons | None = None,
) -> tuple[Path, ...]:  # fmt: skip
    """Both directions of each NIC that is up; `backlog` is net.core.netdev_max_backlog.

    `reasons`: why the kernel dropped packets, per second; it does not say of which interface.
    """
    ports = [nic for nic in nics if nic.kind == "nic" and nic.up is not False]
    main = max(ports, key=_moved, default=None)
    found = []
    for nic in ports:
        above = {nic.name} | {other.name for other in nics if nic.name in other.lower}
        busiest = next((p for p in processes if p.networked and p.nic in above), None)
        served = [cores[cpu] for cpu in nic.irq_cpus if cpu in cores]
        first = nic is main
        ends = Ends(served, backlog, busiest, host, first, reasons if first else None)
        found += [receive(nic, ends), send(nic, ends)]
    return tuple(found)


def _moved(nic: Nic) -> float:
    return (nic.per_s.rx_bytes or 0.0) + (nic.per_s.tx_bytes or 0.0)


def receive(nic: Nic, ends: Ends) -> Path:
    """From the wire to the process."""
    rates = nic.per_s
    stages = (
        Stage("wire", _speed(nic), rates.rx_packets,
              lost=_sum(rates.phy_errors, rates.length_errors),
              why="damaged frames or frames of wrong length; no setting of this host helps"),
        Stage("port", _pause(nic), rates.rx_packets, lost=rates.phy_discards,
              why="packets discarded at the port, before the ring"
              if rates.phy_discards is not None else _unknown(nic)),
        Stage("ring", _ring(nic.ring.rx, nic.ring.rx_max), rates.rx_packets, lost=rates.ring_drops,
              why="no free receive descriptor"
              if rates.ring_drops is not None else _unknown(nic)),
        _core(nic, ends),
        Stage("backlog", _backlog(ends.backlog), _processed(ends.cores),
              lost=_sum(*(core.backlog_drops for core in ends.cores)),
              why="backlog of its CPUs full (used by RPS, tunnels and virtual devices)"),
        _receive_socket(ends),
        _process(ends.process, "rx"),
    )  # fmt: skip
    return _path(nic.name, "rx", stages, ends.reasons)


def send(nic: Nic, ends: Ends) -> Path:
    """From the process to the wire; the order of the stages is the same, the wire first."""
    rates = nic.per_s
    host = ends.host if ends.main else None
    stages = (
        Stage("wire", _speed(nic), rates.tx_packets),  # the other end counts what the wire loses
        Stage("tx-ring", _ring(nic.ring.tx, nic.ring.tx_max), rates.tx_packets,
              lost=rates.tx_dropped, why="dropped by driver or device on send"),
        Stage("qdisc", nic.leaf_qdisc or nic.qdisc or "", rates.tx_packets, lost=rates.qdisc_drops,
              why="dropped by the queueing discipline"),
        Stage("socket", "", host.tcp_out if host else None, "segments/s",
              host.udp_sndbuf_errors if host else None,
              "UDP send buffers full; counted for the whole host"
              if host else "counted for the whole host: see the path with most traffic"),
        _process(ends.process, "tx"),
    )  # fmt: skip
    return _path(nic.name, "tx", stages)


def _path(
    nic: str, direction: str, stages: tuple[Stage, ...], reasons: Reasons | None = None
) -> Path:
    losses = [stage for stage in stages if stage.lost]
    worst = max(losses, key=lambda stage: stage.lost or 0.0).name if losses else None
    return Path(nic, direction, stages, _sum(*(stage.lost for stage in stages)), worst, reasons)


def _core(nic: Nic, ends: Ends) -> Stage:
    cpu = nic.irq_top_cpu
    core = next((core for core in ends.cores if core.cpu == cpu), None)
    if core is None:
        return Stage("core", "no interrupt yet")
    place = f", node {core.node}" if nic.node is not None and core.node is not None else ""
    more = len(nic.irq_cpus) - 1
    rest = f" and {more} more" if more > 0 else ""
    return Stage("core", f"core {cpu}{rest}{place}", core.softirq, "% softirq")


def _receive_socket(ends: Ends) -> Stage:
    host = ends.host if ends.main else None
    if host is None:
        return Stage("socket", why="counted for the whole host: see the path with most traffic")
    lost = _sum(host.rcvq_drops, host.backlog_drops, host.udp_rcvbuf_errors)
    return Stage("socket", "", _sum(host.tcp_in, host.udp_in), lost=lost,
                 why="socket buffers full; counted for the whole host")  # fmt: skip


def _process(process: Process | None, way: str) -> Stage:
    """The busiest process with sockets on the interface."""
    if process is None:
        return Stage("process", "none seen")
    detail = f"{process.name}[{process.pid}]"
    if process.cpu is not None:
        detail += f" core {process.cpu}"
    if process.node is not None and process.nic_node is not None:
        detail += f", node {process.node}"
    if process.far:
        detail += " (other node)"
    rate = process.rx_per_s if way == "rx" else process.tx_per_s
    if process.udp and not rate:  # bytes of datagrams are not counted: no rate is known
        rate = None
    return Stage("process", detail, None if rate is None else 8 * rate, "bit/s")


LINK_ONLY: Final = "this driver's drops are not known by kind: link statistics only"


def _unknown(nic: Nic) -> str:
    return LINK_ONLY if nic.link_only else "this driver does not report it"


def _speed(nic: Nic) -> str:
    return "" if nic.speed is None else f"{nic.speed / 1e9:g} Gb/s"


def _pause(nic: Nic) -> str:
    return "sends pause frames" if nic.per_s.pause_tx else ""


def _ring(size: int | None, most: int | None) -> str:
    if size is None:
        return ""
    return f"{size}/{most}" if most is not None else str(size)


def _backlog(limit: float | None) -> str:
    return "" if limit is None else f"{limit:.0f}"


def _processed(cores: Sequence[Core]) -> float | None:
    return _sum(*(core.processed for core in cores))


def _sum(*values: float | None) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
