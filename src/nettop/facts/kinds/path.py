"""The path of packets through one NIC: rate and loss at each stage that counts them.

The stages, their order, their counters and their words are those of `facts.limits.stages`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ...collect.snmp import Row as SnmpRow
from ...frame.fields import gauge, label, light, maybe
from ...terms.dataclass import dataclass
from ..flow_words import total
from ..kind import Kind
from ..limits.stage import Stage
from .core import Core
from .host import HostFact
from .nic import Counters, Nic
from .process import Process

if TYPE_CHECKING:
    Ways = Mapping[str, Sequence[Stage]]  # by direction
Reasons = tuple[tuple[str, float], ...]


@light
@dataclass(frozen=True, slots=True)
class PathStage:
    """What passes one stage of the limit model and what is lost there, with its name."""

    name: str = label("stage")
    detail: str = gauge("details, e.g. 256/4096 or core 6", default="")
    rate: float | None = maybe("rate")
    unit: str = gauge("unit of the rate", default="packets/s")
    lost: float | None = maybe("packets lost at this stage; None: not reported", "packets/s")
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
    stages: tuple[PathStage, ...] = gauge("stages", default=())
    lost: float | None = maybe("sum of the known losses", "packets/s")
    worst: str | None = maybe("stage with most losses")
    reasons: tuple[tuple[str, float], ...] | None = maybe(
        "drop reasons of the kernel, most frequent first, each per second; for the whole host, "
        "on the receive path with most traffic; None: not counted"
    )


KIND = Kind(
    Path, "paths", parents={"nic": attrgetter("nic")}, needs_nic=True,
    names={"path": "path.direction"}, example={"nic": "eth0", "direction": "rx"},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ends:
    """The stages behind the NIC: its cores, the busiest process, and the losses of the host.

    The kernel counts losses of backlogs and sockets for the whole host, so only the path with the
    most traffic (`host` is known) shows them, and none where most traffic is on no card.
    """

    cores: Sequence[Core] = ()
    backlog: float | None = None  # limit of the backlog, packets
    process: Process | None = None
    host: HostFact | None = None
    reasons: Reasons | None = None


def build(
    nics: Sequence[Nic], cores: Mapping[int, Core], processes: Sequence[Process], host: HostFact,
    backlog: int | None, ways: Ways, reasons: Reasons | None = None,
) -> tuple[Path, ...]:  # fmt: skip
    """Both directions of each NIC that is up; `backlog` is net.core.netdev_max_backlog.

    `ways`: the stages by direction. `reasons`: why the kernel dropped packets, per second; it does
    not say of which interface.
    """
    ports = [nic for nic in nics if nic.kind == "nic" and nic.up is not False]
    main = max(ports, key=_moved, default=None)
    most = max(map(_moved, nics), default=0.0)  # of what is forwarded the card counts as much
    whole = host if main is not None and BESIDE * _moved(main) >= most else None
    found = []
    for nic in ports:
        above = {nic.name} | {other.name for other in nics if nic.name in other.lower}
        busiest = next((p for p in processes if p.networked and p.nic in above), None)
        served = [cores[cpu] for cpu in nic.irq_cpus if cpu in cores]
        ends = Ends(served, backlog, busiest, whole if nic is main else None,
                    reasons if nic is main else None)  # fmt: skip
        found += [through(nic, ends, direction, way) for direction, way in ways.items()]
    return tuple(found)


def _moved(nic: Nic) -> float:
    return (nic.per_s.rx_bytes or 0.0) + (nic.per_s.tx_bytes or 0.0)


def through(nic: Nic, ends: Ends, direction: str, way: Sequence[Stage]) -> Path:
    """The stages of a direction that count packets, the wire first."""
    known = [_stage(stage, nic, ends, direction) for stage in way]
    stages = tuple(stage for stage in known if stage is not None)
    stages = stages if direction == "rx" else stages[::-1]
    reasons = ends.reasons if direction == "rx" else None
    return summed(Path(nic.name, direction, reasons=reasons), stages)


def summed(path: Path, stages: Sequence[PathStage]) -> Path:
    """The path with these stages, the sum of their losses, and the one that loses most."""
    losses = [stage for stage in stages if stage.lost]
    worst = max(losses, key=lambda stage: stage.lost or 0.0).name if losses else None
    lost = total(stage.lost for stage in stages)
    return replace(path, stages=tuple(stages), lost=lost, worst=worst)


def lost(stage: Stage, counters: Counters, direction: str) -> float | None:
    """What a stage of the device loses, by its counters or their rates; None: not reported."""
    return total(getattr(counters, name) for name in stage.losses(direction))


def lost_here(stage: Stage, counts: HostFact | SnmpRow) -> float | None:
    """What a stage behind the device loses of what the whole host receives; None: not reported."""
    return total(getattr(counts, name) for name in stage.lost_here)


def _stage(stage: Stage, nic: Nic, ends: Ends, direction: str) -> PathStage | None:
    """What passes a stage and what it loses; None for a stage that counts no packets."""
    moved: float | None = getattr(nic.per_s, f"{direction}_packets")
    if stage.losses(direction):
        gone = lost(stage, nic.per_s, direction)
        why = stage.why if gone is not None else _unknown(nic)
        return PathStage(stage.name, _detail(stage.name, nic), moved, lost=gone, why=why)
    if stage.name == "wire":  # the other end counts what the wire loses
        return PathStage(stage.name, _detail(stage.name, nic), moved)
    if stage.name == "core" and direction == "rx":
        return _core(nic, ends)
    if stage.name == "backlog":
        return _of_host(stage, ends, "" if ends.backlog is None else f"{ends.backlog:.0f}",
                        total(core.processed for core in ends.cores), "packets/s",
                        partial(lost_here, stage))  # fmt: skip
    host = ends.host
    if stage.name == "rcvbuf":
        received = total((host.tcp_in, host.udp_in)) if host else None
        return _of_host(stage, ends, "", received, "packets/s", partial(lost_here, stage))
    if stage.name == "sndbuf":
        return _of_host(stage, ends, "", host.tcp_out if host else None, "segments/s",
                        lambda host: host.udp_sndbuf_errors)  # fmt: skip
    return _process(ends.process, direction) if stage.name == "thread" else None


def _of_host(
    stage: Stage, ends: Ends, detail: str, rate: float | None, unit: str,
    gone: Callable[[HostFact], float | None],
) -> PathStage:  # fmt: skip
    """A stage whose losses the kernel counts for the whole host."""
    if ends.host is None:
        return PathStage(stage.name, detail, rate, unit, None, f"{_WHOLE}: {_ELSEWHERE}")
    return PathStage(stage.name, detail, rate, unit, gone(ends.host), f"{stage.why}; {_WHOLE}")


def _detail(stage: str, nic: Nic) -> str:
    """The setting of a stage of the device."""
    match stage:
        case "wire":
            return "" if nic.speed is None else f"{nic.speed / 1e9:g} Gb/s"
        case "port":
            return "sends pause frames" if nic.per_s.pause_tx else ""
        case "ring":
            return _ring(nic.ring.rx, nic.ring.rx_max)
        case "tx-ring":
            return _ring(nic.ring.tx, nic.ring.tx_max)
        case "qdisc":
            return nic.leaf_qdisc or nic.qdisc or ""
    return ""


def _core(nic: Nic, ends: Ends) -> PathStage:
    cpu = nic.irq_top_cpu
    core = next((core for core in ends.cores if core.cpu == cpu), None)
    if core is None:
        return PathStage("core", "no interrupt yet")
    place = f", node {core.node}" if nic.node is not None and core.node is not None else ""
    more = len(nic.irq_cpus) - 1
    rest = f" and {more} more" if more > 0 else ""
    return PathStage("core", f"core {cpu}{rest}{place}", core.softirq, "% softirq")


def _process(process: Process | None, way: str) -> PathStage:
    """The busiest process with sockets on the interface."""
    if process is None:
        return PathStage("thread", "none seen")
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
    return PathStage("thread", detail, None if rate is None else 8 * rate, "bit/s")


BESIDE: Final = 2.0  # times the bytes of the busiest card on another interface: they are its own
_WHOLE: Final = "counted for the whole host"
_ELSEWHERE: Final = "see the path with most traffic, if that is of a card"
LINK_ONLY: Final = "this driver's drops are not known by kind: link statistics only"


def _unknown(nic: Nic) -> str:
    return LINK_ONLY if nic.link_only else "this driver does not report it"


def _ring(size: int | None, most: int | None) -> str:
    if size is None:
        return ""
    return f"{size}/{most}" if most is not None else str(size)
