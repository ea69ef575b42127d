"""The matrix of queues and cores: its heading, its rows, and the cell of a queue and a core.

Where a matrix has no room, the queues are a table, each with the core that serves it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from ..facts import Facts
from ..terms import cpulist
from ..terms.text import Line, cells, fit, fit_line, level, line
from ..terms.units import brief, packets
from ..views.scene import Scene
from . import corelist, grid
from .parts import (
    SHARES,
    Cell,
    Column,
    column_of,
    core_load,
    fitted,
    heading,
    load_role,
    main_kind,
    telling,
)

if TYPE_CHECKING:
    from ..facts.kinds.core import Core
    from ..facts.kinds.queue import Queue


Row: TypeAlias = "tuple[str, list[Queue]]"  # the queues of one interrupt, by the name of the first
CELL: Final = 6  # cells of text that a core takes
_HEAD: Final = 17  # of a row's interrupt number and rate
_PACKETS: Final = 10
HOT: Final = 90.0  # percent: the queues of a core with this load come first, and are marked


def spread(scene: Scene) -> Mapping[int, Mapping[int, float]]:
    """Interrupts per second by IRQ and CPU, from /proc/interrupts."""
    out: dict[int, Mapping[int, float]] = {}
    if scene.frame is None:
        return out
    for entry in scene.frame.tables.get("interrupts", ()):
        if entry.per_s is None:
            continue
        name = str(getattr(entry.per_s, "irq", ""))
        counts = getattr(entry.per_s, "by_cpu", None)
        if counts and name.isdigit():
            out[int(name)] = counts
    return out


def cell(
    group: Sequence[Queue], cpu: int, rates: Mapping[int, Mapping[int, float]]
) -> tuple[str, str]:
    """The cell of a queue and a core: text and role."""
    first = group[0]
    by_cpu = rates.get(first.irq, {}) if first.irq is not None else {}
    rate = by_cpu.get(cpu, 0.0)
    if not by_cpu and cpu == first.cpu:
        rate = first.irq_per_s or 0.0
    if rate >= 0.5:
        return brief(round(rate)), "accent"
    rx = any(q.direction == "rx" and cpu in q.rps_cpus for q in group)
    tx = any(q.direction == "tx" and cpu in q.rps_cpus for q in group)
    if rx or tx:
        return ("*" if rx and tx else "+" if rx else "-"), "key"
    if first.allowed and cpu not in first.allowed:
        return ".", "faint"
    if cpu == first.cpu:
        return "0", "dim"
    return "", ""


def label_of(rows: Sequence[Row], cores: int, width: int) -> tuple[int, bool]:
    """The width of a row's head, whether it has the packet rate; names are whole if they fit."""
    longest = max((cells(whole(name, group)) for name, group in rows), default=0) + 1
    free = width - cores * CELL
    if free >= _HEAD + _PACKETS + 11 or width >= 100:
        least = _HEAD + _PACKETS + (17 if width >= 100 else 11)
        return max(least, min(free, _HEAD + _PACKETS + longest)), True
    return max(_HEAD + 11, min(free, _HEAD + longest)), False


def ending(name: str, width: int) -> str:
    """The name, or its end: the number of a queue tells it from the others."""
    return name if cells(name) <= width else f"…{name[len(name) - width + 1 :]}"


def whole(name: str, group: Sequence[Queue]) -> str:
    """The name of a row: all queues that share its interrupt."""
    return name + ("+" + group[1].name if len(group) > 1 else "")


def titles(label: int, order: tuple[str, bool], *, with_packets: bool) -> Line:
    """The titles of the columns at the left; `order`: the sorted one, and whether it falls."""
    name = label - _HEAD - _PACKETS * with_packets - 2
    columns = [Column("QUEUE", name), Column("IRQ", 5, ">"), Column("IRQ/s", 8, ">")]
    columns += [Column("PACKETS", _PACKETS, ">")] * with_packets
    title, down = order
    shown = heading(columns, [one.width for one in columns], column_of(columns, title), down)
    return fit_line(line(" ", *shown), label)


def head_lines(cores: Sequence[Core], left: Line, label: int, width: int) -> list[Line]:
    """The heading of the matrix: `left`, then node, number and load of each column's core."""
    nodes: list[tuple[str, str]] = [(" " * label, "")]
    numbers: list[tuple[str, str]] = [*left]
    loads: list[tuple[str, str]] = [(fit(" core busy", label), "dim")]
    last: int | str | None = "none yet"
    for core in cores:
        here = core.node != last and core.node is not None
        nodes.append((fit(f"node {core.node}"[: CELL - 1] if here else "", CELL - 1) + " ", "dim"))
        if here:
            nodes[-1] = (fit(f"│n{core.node}", CELL), "head")
        last = core.node
        numbers.append((fit(str(core.cpu), CELL - 1, ">") + " ", "head"))
        load = core_load(core)
        loads.append((level(load).rjust(1), main_kind(core)))
        text = "–" if load is None else f"{load:.0f}%"
        loads.append((fit(text, CELL - 2, ">") + " ", load_role(core)))
    out = [fit_line(tuple(nodes), width)] if any(c.node is not None for c in cores) else []
    return [*out, fit_line(tuple(numbers), width), fit_line(tuple(loads), width)]


def row_head(row: Row, load: float | None, label: int, *, with_packets: bool = True) -> Line:
    """Queue, interrupt, its rate, and packet rate if asked for; `load` is that of its core."""
    name, group = row
    first = group[0]
    full = whole(name, group)
    wide = label - _HEAD - _PACKETS * with_packets
    off = any(q.off_node for q in group)
    hot = bool(first.irq_per_s) and (load or 0.0) >= HOT
    carried = sum(q.packets_per_s or 0.0 for q in group)
    known = any(q.packets_per_s is not None for q in group)
    return line(
        (" " + fit(ending(full, wide - 1), wide - 1), "strong" if hot else "warn" if off else ""),
        (fit("" if first.irq is None else str(first.irq), 5, ">") + " ", "dim"),
        (
            fit(
                f"{brief(round(first.irq_per_s))}/s" if first.irq_per_s is not None else "–", 8, ">"
            )
            + " ",
            "strong",
        ),
        (fit(packets(carried) if known else "–", _PACKETS, ">") if with_packets else "", "dim"),
        ("  ", ""),
    )


def matrix_row(
    row: Row,
    cores: Sequence[Core],
    rates: Mapping[int, Mapping[int, float]],
    label: int,
    *,
    with_packets: bool = True,
) -> Line:
    """One row: its head, and a cell for each core."""
    _, group = row
    load = next((core_load(core) for core in cores if core.cpu == group[0].cpu), None)
    crossings: list[tuple[str, str]] = []
    for core in cores:
        text, role = cell(group, core.cpu, rates)
        crossings.append((fit(text, CELL - 1, ">") + " ", role))
    return row_head(row, load, label, with_packets=with_packets) + grid.merge(crossings)


_OF_CORE: Final = (
    "CORE", "NODE", "BUSY", *(one[1] for one in SHARES), "PROCESSES", "SQUEEZED/s",
)  # fmt: skip
_AT: Final = tuple([one.title for one in corelist.COLUMNS].index(title) for title in _OF_CORE)
QUEUE_COLUMNS: Final = (
    *(corelist.COLUMNS[at] for at in _AT[:-2]),
    Column("ALLOWED", 9, grow=1),
    *(corelist.COLUMNS[at] for at in _AT[-2:]),
)
NOTHING: Final[tuple[Cell, ...]] = (("–", "dim"),) + (("", ""),) * (len(QUEUE_COLUMNS) - 1)


def one_each(rows: Sequence[Row], rates: Mapping[int, Mapping[int, float]]) -> bool:
    """Whether each row has interrupts on one core at most."""
    numbers = [group[0].irq for _, group in rows]
    return all(
        sum(rate >= 0.5 for rate in rates.get(-1 if irq is None else irq, {}).values()) <= 1
        for irq in numbers
    )


def queue_table(
    rows: Sequence[Row],
    facts: Facts,
    titles: Line,
    order: tuple[str, bool],
    size: tuple[int, int],
    *,
    with_packets: bool,
) -> tuple[Line, list[Line]]:
    """The heading, `titles` first, and a line for each row.

    `order`: the sorted column, and whether it falls; `size`: columns of a row's head, and of all.
    """
    label, width = size
    cores = {core.cpu: core for core in facts.cores}
    cells = [_cells(one, cores) for one in rows]
    shown = fitted(QUEUE_COLUMNS, width - label, telling(QUEUE_COLUMNS, cells))
    title, down = order
    head = fit_line((*titles, *shown.heading(title, down=down)), width)
    table = []
    for one, known in zip(rows, cells, strict=True):
        core = cores.get(-1 if one[1][0].cpu is None else one[1][0].cpu)
        load = None if core is None else core_load(core)
        table.append(row_head(one, load, label, with_packets=with_packets) + shown.row(known))
    return head, table


def _cells(row: Row, cores: Mapping[int, Core]) -> tuple[Cell, ...]:
    first = row[1][0]
    core = cores.get(-1 if first.cpu is None else first.cpu)
    if core is None:
        return NOTHING
    cells = corelist.core_cells(core)
    known = [cells[at] for at in _AT]
    allowed = (cpulist.text(first.allowed) if first.allowed else "", "dim")
    return (*known[:-2], allowed, *known[-2:])
