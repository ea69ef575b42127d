"""Cores as a table: node, load by kind, interrupts, queues, processes, drops."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ..facts import Facts
from ..terms.text import Line, cells, line, stacked
from ..terms.units import UNKNOWN, percent
from ..views.ask import Pointer
from ..views.view import Spot
from . import grid
from .corerow import rated
from .parts import (
    KINDS,
    SHARES,
    Cell,
    Column,
    Order,
    core_load,
    fitted,
    listing,
    load_role,
    marked,
    matches,
    ordered,
    shares,
    telling,
    window,
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
CORE: Final = "core:"  # rows of the cursor that are cores begin with it
MANY: Final = 16  # cores above which the busiest come first


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
    busy = line(*stacked(parts, 8), (f" {percent(load):>5}", load_role(core)))
    lost = core.backlog_drops
    clock = UNKNOWN if core.frequency is None else f"{core.frequency / 1e9:.2f}GHz"
    return (
        (f"{core.cpu}", "head"),
        (UNKNOWN if core.node is None else str(core.node), "dim"),
        busy,
        *shares(core),
        rated(core.nic_irqs),
        rated(core.processed),
        (" ".join(core.processes), "user"),
        (" ".join(core.queues), "accent"),
        rated(others(core)),
        (rated(core.squeezed)[0], "warn" if core.squeezed else "dim"),
        (rated(lost)[0], "bad" if lost else "dim"),
        rated(core.received_rps),
        (percent(core.ksoftirqd), "warn" if (core.ksoftirqd or 0) >= 10 else "dim"),
        (clock, "dim"),
    )


def core_of(here: str) -> int | None:
    """The number of the core that is a row of the cursor; None for a queue."""
    number = here.removeprefix(CORE)
    return int(number) if here.startswith(CORE) and number.isdecimal() else None


def at(place: Pointer) -> int | None:
    """The number of the core that was painted under the mouse; None where no core is.

    In a list the number comes first, also in the selected row, all of which has one role; in the
    load over time it follows a word.
    """
    part = place.part.split()[0] if place.part else ""
    if part not in ("CORES", "LOAD"):
        return None
    found, column, before = None, 0, ""
    for text, role in place.row:
        if column > place.x:
            break
        if text in ("│", "|"):  # the border of a part
            found = None
        word = text.split()[-1] if text.strip() else ""
        first = role == "head" or (role == "select" != before)
        if word.isdecimal() and (first or text.strip() == f"core {word}"):
            found = int(word)
        before = role
        column += cells(text)
    return found


def rows_of(facts: Facts, spot: Spot, by: Spot | None) -> list[Core]:
    """The cores that match the filter, in the order shown.

    `by` has an order of `ORDERS`; None: by number, of many the busiest first. A number in the
    filter is that of a core.
    """
    text = spot.filter
    shown = [
        core
        for core in facts.cores
        if (text == str(core.cpu) if text.isdecimal()
            else matches(text, f"cpu{core.cpu}", f"node {core.node}", *core.queues,
                         *core.processes))
        or not text
    ]  # fmt: skip
    if by is not None:
        return ordered(shown, ORDERS, by)
    if len(facts.cores) > MANY:
        shown.sort(key=lambda core: (-grid.weight(core), core.cpu))
    return shown


def listed(
    facts: Facts, shown: Sequence[Core], width: int, height: int, *,
    chosen: Sequence[str] = (), by: Spot | None = None, on: int | None = None,
) -> list[Line]:  # fmt: skip
    """The cores `shown` as rows; above them, where not all cores fit, a heat map of all.

    `on` is the number of the core under the cursor, which is always among the rows.
    """
    if height < 3 or not facts.cores:
        return []
    whole = len(facts.cores) + 1 <= height
    out = [] if whole else grid.heats(facts.cores, width, height)
    room = height - len(out) - 1
    places = {core.cpu: at for at, core in enumerate(shown)}
    cursor = places.get(-1 if on is None else on, -1)
    busiest = max(shown, key=lambda core: core_load(core) or 0.0, default=None)
    middle = cursor if cursor >= 0 or busiest is None else places[busiest.cpu]
    span = window(len(shown), 0 if len(facts.cores) > MANY and cursor < 0 else middle, room)
    rows = [core_cells(shown[at]) for at in span]
    table = fitted(COLUMNS, width, chosen or telling(COLUMNS, rows))
    title, down = ("", True) if by is None else marked(ORDERS, by)
    drawn = listing([table.row(one) for one in rows], cursor - span.start, width, room)
    return [*out, table.heading(title, down=down), *drawn]
