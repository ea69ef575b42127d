"""Cores as rows of stacked bars; if there are many, a heat map and the busiest as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise, zip_longest
from typing import TYPE_CHECKING, Final

from ..facts import Facts
from ..terms import cpulist
from ..terms.text import Line, cells, crop, fit, fit_line, level, line, line_cells, over
from ..terms.units import percent
from .corerow import FIGURES, RATED, core_row, figures, heading, rates_of
from .parts import core_load, legend, load_role, main_kind

if TYPE_CHECKING:
    from ..facts.kinds.core import Core

_NARROW: Final = 50  # columns of a core's row below the heat map
WIDE: Final = 2  # columns of a core in the heat map, if there is room
NARROW: Final = 60  # columns of a heat map below which a core has one
LEAST: Final = 44  # columns of a core whose kinds of time have columns
SINGLE: Final = 90  # columns from which few cores have one column, with all figures
HEADED: Final = 5  # lines from which the outliers have a heading
MANY: Final = 32  # cores above which there is a heat map instead of rows
OUTLIERS: Final = 8  # cores that are rows below the heat map, at the most
SPREAD: Final = 10.0  # percent by which they are above the middle core
SCALES: Final = (10.0, 20.0, 50.0, 100.0)  # percent: loads that are a whole cell of a heat map
LABEL: Final = 30  # columns of the name and the numbers of a group in a heat map, at the most


def groups(cores: Sequence[Core]) -> list[tuple[str, list[Core]]]:
    """Cores by NUMA node if there are several nodes; else by shared L3; else in one group."""
    nodes: dict[int | None, list[Core]] = {}
    for core in cores:
        nodes.setdefault(core.node, []).append(core)
    if len(nodes) > 1:
        return [
            (f"node {node}" if node is not None else "no node", members)
            for node, members in sorted(nodes.items(), key=lambda pair: str(pair[0]).zfill(6))
        ]
    caches: dict[tuple[int, ...] | None, list[Core]] = {}
    for core in cores:
        caches.setdefault(core.l3[:1] or None, []).append(core)
    if 1 < len(caches) < len(cores):
        return [(f"L3 {index}", members) for index, members in enumerate(caches.values())]
    return [("", list(cores))]


def scale(cores: Sequence[Core]) -> float:
    """The load that is a whole cell of the heat map of these cores, so that they differ."""
    most = max((core_load(core) or 0.0 for core in cores), default=0.0)
    return next((one for one in SCALES if most <= one), SCALES[-1])


def heat(
    name: str, members: Sequence[Core], width: int, rows: int, top: float = 100.0
) -> list[Line]:
    """One character per core (or per several): its height is the load, its colour the kind of work.

    There is a gap before the next L3 and `│` before the next node; lines end there if possible.
    `top` is the load of a whole cell, in percent.
    """
    numbered = not name and rows > 1  # each line begins with the number of its first core
    label = f" {name} " if name else " " * (6 if numbered else 1)
    room = max(8, width - len(label) - 1)
    out: list[Line] = []
    drawn = _rows(_caches(members, room, rows), room)[: max(1, rows)]
    longest = max((sum(len(part) + 1 for part in row) for row in drawn), default=1)
    wide = max(1, min(WIDE, room // longest)) if room >= NARROW else 1
    for row in drawn:
        first = f" {row[0][0][0].cpu:>4} " if numbered else "" if out else label
        parts, node = [(fit(first, len(label)), "head")], row[0][0][0].node
        for part in row:
            if len(parts) > 1:
                other = part[0][0].node != node
                parts.append(("│" if other else " ", "dim" if other else ""))
            node = part[0][0].node
            parts += [
                (level(None if load is None else 100 * load / top) * wide, main_kind(core))
                for core in map(_busiest, part)
                for load in (core_load(core),)
            ]
        out.append(fit_line(merge(parts), width))
    return out


def _busiest(cell: Sequence[Core]) -> Core:
    """The busiest of the cores that share a cell; usually there is one."""
    return cell[0] if len(cell) == 1 else max(cell, key=lambda core: core_load(core) or 0.0)


def _caches(members: Sequence[Core], room: int, rows: int) -> list[list[Sequence[Core]]]:
    """The cores of each cell, grouped by shared L3; one group if there is no room for gaps."""
    # siblings have distant numbers: each cache occurs twice
    caches = 1 + sum(a.l3[:1] != b.l3[:1] for a, b in pairwise(members))
    spaced = caches > 1 and len(members) >= 4 * caches
    cells = room - min(caches, room // 4) if spaced else room
    each = max(1, -(-len(members) // (max(8, cells) * max(1, rows))))
    chunks = [members[i : i + each] for i in range(0, len(members), each)]
    groups: list[list[Sequence[Core]]] = []
    for chunk in chunks:
        if groups and not (spaced and chunk[0].l3[:1] != groups[-1][0][0].l3[:1]):
            groups[-1].append(chunk)
        else:
            groups.append([chunk])
    return groups


def _rows(caches: list[list[Sequence[Core]]], room: int) -> list[list[list[Sequence[Core]]]]:
    """The cells of each line, with a column for each gap; all lines have equally many caches."""
    whole = sum(map(len, caches)) + len(caches) - 1
    abreast = -(-len(caches) // max(1, -(-whole // room)))
    out: list[list[list[Sequence[Core]]]] = []
    for index, cache in enumerate(caches):
        for start in range(0, len(cache), room):
            part = cache[start : start + room]
            new_line = start == 0 and index % abreast == 0
            if new_line or sum(len(other) + 1 for other in out[-1]) + len(part) > room:
                out.append([part])
            else:
                out[-1].append(part)
    return out


def merge(parts: Sequence[tuple[str, str]]) -> Line:
    """Adjacent parts with the same role joined: fewer escape sequences for the terminal."""
    out: list[tuple[str, str]] = []
    for text, role in parts:
        if out and out[-1][1] == role:
            out[-1] = (out[-1][0] + text, role)
        else:
            out.append((text, role))
    return tuple(out)


def heats(cores: Sequence[Core], width: int, height: int) -> list[Line]:
    """The heat map of each group, in at most half of `height` lines, up to `scale`."""
    together, half, top = groups(cores), max(1, height // 2), scale(cores)
    if len(together) > half:
        return heat("", cores, width, half, top)
    names = [f"{name} {cpulist.text(core.cpu for core in members)}" for name, members in together]
    label = min(max(map(cells, names)), LABEL, max(8, width // 3))
    return [
        row
        for text, (name, members) in zip(names, together, strict=True)
        for row in heat(fit(crop(text, label), label) if name else "", members, width,
                        max(1, half // len(together)), top)
    ]  # fmt: skip


def weight(core: Core) -> float:
    """Rank of a core among those to show: load, NIC interrupts, network processes."""
    return (
        (core_load(core) or 0.0)
        + (50.0 if core.queues and (core.nic_irqs or 0) > 1 else 5.0 if core.queues else 0.0)
        + (20.0 if core.processes else 0.0)
        + 2 * (core.softirq or 0.0)
    )


def named(cores: Sequence[Core]) -> Sequence[Core]:
    """The cores that `block` has a row for, as far as there is room: all, or the outliers."""
    return cores if len(cores) <= MANY else outliers(cores)


def block(facts: Facts, width: int, height: int, on: int | None = None) -> list[Line]:
    """The cores in at most `height` lines: all as rows, or a heat map of all and the outliers.

    `on` is the number of the core under the cursor.
    """
    cores = facts.cores
    if not cores or height <= 0:
        return []
    if len(cores) <= MANY:
        single = _across(width, len(cores))
        wide = max(single, _across(width, MANY))
        for across, headed, grouped in dict.fromkeys((
            (single, True, True), (wide, True, True), (wide, True, False),
            (wide, False, True), (2, False, True),
        )):  # fmt: skip
            out = _rows_of(cores, width, across, headed=headed, grouped=grouped, on=on)
            if len(out) <= height:
                return out
    found = outliers(cores)
    across = max(_across(width, len(found)), width // _NARROW)
    each = width // across
    digits = len(str(max(core.cpu for core in cores)))
    headed = each >= LEAST and height > HEADED
    found.sort(key=lambda core: core.cpu != on)  # what is under the cursor is seen
    rates = rates_of(found, each) if headed else ()
    rows = [core_row(core, each, digits, headed=headed, rates=rates, on=on) for core in found]
    shown = in_columns(rows[: max(0, height - 1 - headed) * across], across, each, width)
    if headed and shown:
        head = heading("busiest", each, digits, rates)
        shown.insert(0, fit_line(head * min(across, len(rows)), width))
    return [*heats(cores, width, 2 * (height - len(shown))), *shown][:height]


def arranged(cores: Sequence[Core], width: int) -> list[tuple[Core, ...]]:
    """The cores that `block` names, row by row, as it draws them where there is enough height."""
    few, shown = len(cores) <= MANY, list(named(cores))
    across = max(_across(width, len(shown)), 1 if few else width // _NARROW)
    together = [members for _, members in groups(shown)] if few else [shown]
    if not 1 < len(together) <= across:
        return [row for members in together for row in _filled(members, across)]
    return [tuple(one for one in row if one) for row in zip_longest(*together)]


def _filled(members: Sequence[Core], across: int) -> Iterator[tuple[Core, ...]]:
    """The rows of `in_columns`."""
    deep = -(-len(members) // across)
    return (tuple(members[at::deep]) for at in range(deep))


def needs(facts: Facts, width: int) -> int:
    """The lines that show all cores; of many, the heat map and the outliers."""
    cores = facts.cores
    if len(cores) <= MANY:
        across = _across(width, len(cores))
        sizes = [len(members) for _, members in groups(cores)]
        if 1 < len(sizes) <= across:
            return max(sizes) + 1
        return sum(-(-size // across) + 1 for size in sizes)
    lines = sum(-(-len(members) // max(8, width - 12)) for _, members in groups(cores))
    known = len(outliers(cores))
    rows = -(-known // max(_across(width, known), width // _NARROW))
    return lines + rows + (rows > 0)


def outliers(cores: Sequence[Core]) -> list[Core]:
    """The cores whose load is above that of the middle one by `SPREAD`; at most `OUTLIERS`."""
    loads = sorted([load for core in cores if (load := core_load(core)) is not None])
    if not loads or loads[-1] < loads[len(loads) // 2] + SPREAD:  # of many cores mostly
        return []
    least = loads[len(loads) // 2] + SPREAD
    known = [core for core in cores if (core_load(core) or 0.0) >= least]
    return sorted(known, key=lambda core: (-weight(core), core.cpu))[:OUTLIERS]


def brief(facts: Facts, width: int, on: int | None = None) -> list[Line]:
    """One line: a character per core, then the one under the cursor and the busiest, with users.

    Of few cores each has its load, the kinds of its time and its users.
    """
    cores = facts.cores
    if not cores:
        return []
    head = line((" CORES ", "title"))
    room = max(8, width // 2)
    drawn = heat("", cores, min(room, len(cores) + len(cores) // 2 + 2), 1)[0]
    each = (width - line_cells(head + drawn)) // len(cores)
    if each >= FIGURES:
        return [fit_line(head + drawn + tuple(chain(*(figures(core, each, on) for core in cores))),
                         width)]  # fmt: skip
    parts = head + drawn + legend()
    busiest = sorted(cores, key=lambda core: (core.cpu != on, -(core_load(core) or 0.0)))
    for core in busiest[:OUTLIERS]:
        load = core_load(core)
        if load is None or (load < SPREAD and core.cpu != on):
            break
        text = line((f"  {core.cpu} ", "head"), (percent(load), load_role(core)), " ")
        user = core.processes[:1] or core.queues[:1]
        text += line((user[0], "user" if core.processes else "accent")) if user else ()
        if line_cells(parts) + line_cells(text) > width:
            break
        parts += over(text, "select") if core.cpu == on else text
    return [fit_line(parts, width)]


def _across(width: int, many: int) -> int:
    """Columns of rows of so many cores; few have one where two would leave no room for rates."""
    if width < 72 or (SINGLE <= width < 2 * RATED and many <= OUTLIERS):
        return 1
    return 2 if width < 170 else 3


def _rows_of(
    cores: Sequence[Core], width: int, across: int, *, headed: bool, grouped: bool, on: int | None
) -> list[Line]:
    """All cores as rows: groups side by side if they fit, else one below the other."""
    if not cores:
        return []
    digits = len(str(max(core.cpu for core in cores)))
    together = groups(cores) if grouped else [("", list(cores))]
    if len(together) == 2 and across > 2:
        across = 2
    each = width // across
    headed = headed and each >= LEAST
    rates = rates_of(cores, each) if headed else ()
    named = len(together) > 1
    blocks = [
        (
            heading(name, each, digits, rates)
            if headed
            else fit_line(line((f" {name}", "dim")), each),
            [core_row(core, each, digits, headed=headed, rates=rates, on=on) for core in members],
        )
        for name, members in together
    ]
    if named and len(together) <= across:
        return beside([[head, *rows] for head, rows in blocks], each, width)
    out: list[Line] = []
    for head, rows in blocks:
        heads = [fit_line(line(*head * (across if headed else 1)), width)]
        out += [*(heads * (named or headed)), *in_columns(rows, across, each, width)]
    return out


def in_columns(rows: Sequence[Line], across: int, each: int, width: int) -> list[Line]:
    """Rows in `across` columns of `each` cells, filled column by column."""
    deep = -(-len(rows) // across)
    return beside([list(rows[i * deep : (i + 1) * deep]) for i in range(across)], each, width)


def beside(columns: Sequence[Sequence[Line]], each: int, width: int) -> list[Line]:
    """Columns of lines side by side; each column is `each` cells wide."""
    deep = max((len(column) for column in columns), default=0)
    out = []
    for index in range(deep):
        parts: Line = ()
        for column in columns:
            parts += fit_line(column[index], each) if index < len(column) else ((" " * each, ""),)
        out.append(fit_line(parts, width))
    return out
