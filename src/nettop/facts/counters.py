"""The counters of an interface, from the kernel's and the driver's statistics.

The kernel's counters (include/uapi/linux/if_link.h) have different meanings in different drivers.
Losses in the receive ring are those that the driver's own statistics name (`nicstats`), else those
that its queues counted, else the link statistic that the driver table names for them. A driver that
the table lacks counts them in rx_missed_errors or rx_fifo_errors, as most drivers do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import cache
from operator import attrgetter
from typing import Any, Final, NamedTuple

from ..collect.classes import Row as ClassRow
from ..collect.fec import Row as FecRow
from ..collect.link_stats import Row as LinkStatsRow
from ..collect.links import Row as LinkRow
from ..collect.netdev import Row as NetDevRow
from ..collect.nicstats import Row as NicStatsRow
from ..collect.pause import Row as PauseRow
from ..collect.qdiscs import Row as QdiscRow
from ..collect.queues import Row as QueueRow
from ..frame.rates import Entry
from ..terms import formulas
from ..terms.dataclass import dataclass
from .flow_words import total
from .kinds.nic import Counters, Nic

SOON: Final = 0.5  # seconds, of which some events have no rate
SHORT: Final = 10.0  # seconds of a look at what nettop's programs count
PASSED: Final = 2.0  # times the kernel's bytes: more at the port passes the kernel by
LEAST: Final = 1e6  # bytes a second: less than that is frames of the port itself
MARGIN: Final = 1.1  # counters are read and updated at different times
_NAMES: Final = tuple(f.name for f in fields(Counters))


class Parts(NamedTuple):
    """The rows of one interface, either all present values or all rates; None: not read."""

    link: LinkStatsRow | None = None
    dev: NetDevRow | None = None
    driver: NicStatsRow | None = None
    fifo: str = "ring_drops"  # what the driver's `fifo_drops` are: `ring_drops` or `phy_discards`
    pause: PauseRow | None = None
    flags: LinkRow | None = None
    qdisc_drops: float | None = None
    interrupts: float | None = None
    timeouts: float | None = None
    queue_drops: float | None = None  # at the rings of all receive queues
    fec: FecRow | None = None


def combine(parts: Parts, *, hardware: bool, link_ring: str | None = None) -> Counters:
    """The counters of one interface; `hardware`: it has a receive ring of its own.

    `link_ring`: the link statistic that counts only packets lost there; empty if none does; None if
    the driver table lacks the driver.
    """
    driver, pause, link = parts.driver, parts.pause, parts.link
    if link is not None:
        values = _of_link(link)
        values["ring_drops"] = _ring_of_link(link, link_ring) if hardware else None
    elif parts.dev is not None:
        values = _of_dev(parts.dev)
        # /proc/net/dev adds rx_missed_errors to the dropped packets, which the stack counts too
        counted = hardware and link_ring in (None, "rx_fifo_errors")
        values["ring_drops"] = parts.dev.rx_fifo if counted else None
    else:
        values = {}
    if parts.queue_drops is not None:
        values["ring_drops"] = parts.queue_drops
    if pause is not None:
        values["pause_rx"], values["pause_tx"] = pause.rx_frames, pause.tx_frames
    values["qdisc_drops"] = parts.qdisc_drops
    values["interrupts"] = parts.interrupts
    values["tx_timeouts"] = parts.timeouts
    if parts.fec is not None:
        values["fec_lost"] = parts.fec.uncorrectable
    if parts.flags is not None:
        values["carrier_changes"] = parts.flags.carrier_changes
    if driver is not None:
        kind: type = type(driver)
        names, get = _driver(kind)
        own = {n: v for n, v in zip(names, get(driver), strict=True) if v is not None}
        if driver.fifo_drops is not None:
            own[parts.fifo] = (own.get(parts.fifo) or 0.0) + driver.fifo_drops
        if link_ring is None and own.get("phy_discards"):  # an unknown driver: the same packets
            values["ring_drops"] = None
        values |= own
    if hardware:
        values |= _errors(link or parts.dev, total(map(values.get, LOST)) or 0.0)
    return Counters(**values)


def _errors(row: LinkStatsRow | NetDevRow | None, known: float) -> dict[str, float | None]:
    """The errors of the link whose kind neither it nor the driver counts; `known`: all the kinds.

    Some drivers add packets that no buffer took to rx_errors, others do not.
    """
    if row is None:
        return {}
    names = _ERRORS if hasattr(row, "rx_crc_errors") else ("rx_frame", "rx_fifo", "rx_drop")
    kinds = sum(getattr(row, name) or 0.0 for name in names)
    errors: float | None = row.rx_errors  # None: the counter began again
    other = None if errors is None else max(0.0, errors - max(kinds, known))
    return {"rx_errors": other, "tx_errors": row.tx_errors}


_ERRORS: Final = ("rx_length_errors", "rx_over_errors", "rx_crc_errors", "rx_frame_errors",
                  "rx_fifo_errors", "rx_missed_errors")  # fmt: skip


def beyond(nic: Nic, size: float | None, count: float | None) -> bool:
    """Whether these rates of bytes and packets are more than the link carries: a counter jumped.

    Known only where each packet counted crosses the link: not where virtual functions pass packets
    to each other inside the device.
    """
    if nic.kind != "nic" or nic.para or nic.sriov_vfs or not nic.speed:
        return False
    return formulas.counted_to_wire(size or 0.0, count or 0.0) > MARGIN * nic.speed


LOST: Final = ("phy_errors", "length_errors", "phy_discards", "ring_drops")
"""What is lost of received frames, by kind."""

DRIVER: Final = tuple(
    name
    for name in _NAMES
    if name not in ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "interrupts",
                    "rx_errors", "tx_errors", "qdisc_drops", "carrier_changes", "fec_lost")
)  # fmt: skip
"""The counters for which the driver's statistics are better than the kernel's."""


@cache
def _driver(
    kind: type,
) -> tuple[tuple[str, ...], Callable[[NicStatsRow], tuple[float | None, ...]]]:
    """The names of `DRIVER` that a row has, and the function that returns their values."""
    known = {f.name for f in fields(kind)}
    names = tuple(name for name in DRIVER if name in known)
    return names, attrgetter(*names)


def fifo(nic: Nic, ring_drops_unless: str | None, rate: NicStatsRow | None) -> str:
    """What a receive FIFO lost: `ring_drops` behind a full ring, `phy_discards` at a slow bus."""
    if rate is not None and rate.ring_waits is not None:
        return "ring_drops" if rate.ring_waits else "phy_discards"
    if not ring_drops_unless or (nic.rx_queues or 0) < 2:
        return "ring_drops"
    return "phy_discards" if getattr(nic.pause, ring_drops_unless) is False else "ring_drops"


def known_by_kind(driver: NicStatsRow | None, queue_drops: float | None) -> bool:
    """Whether the driver or its queues count the losses of the ring or the port."""
    kinds = (getattr(driver, name, None) for name in ("ring_drops", "phy_discards", "fifo_drops"))
    return queue_drops is not None or any(value is not None for value in kinds)


def _ring_of_link(row: LinkStatsRow, link_ring: str | None) -> float | None:
    if link_ring is None:  # many drivers count one loss in both
        return largest((row.rx_missed_errors, row.rx_fifo_errors))
    count: float | None = getattr(row, link_ring) if link_ring else None
    return count


def _of_link(row: LinkStatsRow) -> dict[str, float | None]:
    return {
        "rx_bytes": row.rx_bytes, "tx_bytes": row.tx_bytes,
        "rx_packets": row.rx_packets, "tx_packets": row.tx_packets,
        "rx_dropped": row.rx_dropped, "tx_dropped": row.tx_dropped,
        "rx_missed": row.rx_missed_errors,
        "phy_errors": total((row.rx_crc_errors, row.rx_frame_errors)),
        "length_errors": row.rx_length_errors,
        "rx_foreign": row.rx_otherhost_dropped,
    }  # fmt: skip


def _of_dev(row: NetDevRow) -> dict[str, float | None]:
    return {
        "rx_bytes": row.rx_bytes, "tx_bytes": row.tx_bytes,
        "rx_packets": row.rx_packets, "tx_packets": row.tx_packets,
        "rx_dropped": row.rx_drop, "tx_dropped": row.tx_drop,
        "phy_errors": row.rx_frame,
    }  # fmt: skip


def grown(entry: Entry[Any], counter: str) -> float | None:
    """The rate of what nettop's programs count, in a short look the mean of all of it.

    A new row was 0 when they began, and packets that are refused come in bursts. A row that is read
    as soon as they begin has no mean yet: one event in the first millisecond is not 1000 a second.
    """
    rate = entry.rate(counter)
    if rate is None and 0 < entry.now.seconds < SOON:
        return None
    if entry.now.seconds and (rate is None or entry.now.seconds <= SHORT):
        return float(getattr(entry.now, counter) / entry.now.seconds)
    return rate


def largest(values: Iterable[float | None]) -> float | None:
    """The largest known value; None without any."""
    return max((value for value in values if value is not None), default=None)


def middle(values: Iterable[float]) -> float | None:
    """The median; None without values. The module `statistics` takes 10 ms to import."""
    known = sorted(values)
    half = len(known) // 2
    if not known:
        return None
    return known[half] if len(known) % 2 else (known[half - 1] + known[half]) / 2


def passed_by(rate: Counters) -> bool:
    """Whether most of what the port counts passes the kernel by, in one direction at least."""
    both = (rate.port_rx_bytes, rate.rx_bytes), (rate.port_tx_bytes, rate.tx_bytes)
    return any(
        port is not None and own is not None and port > PASSED * own + LEAST for port, own in both
    )


def qdiscs(
    entries: Iterable[Entry[QdiscRow]], classes: Iterable[Entry[ClassRow]]
) -> dict[str, RootQdisc]:
    """The root qdisc of each interface with its drops (those of mq include its leaves).

    Those of htb and hfsc include those of their leaf classes, some of whose queues are not listed
    (net/sched/sch_htb.c, htb_enqueue() and TCQ_F_INVISIBLE).
    """
    roots: dict[str, RootQdisc] = {}
    leaves: dict[str, str] = {}
    below: dict[str, float] = {}
    for one in classes:
        if one.now.leaf and one.per_s is not None:
            lost = one.per_s.drops or 0.0
            below[one.now.interface] = below.get(one.now.interface, 0.0) + lost
    for entry in entries:
        row, rate = entry.now, entry.per_s
        if row.root:
            drops = rate.drops if rate is not None else None
            roots[row.interface] = RootQdisc(row.kind, None, row.drops, drops, row.backlog)
        elif row.parent != "ingress":
            leaves.setdefault(row.interface, row.kind)
    for name, kind in leaves.items():
        root = roots.get(name)
        if root is not None and root.kind in ("mq", "mqprio", "multiq"):
            roots[name] = replace(root, leaf=kind)
    for name, lost in below.items():
        root = roots.get(name)
        if root is not None and root.drops_per_s is not None:
            roots[name] = replace(root, filtered=max(0.0, root.drops_per_s - lost))
    return roots


@dataclass(frozen=True, slots=True)
class RootQdisc:
    """The root queueing discipline of an interface."""

    kind: str
    leaf: str | None = None
    drops: float | None = None
    drops_per_s: float | None = None
    backlog: int | None = None  # bytes, including its children
    filtered: float | None = None  # drops a second of a classful one that none of its leaves had


def timeouts(queues: Iterable[Entry[QueueRow]]) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Transmit queue timeouts by interface: the counts, and the rates per second."""
    counted: dict[str, float] = {}
    rates: dict[str, float] = {}
    for entry in queues:
        row, rate = entry.now, entry.per_s
        if row.tx_timeouts is not None:
            counted[row.nic] = counted.get(row.nic, 0) + row.tx_timeouts
        if rate is not None and rate.tx_timeouts is not None:
            rates[row.nic] = rates.get(row.nic, 0) + rate.tx_timeouts
    return counted, rates
