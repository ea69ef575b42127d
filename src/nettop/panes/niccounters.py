"""The counters of an interface, the losses among them, and its queues: parts of the pane NIC."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Final

from ..terms import cpulist
from ..terms.text import Line, clauses, fit_line, line
from ..terms.units import amount, count, packets, per_second, share
from ..views.scene import Scene, nic_of
from ..views.view import View
from .parts import Cell, Column, heading, matches, row, section, widths

if TYPE_CHECKING:
    from ..facts.kinds.nic import Nic
    from ..facts.kinds.queue import Queue

_BAD_WORDS: Final = ("drop", "err", "miss", "discard", "lost")
_BAD: Final = frozenset(
    "rx_dropped tx_dropped rx_missed ring_drops alloc_fails phy_errors length_errors phy_discards"
    " tx_timeouts qdisc_drops allowance_bw_in allowance_bw_out allowance_pps"
    " allowance_conntrack allowance_linklocal xdp_fails fec_lost".split()
)


def losses(nic: Nic, width: int) -> list[Line]:
    """One line with the drop and error counters that rise, the fastest first; [] for none."""
    rising = [(rate, name) for name in _BAD if (rate := getattr(nic.per_s, name, None))]
    texts = [f"{name} {per_second(rate)}" for rate, name in sorted(rising, reverse=True)]
    text = f" ✗ {clauses(' · '.join(texts), width - 4)}"
    return [fit_line(line((text, "bad")), width)] if texts else []


def counters(scene: Scene, view: View, width: int) -> list[Line]:
    """Counters with rate and total: drop counters that rise first, idle counters last."""
    nic = nic_of(scene, view)
    if nic is None:
        return []
    columns = (
        Column(" counter", 16, grow=1),
        Column("per second", 15, ">"),
        Column("since creation", 15, ">"),
    )
    sizes = widths(columns, width)
    rows: list[tuple[tuple[bool, bool, str], Line]] = []
    every = list(_values(scene, view, nic))
    named = [one for one in every if matches(view.spot.filter, one[0])]
    for name, rate, total, bad in named or every:  # a filter may be meant for the settings alone
        role = "bad" if bad and rate else "warn" if bad and total else "" if rate else "dim"
        each = scene.units.rate(rate) if name in ("rx_bytes", "tx_bytes") else per_second(rate)
        text = row(((f" {name}", role), (each, role), (count(total), role)), columns, sizes)
        rows.append(((not (bad and rate), not rate, name), text))
    rows.sort(key=lambda pair: pair[0])
    head = [heading(columns, sizes)]
    if nic.link_only and not view.driver_names:
        head.append(fit_line(line((" drops not by kind: link statistics only", "warn")), width))
    return [*head, *(text for _, text in rows)]


def _values(
    scene: Scene, view: View, nic: Nic
) -> Iterator[tuple[str, float | None, float | None, bool]]:
    """Each counter: name, rate per second, total, whether it counts drops or errors."""
    if view.driver_names and scene.frame is not None:
        tables = scene.frame.tables
        for entry in (*tables.get("nicstats_raw", ()), *tables.get("ethstats", ())):
            now = entry.now
            if now.interface == nic.name:
                value = now.value if now.value is not None else now.level
                bad = any(word in now.name.lower() for word in _BAD_WORDS)
                yield now.name, entry.rate("value"), value, bad
        return
    for field in fields(nic.total):
        rate, total = getattr(nic.per_s, field.name), getattr(nic.total, field.name)
        if rate is not None or total is not None:
            yield field.name, rate, total, field.name in _BAD


def queues(scene: Scene, nic: Nic, width: int, height: int) -> list[Line]:
    """The interface's queues: the core of each, and its share of the packets."""
    own = [q for q in (scene.facts.queues if scene.facts else ()) if q.nic == nic.name]
    if height < 4 or not own:
        return []
    columns = (
        Column(" queue", 10, grow=1), Column("IRQ", 5, ">"), Column("core", 5, ">"),
        Column("interrupts", 10, ">"), Column("packets", 10, ">"), Column("share", 6, ">"),
        Column("RPS, XPS", 12, grow=2),
    )  # fmt: skip
    sizes = widths(columns, width)
    busiest = sorted(own, key=lambda q: (-(q.packets_per_s or 0.0), q.direction, q.number))
    out = [section("QUEUES", f"{count(len(own))}, busiest first", width)]
    out.append(heading(columns, sizes))
    return out + [row(queue_cells(queue), columns, sizes) for queue in busiest[: height - 2]]


def queue_cells(queue: Queue) -> tuple[Cell, ...]:
    """The cells of one queue, one per column."""
    return (
        f" {queue.name}",
        (amount(queue.irq), "dim"),
        (amount(queue.cpu), "warn" if queue.off_node else ""),
        per_second(queue.irq_per_s),
        packets(queue.packets_per_s),
        share(queue.share),
        (cpulist.text(queue.rps_cpus), "key"),
    )
