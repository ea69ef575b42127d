"""What an interface counted, folded from the kernel's and the driver's many names into few.

The kernel's own counters (include/uapi/linux/if_link.h) mean different things by driver. The loss
at the receive ring is what the driver's own statistics name (`nicstats`), else what its queues
counted, else the link statistic that the driver table names for it. Of a driver that is not in the
table, it is rx_missed_errors or rx_fifo_errors, where most drivers count it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from operator import attrgetter
from typing import Any, Final

from .kinds.nic import Counters

_NAMES: Final = tuple(f.name for f in fields(Counters))


@dataclass(frozen=True, slots=True)
class Parts:
    """The rows of one interface, all as they are now or all as rates; None: not read."""

    link: Any = None  # of link_stats
    dev: Any = None  # of netdev
    driver: Any = None  # of nicstats
    pause: Any = None
    flags: Any = None  # of links
    qdisc_drops: float | None = None
    interrupts: float | None = None
    timeouts: float | None = None
    queue_drops: float | None = None  # at the rings of all receive queues


def fold(parts: Parts, *, hardware: bool, link_ring: str | None = None) -> Counters:
    """One interface's counters; `hardware`: it has a receive ring of its own.

    `link_ring`: the link statistic that counts only packets lost there; empty when none does; None
    when the driver is not in the table.
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
    if parts.flags is not None:
        values["carrier_changes"] = parts.flags.carrier_changes
    if driver is not None:
        kind: Any = type(driver)
        names, told_by = _told(kind)
        for name, told in zip(names, told_by(driver), strict=True):
            if told is not None:
                values[name] = told
    return Counters(**values)


DRIVER: Final = tuple(
    name
    for name in _NAMES
    if name not in ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "interrupts",
                    "qdisc_drops", "carrier_changes")
)  # fmt: skip
"""What the driver's own statistics know better than the kernel's."""


@cache
def _told(kind: Any) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Of `DRIVER`, what such a row has: names, and all their values in one go."""
    known = {f.name for f in fields(kind)}
    names = tuple(name for name in DRIVER if name in known)
    return names, attrgetter(*names)


def known_by_kind(driver: Any, queue_drops: float | None) -> bool:
    """Whether the driver or its queues count what the ring or the port lost."""
    kinds = (getattr(driver, name, None) for name in ("ring_drops", "phy_discards"))
    return queue_drops is not None or any(value is not None for value in kinds)


def _ring_of_link(row: Any, link_ring: str | None) -> float | None:
    if link_ring is None:  # many drivers put one loss into both
        return largest(row.rx_missed_errors, row.rx_fifo_errors)
    count: float | None = getattr(row, link_ring) if link_ring else None
    return count


def _of_link(row: Any) -> dict[str, Any]:
    return {
        "rx_bytes": row.rx_bytes, "tx_bytes": row.tx_bytes,
        "rx_packets": row.rx_packets, "tx_packets": row.tx_packets,
        "rx_dropped": row.rx_dropped, "tx_dropped": row.tx_dropped,
        "rx_missed": row.rx_missed_errors,
        "phy_errors": total((row.rx_crc_errors, row.rx_frame_errors)),
        "length_errors": row.rx_length_errors,
    }  # fmt: skip


def _of_dev(row: Any) -> dict[str, Any]:
    return {
        "rx_bytes": row.rx_bytes, "tx_bytes": row.tx_bytes,
        "rx_packets": row.rx_packets, "tx_packets": row.tx_packets,
        "rx_dropped": row.rx_drop, "tx_dropped": row.tx_drop,
        "phy_errors": row.rx_frame,
    }  # fmt: skip


def total(values: Iterable[float | None]) -> float | None:
    """The sum of what is known; None when nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def largest(*values: float | None) -> float | None:
    """The largest of what is known; None when nothing is."""
    return max((value for value in values if value is not None), default=None)


def middle(values: Iterable[float]) -> float | None:
    """The median; None of nothing. The standard library's `statistics` takes 10 ms to import."""
    known = sorted(values)
    half = len(known) // 2
    if not known:
        return None
    return known[half] if len(known) % 2 else (known[half - 1] + known[half]) / 2


def qdiscs(entries: Iterable[Any]) -> dict[str, Qdisc]:
    """The root qdisc of each interface with its drops (mq sums up those of its leaves)."""
    found: dict[str, Qdisc] = {}
    leaves: dict[str, str] = {}
    for entry in entries:
        row, rate = entry.now, entry.per_s
        if row.root:
            drops = rate.drops if rate is not None else None
            found[row.interface] = Qdisc(row.kind, None, row.drops, drops)
        elif row.parent != "ingress":
            leaves.setdefault(row.interface, row.kind)
    for name, kind in leaves.items():
        root = found.get(name)
        if root is not None and root.kind in ("mq", "mqprio", "multiq"):
            found[name] = Qdisc(root.kind, kind, root.drops, root.drops_per_s)
    return found


@dataclass(frozen=True, slots=True)
class Qdisc:
    """An interface's queueing discipline."""

    kind: str
    leaf: str | None = None
    drops: float | None = None
    drops_per_s: float | None = None


def timeouts(queues: Iterable[Any]) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Transmit watchdog firings by interface: counted, and per second."""
    counted: dict[str, float] = {}
    rates: dict[str, float] = {}
    for entry in queues:
        row, rate = entry.now, entry.per_s
        if row.tx_timeouts is not None:
            counted[row.nic] = counted.get(row.nic, 0) + row.tx_timeouts
        if rate is not None and rate.tx_timeouts is not None:
            rates[row.nic] = rates.get(row.nic, 0) + rate.tx_timeouts
    return counted, rates
