"""Cores as a table: node, load by kind, interrupts, queues, processes, drops."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ..facts import Facts
from ..terms.text import Line, line, stacked
from ..terms.units import UNKNOWN, brief, percent
from ..views.view import Spot
from . import grid
from .parts import (
    KINDS,
    SHARES,
    Cell,
    Column,
    Order,
    core_load,
    fitted,
    marked,
    names_of,
    ordered,
    shares,
)

if TYPE_CHECKING:
    from ..facts.kinds.core import Core

COLUMNS: Final = (
    Column("CORE", 4, ">"),
    Column("NODE", 4, ">"),
    Column("BUSY", 14),
    *(Column(short, 3, ">") for _, short, _, _ in SHARES),
    Column("NIC IRQ/s", 9, ">"),
    Column("PACKETS/s", 9, ">"),
    Column("PROCESSES", 11, grow=3),
    Column("QUEUES", 14, grow=3),
    Column("OTHER IRQ/s", 11, ">"),
    Column("SQUEEZED/s", 10, ">"),
    Column("LOST/s", 6, ">"),
    Column("RPS/s", 6, ">"),
    Column("KSOFTIRQD", 9, ">"),
    Column("CLOCK", 8, ">"),
)
LEAST: Final = 76  # columns from which all cores are this table


def others(core: Core) -> float | None:
    """The interrupts of devices other than NICs, as disks, per second."""
    if core.all_irqs is None or core.nic_irqs is None:
        return None
    return max(0.0, core.all_irqs - core.nic_irqs)


ORDERS: Final[Sequence[Order[Core]]] = (
    Order("CORE", lambda core: float(core.cpu)),
    Order("NODE", lambda core: core.node),
    Order("BUSY", core_load),
    *(Order(short, attrgetter(name)) for name, short, _, _ in SHARES),
    Order("NIC IRQ/s", lambda core: core.nic_irqs),
    Order("PACKETS/s", lambda core: core.processed),
    Order("QUEUES", lambda core: float(len(core.queues))),
    Order("PROCESSES", lambda core: float(len(core.processes))),
    Order("OTHER IRQ/s", others),
    Order("SQUEEZED/s", lambda core: core.squeezed),
    Order("LOST/s", lambda core: core.backlog_drops),
    Order("RPS/s", lambda core: core.received_rps),
    Order("KSOFTIRQD", lambda core: core.ksoftirqd),
    Order("CLOCK", lambda core: core.frequency),
)


def core_cells(core: Core) -> tuple[Cell, ...]:
    """The cells of one core, one per column."""
    load = core_load(core)
    parts = [(getattr(core, name), glyph, role) for name, _, glyph, role in KINDS]
    hot = "bad" if (load or 0) >= 90 else "warn" if (load or 0) >= 70 else ""
    busy = line(*stacked(parts, 8), (f" {percent(load):>5}", hot or ("" if load else "dim")))
    lost = core.backlog_drops
    clock = UNKNOWN if core.frequency is None else f"{core.frequency / 1e9:.2f}GHz"
    return (
        (f"{core.cpu}", "head"),
        (UNKNOWN if core.node is None else str(core.node), "dim"),
        busy,
        *shares(core),
        _rate(core.nic_irqs),
        _rate(core.processed),
        (" ".join(core.processes), "user"),
        (" ".join(core.queues), "accent"),
        _rate(others(core)),
        (_rate(core.squeezed)[0], "warn" if core.squeezed else "dim"),
        (_rate(lost)[0], "bad" if lost else "dim"),
        _rate(core.received_rps),
        (percent(core.ksoftirqd), "warn" if (core.ksoftirqd or 0) >= 10 else "dim"),
        (clock, "dim"),
    )


def _rate(per_s: float | None) -> tuple[str, str]:
    if per_s is None:
        return UNKNOWN, "dim"
    return brief(round(per_s)), "" if per_s >= 0.5 else "dim"


def listed(
    facts: Facts, width: int, height: int, chosen: Sequence[str] = (), by: Spot | None = None
) -> list[Line]:
    """All cores if they fit into `height`; else a heat map of all, and the busiest as rows.

    `by` has an order of `ORDERS`, for the rows; None: by number, or the busiest first.
    """
    cores = facts.cores
    if height < 3 or not cores:
        return []
    out: list[Line] = []
    shown = list(cores) if by is None else ordered(cores, ORDERS, by)
    if len(cores) + 1 > height:
        out = grid.heats(cores, width, height)
        if by is None:
            shown = sorted(cores, key=lambda core: (-grid.weight(core), core.cpu))
        shown = shown[: max(0, height - len(out) - 1)]
    rows = [core_cells(core) for core in shown]
    table = fitted(COLUMNS, width, chosen or _known(rows))
    title, down = ("", True) if by is None else marked(ORDERS, by)
    return [*out, table.heading(title, down=down), *(table.row(cells) for cells in rows)]


def _known(rows: Sequence[tuple[Cell, ...]]) -> tuple[str, ...]:
    """The columns in which at least one core has a known value."""
    names = names_of(COLUMNS)
    return tuple(
        name
        for index, name in enumerate(names)
        if any(cells[index] not in ((UNKNOWN, "dim"), (UNKNOWN, "")) for cells in rows)
    )


def shows(facts: Facts, width: int, height: int, chosen: Sequence[str] = ()) -> bool:
    """Whether to show this table instead of compact rows: wide enough, or columns are chosen."""
    whole = len(facts.cores) + 1 <= height
    return bool(chosen) or (width >= LEAST and whole) or width >= 160
